//! The machines under a driver in one thread: whatever the order of messages, whoever dies, samples and
//! parameters come out right.
#![expect(clippy::unwrap_used, reason = "tests")]

mod driver;
mod equivalence;
mod ledger;
mod machines;
mod resume;
mod shift;
mod silence;
