//! Everything that a run in one process needs, checked and resolved.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gearshift_cluster::{SchedulerOptions, WorkerOptions};
use gearshift_data::DataSet;
use gearshift_embedding::UpdateOptions;
use gearshift_model::ModelOptions;

/// Where checkpoints go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointOptions {
    /// The folder that holds them, one folder each.
    pub folder: PathBuf,
    /// How many are kept.
    pub keep: usize,
}

/// How an injected fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The worker's thread panics in the middle of a batch.
    Panic,
    /// The worker leaves after a batch.
    Leave,
}

/// When an injected fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAt {
    /// In the worker's batch of this number, from 0.
    Batch(u64),
    /// In the first of its batches that was granted after so many samples of the run.
    Sample(u64),
}

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// Whom it strikes.
    pub worker: u32,
    /// How.
    pub kind: FaultKind,
    /// When.
    pub at: FaultAt,
    /// When the worker comes back; never if absent.
    pub rejoin: Option<Duration>,
}

/// A run in one process.
#[derive(Clone)]
pub struct LocalJob {
    /// Name of the job.
    pub name: String,
    /// Seed of start values and faults.
    pub seed: u64,
    /// The job file as it runs, in TOML, kept in checkpoints and commit logs.
    pub toml: String,
    /// The data.
    pub data: Arc<dyn DataSet>,
    /// The model.
    pub model: ModelOptions,
    /// The optimizers.
    pub update: UpdateOptions,
    /// The scheduler's settings (numbers of workers and servers among them).
    pub scheduler: SchedulerOptions,
    /// The workers' settings.
    pub worker: WorkerOptions,
    /// Largest share of bad lines.
    pub bad_line_share_max: f64,
    /// Rows per block.
    pub block_rows: u32,
    /// Blocks read ahead.
    pub prefetch_blocks: u32,
    /// Factor by which a worker is slowed down.
    pub stragglers: BTreeMap<u32, f64>,
    /// Injected faults.
    pub faults: Vec<Fault>,
    /// Where checkpoints go.
    pub checkpoints: Option<CheckpointOptions>,
    /// A checkpoint to go on from.
    pub resume: Option<PathBuf>,
    /// Where the commit log goes.
    pub commit_log: Option<PathBuf>,
}
