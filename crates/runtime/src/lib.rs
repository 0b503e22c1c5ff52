//! Drives the machines of `cluster` in real time: threads and channels in one process ([`local`]), checkpoints
//! on disk, replay of commit logs.

pub mod blocks;
pub mod checkpoint;
mod feeder;
pub mod job;
pub mod local;
pub mod offline;
pub mod replay;
pub mod report;

pub use checkpoint::{Checkpoint, CheckpointError, CheckpointFolder};
pub use job::{CheckpointOptions, Fault, FaultAt, FaultKind, LocalJob};
pub use local::{Control, Observer, Progress, RunError, run};
pub use report::RunReport;
