//! A whole job in one process: threads for workers, servers and reading, channels between them, the scheduler on
//! the calling thread.

mod assemble;
mod drive;
mod recorder;
mod server_thread;
mod worker_thread;

use crossbeam_channel::{Receiver, Sender, unbounded};
use gearshift_cluster::{Notice, SchedulerInput};
use gearshift_coordination::Gear;
use gearshift_data::DataError;
use gearshift_embedding::BuildError;
use gearshift_model::ModelOptionsError;

pub(crate) use worker_thread::panic_text;

use crate::checkpoint::CheckpointError;
use crate::job::LocalJob;
use crate::report::{PartReport, RunReport};

/// Why a run could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelOptionsError),
    /// The tables and optimizers.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The commit log.
    #[error("commit log {path}: {message}")]
    CommitLog {
        /// The file.
        path: String,
        /// What failed.
        message: String,
    },
    /// A thread could not be started or a role failed.
    #[error("{0}")]
    Role(String),
}

/// Where a running job stands, for a person.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The gear in force.
    pub gear: Option<Gear>,
    /// Updates.
    pub step: u64,
    /// Part under way, from 0.
    pub part: u32,
    /// Number of parts.
    pub parts: u32,
    /// Name of the part.
    pub part_name: String,
    /// Whether an evaluation is under way.
    pub evaluating: bool,
    /// Samples resolved.
    pub samples: u64,
    /// Samples predicted in the evaluation under way.
    pub evaluated: u64,
    /// How far the open part has been read: done and all, in the reader's unit.
    pub read: (u64, u64),
    /// Samples per second over the last seconds.
    pub samples_per_second: f64,
    /// Mean loss of the last window of samples.
    pub loss: Option<f64>,
    /// AUC of the predictions before each update, over the part so far.
    pub online_auc: Option<f64>,
    /// Mean staleness of all gradients so far, by token.
    pub token_staleness_steps: f64,
    /// Mean staleness of all gradients so far, by version.
    pub version_staleness_steps: f64,
    /// Live workers.
    pub workers: usize,
    /// Seconds since the start of this run.
    pub seconds: f64,
}

/// Watches a run.
pub trait Observer {
    /// Something happened.
    fn notice(&mut self, notice: &Notice);
    /// Some time has passed (several times a second).
    fn progress(&mut self, progress: &Progress);
    /// A part has been trained and, where the job says so, evaluated.
    fn part(&mut self, part: &PartReport);
}

/// An observer that sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn notice(&mut self, _notice: &Notice) {}
    fn progress(&mut self, _progress: &Progress) {}
    fn part(&mut self, _part: &PartReport) {}
}

/// Steers a run from another thread.
#[derive(Clone, Debug)]
pub struct Control(Sender<SchedulerInput>);

impl Control {
    /// A control and its other end, for [`run`].
    #[must_use]
    pub fn new() -> (Self, Receiver<SchedulerInput>) {
        // Without a bound: an observer steers from the very thread that would have to make room.
        let (sender, receiver) = unbounded();
        (Self(sender), receiver)
    }

    /// Changes the gear.
    pub fn shift(&self, to: Gear) {
        let _ = self.0.send(SchedulerInput::ShiftRequested { to });
    }

    /// Finishes the step, writes a checkpoint and ends.
    pub fn stop(&self) {
        let _ = self.0.send(SchedulerInput::StopRequested);
    }
}

/// Runs a job to its end.
///
/// # Errors
/// When it cannot start, or ends because data cannot be read or a role fails. A job that its scheduler ends (all
/// workers gone, `on_nonfinite = "stop"`) gives a report whose outcome says so.
pub fn run(
    job: &LocalJob,
    control: &Receiver<SchedulerInput>,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let roles = assemble::assemble(job)?;
    drive::drive(job, roles, control, observer)
}
