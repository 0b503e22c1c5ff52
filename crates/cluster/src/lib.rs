//! Worker, server and scheduler as machines: input in, outputs out, time an argument.
//!
//! The same machines run in real time (`runtime`) and in virtual time (`sim`). They know no socket, thread,
//! clock, file or lock; a driver carries out what they say.

pub mod ledger;
pub mod manifest;
pub mod messages;
pub mod pool;
pub mod replay;
pub mod scheduler;
pub mod server;
pub mod worker;

pub use ledger::{Fate, Ledger, LedgerError, SampleCounts};
pub use manifest::{Manifest, Position, ServerFile};
pub use messages::{
    Assignment, BatchReport, EvaluationTask, LogEntry, LogMember, Notice, Outcome, Refusal, SchedulerInput,
    SchedulerOutput, ServerInput, ServerOutput, ToServer, ToWorker, WorkerInput, WorkerOutput,
};
pub use pool::SamplePool;
pub use replay::{Replay, ReplayError, ReplaySource};
pub use scheduler::figures::{Figures, StalenessHistogram, WorkerFigures};
pub use scheduler::options::{OnNonFinite, PlannedShift, SchedulerOptions, ShiftAt};
pub use scheduler::{Scheduler, clip_scale};
pub use server::Server;
pub use worker::{Wait, Worker, WorkerOptions};
