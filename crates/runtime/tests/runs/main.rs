//! Whole runs in one process on small data: what must come out the same, and what must not stop a run.
#![allow(clippy::unwrap_used, reason = "tests stop on errors")]

mod checkpoints;
mod faults;
mod replay;
mod resume;
mod shapes;
mod simulated;
mod soak;
mod support;
mod synchronous;
mod trouble;
