//! Tests of the job file.

mod compare;
pub(crate) mod drift;
mod garbage;
mod golden;
mod overrides;
