//! Comparing gears on real data in virtual time: one part after the other, each from the state that the last one
//! left, so that runs can part ways from one base.

mod evaluate;
mod insight;
mod part;
mod score;

use std::sync::Arc;

use gearshift_cluster::{SchedulerOptions, WorkerOptions};
use gearshift_data::DataSet;
use gearshift_embedding::UpdateOptions;
use gearshift_model::ModelOptions;
use serde::{Deserialize, Serialize};

use crate::cluster::{ClusterOptions, Trace};
use crate::report::SimReport;

pub use insight::{GradientNorms, Insight, Quantiles, Recurrence, insight};
pub use part::{CompareError, run_part};

/// Everything that training needs, as a job says it.
#[derive(Clone)]
pub struct Stage {
    /// The data, shuffled by the run's seed.
    pub data: Arc<dyn DataSet>,
    /// Parsed parts, shared by the runs of one seed.
    pub parts: Arc<crate::parts::PartCache>,
    /// The model.
    pub model: ModelOptions,
    /// The optimizers.
    pub update: UpdateOptions,
    /// The scheduler's settings: gears, batch sizes, workers, servers. Its shifts, parts, evaluation and checkpoints
    /// are not looked at; `start` is the gear of the part.
    pub scheduler: SchedulerOptions,
    /// The workers' settings.
    pub worker: WorkerOptions,
    /// The cluster.
    pub cluster: ClusterOptions,
    /// What `cluster.speed.trace` names.
    pub trace: Option<Trace>,
    /// Seed of start values and batch times.
    pub seed: u64,
    /// Samples per evaluation batch.
    pub evaluation_batch: u32,
}

/// An evaluation on the next part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Share of the part trained, 0 to 1.
    pub share: f64,
    /// Samples of the run that had met their fate.
    pub samples: u64,
    /// Updates made.
    pub step: u64,
    /// AUC; absent when all labels are equal or predictions are no numbers any more.
    pub auc: Option<f64>,
    /// Mean log loss, nats; absent when predictions are no numbers any more.
    pub log_loss: Option<f64>,
}

/// One part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartRun {
    /// Which part.
    pub part: u32,
    /// Evaluations, the last one at its end. Empty for the last part of the data.
    pub points: Vec<Point>,
    /// Figures of the part alone (ledger too).
    pub report: SimReport,
}
