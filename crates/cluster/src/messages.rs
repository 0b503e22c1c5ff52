//! Everything that the three roles say to each other and to their drivers.

use std::time::Duration;

use gearshift_coordination::Gear;
use gearshift_types::{
    BatchId, Commit, IndexedBatch, PartId, PullReply, PullRequest, Push, RowRange, ServerId, Step, Token,
    WorkerEpoch, WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::manifest::Position;

/// Leave to train one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The batch.
    pub batch: BatchId,
    /// The step it counts toward.
    pub token: Token,
    /// Its samples.
    pub ranges: Vec<RowRange>,
    /// Updates that the pulled parameters must have seen.
    pub min_step: Option<Step>,
}

/// Leave to predict some samples.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationTask {
    /// Number within the evaluation, in data order.
    pub task: u64,
    /// The samples.
    pub ranges: Vec<RowRange>,
    /// Updates that the pulled parameters must have seen.
    pub min_step: Step,
}

/// What the scheduler tells a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum ToWorker {
    /// Train this.
    Train(Assignment),
    /// Predict this.
    Evaluate(EvaluationTask),
    /// This life of it is taken as dead: what it was granted is trained by others, what it says is ignored.
    Expelled,
    /// The job is over.
    Stop,
}

/// What a worker says of a batch when all servers hold its gradient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchReport {
    /// Samples in it.
    pub samples: u32,
    /// Sum of losses before the update.
    pub loss_sum: f64,
    /// Version at pull of each server.
    pub versions: Vec<Step>,
    /// Labels.
    pub labels: Vec<f32>,
    /// Predictions before the update.
    pub predictions: Vec<f32>,
}

/// Why a server did not take a push.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The batch's lease had ended; somebody else trains its samples.
    LeaseEnded,
    /// The gradient is not finite or does not fit; text with who, what and where.
    BadGradient(String),
}

/// What the scheduler tells every server, in the same order.
#[derive(Clone, Debug, PartialEq)]
pub enum ToServer {
    /// Make an update.
    Commit(Commit),
    /// The scale for the commit of a step, after all servers told their norms.
    Scale {
        /// The step.
        step: Step,
        /// Factor for the mean gradient, 1 when it need not be clipped.
        scale: f32,
    },
    /// Forget a gradient, or refuse it when it comes.
    Release(BatchId),
    /// Take a snapshot now.
    Checkpoint {
        /// Which checkpoint.
        id: u64,
    },
    /// The job is over.
    Stop,
}

/// What happens to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerInput {
    /// The driver has started it.
    Started,
    /// Word from the scheduler.
    Scheduler(ToWorker),
    /// The samples of the batch or task at the end of the queue, keys made unique.
    Loaded(IndexedBatch),
    /// They are no longer to be had: the lease ended and others have trained them.
    NotLoaded,
    /// A server's answer to a pull.
    Rows {
        /// Who.
        server: ServerId,
        /// Which pull, as numbered by the worker.
        pull: u64,
        /// The parameters.
        reply: PullReply,
    },
    /// A server holds the gradient.
    Held {
        /// Who.
        server: ServerId,
        /// Which batch.
        batch: BatchId,
    },
    /// A server refused the gradient.
    Refused {
        /// Who.
        server: ServerId,
        /// Which batch.
        batch: BatchId,
        /// Why.
        refusal: Refusal,
    },
}

/// What a worker wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkerOutput {
    /// Tell the scheduler.
    Scheduler(SchedulerInput),
    /// Fetch these samples and answer with [`WorkerInput::Loaded`] before anything else.
    Load(Vec<RowRange>),
    /// Tell a server.
    Server {
        /// Who.
        server: ServerId,
        /// What.
        input: ServerInput,
    },
    /// The scheduler takes this life for dead: end it and start the next one, with a newer epoch.
    Expelled,
    /// It is over.
    Stopped,
}

/// What happens to a server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerInput {
    /// Word from the scheduler.
    Scheduler(ToServer),
    /// A worker wants parameters.
    Pull {
        /// Who.
        worker: WorkerId,
        /// Its life.
        epoch: WorkerEpoch,
        /// Its number for the pull.
        pull: u64,
        /// Which.
        request: PullRequest,
        /// Wait until this many updates have been applied.
        min_step: Option<Step>,
    },
    /// A worker hands in a gradient.
    Push {
        /// Who.
        worker: WorkerId,
        /// Its life.
        epoch: WorkerEpoch,
        /// The gradient.
        push: Push,
    },
}

/// What a server wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerOutput {
    /// Tell a worker (that life of it only).
    Worker {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// What.
        input: WorkerInput,
    },
    /// Tell the scheduler.
    Scheduler(SchedulerInput),
    /// Write the shard as it is now, then tell the scheduler [`SchedulerInput::CheckpointWritten`].
    Checkpoint {
        /// Which checkpoint.
        id: u64,
    },
    /// The shard can no longer follow the commits; the job must end with this message.
    Failed(String),
    /// It is over.
    Stopped,
}

/// What happens to the scheduler.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerInput {
    /// A worker is there.
    Joined {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
    },
    /// A worker is gone.
    Left {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// Why, for the report.
        reason: String,
    },
    /// A worker is alive.
    Seen {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
    },
    /// A worker is ready to start a batch.
    Requested {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
    },
    /// All servers hold a batch's gradient.
    Pushed {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// Which batch.
        batch: BatchId,
        /// Figures of the batch.
        report: BatchReport,
    },
    /// A server refused a batch's gradient as not finite or not fitting.
    GradientRefused {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// Which batch.
        batch: BatchId,
        /// Table or tensor, key, value.
        reason: String,
    },
    /// Predictions of an evaluation task.
    Evaluated {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// Which task.
        task: u64,
        /// Labels.
        labels: Vec<f32>,
        /// Predictions.
        predictions: Vec<f32>,
    },
    /// A server's share of the squared norm of a commit's mean gradient, per partition.
    Norms {
        /// Who.
        server: ServerId,
        /// Which commit.
        step: Step,
        /// (partition, squared norm).
        partials: Vec<(u32, f64)>,
    },
    /// A server has written its file of a checkpoint.
    CheckpointWritten {
        /// Who.
        server: ServerId,
        /// Which checkpoint.
        id: u64,
    },
    /// A block of the open part can be trained (or evaluated) on.
    BlockRead {
        /// The part.
        part: PartId,
        /// The block.
        block: u32,
        /// Its good rows.
        rows: u32,
    },
    /// The open part has no more blocks.
    PartRead {
        /// The part.
        part: PartId,
    },
    /// Change the gear.
    ShiftRequested {
        /// To which.
        to: Gear,
    },
    /// Finish the step, write a checkpoint, end.
    StopRequested,
    /// Time has passed.
    Tick,
}

/// What the scheduler wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum SchedulerOutput {
    /// Tell a worker (that life of it only).
    Worker {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// What.
        message: ToWorker,
    },
    /// Tell every server.
    Servers(ToServer),
    /// Read a part from its beginning, but announce no block before `skip_blocks`.
    OpenPart {
        /// Which part ([`gearshift_data::EVALUATION_PART`]: the final evaluation set).
        part: PartId,
        /// Blocks that need no reading again.
        skip_blocks: u32,
    },
    /// No row of this block is needed any more.
    BlockFinished {
        /// The part.
        part: PartId,
        /// The block.
        block: u32,
    },
    /// All servers have written their files: write the manifest.
    FinishCheckpoint {
        /// Which checkpoint.
        id: u64,
        /// Where the job stood when the servers took it.
        position: Box<Position>,
    },
    /// An entry of the commit log.
    Log(LogEntry),
    /// Something to show.
    Notice(Notice),
    /// It is over.
    Finished(Outcome),
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All data trained.
    Completed,
    /// Stopped on request.
    Stopped,
    /// Could not go on, and why.
    Failed(String),
}

/// One member of a logged commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogMember {
    /// The batch.
    pub batch: BatchId,
    /// Who computed it.
    pub worker: WorkerId,
    /// Its token.
    pub token: Token,
    /// Its weight.
    pub weight: f32,
    /// Version at pull of each server.
    pub versions: Vec<Step>,
    /// Its samples.
    pub ranges: Vec<RowRange>,
}

/// The commit log: with the data and the start values, the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogEntry {
    /// A gear took over.
    Engaged {
        /// Which.
        gear: Gear,
        /// At which step.
        step: Step,
    },
    /// An update.
    Commit {
        /// The version it starts from.
        step: Step,
        /// The divisor.
        divisor_samples: u64,
        /// Its gradients in the order of summing.
        members: Vec<LogMember>,
    },
}

/// Something that a person watching the job wants to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Worth a warning.
    Warning(String),
    /// A part begins.
    PartStarted {
        /// Which.
        part: PartId,
        /// In which gear.
        gear: Gear,
        /// At which step.
        step: Step,
    },
    /// A batch was trained.
    Trained {
        /// By whom.
        worker: WorkerId,
        /// Its figures.
        report: BatchReport,
    },
    /// All samples of a part are in the parameters.
    PartTrained {
        /// Which.
        part: PartId,
        /// Steps so far.
        step: Step,
    },
    /// A part has been trained and, where the job says so, evaluated.
    PartOver {
        /// Which.
        part: PartId,
    },
    /// An evaluation begins.
    EvaluationStarted {
        /// On which part.
        part: PartId,
    },
    /// Some of an evaluation is done.
    EvaluationProgress {
        /// Samples predicted since the last such notice.
        samples: u64,
    },
    /// An evaluation is done.
    Evaluated {
        /// On which part.
        part: PartId,
        /// Labels, in data order.
        labels: Vec<f32>,
        /// Predictions.
        predictions: Vec<f32>,
    },
    /// A shift was asked for.
    ShiftRequested {
        /// From.
        from: Gear,
        /// To.
        to: Gear,
        /// Step at request.
        step: Step,
    },
    /// The first grant after a shift.
    Shifted {
        /// From.
        from: Gear,
        /// To.
        to: Gear,
        /// k0 of the new gear.
        step: Step,
        /// Samples resolved when the old gear was drained.
        samples: u64,
        /// From the request until drained.
        drain: Duration,
        /// From the request until the first grant under the new gear.
        first_grant: Duration,
    },
    /// A worker is gone; its samples are back in the pool.
    WorkerLeft {
        /// Who.
        worker: WorkerId,
        /// Why.
        reason: String,
        /// Samples given back.
        samples: u64,
    },
    /// A worker is there.
    WorkerJoined {
        /// Who.
        worker: WorkerId,
    },
    /// A gradient was refused.
    GradientRefused {
        /// Whose.
        worker: WorkerId,
        /// Which batch.
        batch: BatchId,
        /// Table or tensor, key, value.
        reason: String,
    },
}
