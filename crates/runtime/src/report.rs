//! What a run says of itself at its end: a plain record, written as JSON or shown as tables.

use std::collections::BTreeMap;

use gearshift_cluster::{Figures, Outcome, SampleCounts};
use gearshift_coordination::Gear;
use gearshift_model::Metrics;
use serde::{Deserialize, Serialize};

/// Figures of predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Number of samples.
    pub samples: u64,
    /// Area under the ROC curve; absent when all labels are equal.
    pub auc: Option<f64>,
    /// Mean log loss, nats.
    pub log_loss: f64,
    /// Log loss over that of the label rate.
    pub normalized_entropy: Option<f64>,
    /// Mean prediction over label rate.
    pub calibration: Option<f64>,
}

impl From<Metrics> for Quality {
    fn from(metrics: Metrics) -> Self {
        Self {
            samples: metrics.samples,
            auc: metrics.auc,
            log_loss: metrics.log_loss,
            normalized_entropy: metrics.normalized_entropy,
            calibration: metrics.calibration,
        }
    }
}

/// One part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// Position in the job's list.
    pub part: u32,
    /// Name.
    pub name: String,
    /// Gears in force, in order.
    pub gears: Vec<Gear>,
    /// Steps reached at its end.
    pub step: u64,
    /// Samples trained in it.
    pub samples: u64,
    /// Training time, seconds.
    pub seconds: f64,
    /// Predictions before each update (progressive validation).
    pub online: Option<Quality>,
    /// What it was evaluated on.
    pub evaluated_on: Option<String>,
    /// That evaluation.
    pub evaluation: Option<Quality>,
}

impl PartReport {
    /// Samples per second of training.
    #[must_use]
    pub fn samples_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.samples as f64 / self.seconds } else { 0.0 }
    }
}

/// One shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShiftReport {
    /// From.
    pub from: Gear,
    /// To.
    pub to: Gear,
    /// k0 of the new gear.
    pub step: u64,
    /// Samples of the run when the old gear was drained.
    pub samples: u64,
    /// From the request until the old gear was drained, seconds.
    pub drain_seconds: f64,
    /// From the request until the first grant under the new gear, seconds.
    pub first_grant_seconds: f64,
}

/// Where a worker's time went, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerPhases {
    /// Waiting for a token.
    pub token: f64,
    /// Loading and indexing samples.
    pub load: f64,
    /// Waiting for rows.
    pub pull: f64,
    /// Forward and backward.
    pub compute: f64,
    /// Slowed down on purpose.
    pub straggle: f64,
    /// Waiting for servers to hold pushes.
    pub acknowledge: f64,
    /// Everything else: cutting and sending messages.
    pub other: f64,
}

/// Where a server's time went, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerPhases {
    /// Waiting for messages.
    pub idle: f64,
    /// Answering pulls.
    pub pull: f64,
    /// Checking and holding gradients.
    pub hold: f64,
    /// Summing and applying commits.
    pub apply: f64,
    /// Writing checkpoints.
    pub checkpoint: f64,
}

/// One table at the end of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableReport {
    /// Name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Bytes of vectors.
    pub vector_bytes: u64,
    /// Bytes of optimizer slots.
    pub slot_bytes: u64,
    /// Bytes of index and the like.
    pub overhead_bytes: u64,
    /// Digest over rows and slots, the same for any number of servers.
    pub digest: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// Name of the job.
    pub name: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Step at the start (0 unless resumed).
    pub first_step: u64,
    /// Step at the end.
    pub step: u64,
    /// Wall-clock time of this run, seconds.
    pub seconds: f64,
    /// Workers of the job.
    pub workers: u32,
    /// Servers of the job.
    pub servers: u32,
    /// Parts of this run.
    pub parts: Vec<PartReport>,
    /// The sample ledger, earlier runs included.
    pub samples: SampleCounts,
    /// Samples read and not trained, when the run was stopped.
    pub samples_left: u64,
    /// Whether every sample read has met exactly one fate or is left.
    pub ledger_adds_up: bool,
    /// Staleness and what each worker did.
    pub figures: Figures,
    /// Shifts.
    pub shifts: Vec<ShiftReport>,
    /// Where the workers' time went.
    pub worker_phases: BTreeMap<u32, WorkerPhases>,
    /// Where the servers' time went.
    pub server_phases: BTreeMap<u32, ServerPhases>,
    /// Tables at the end.
    pub tables: Vec<TableReport>,
    /// Floats of dense parameters.
    pub dense_len: u64,
    /// Digest over dense parameters and slots.
    pub dense_digest: String,
    /// Bad lines left out, over all parts read.
    pub bad_lines: u64,
    /// The first of them: file:line: reason.
    pub first_bad_lines: Vec<String>,
    /// Gradients refused.
    pub refused_gradients: u64,
    /// Checkpoints written.
    pub checkpoints: Vec<String>,
    /// Warnings, deaths of workers and refusals, in order; the first hundred.
    pub incidents: Vec<String>,
}
