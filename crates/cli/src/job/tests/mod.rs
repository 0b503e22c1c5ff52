//! Tests of the job file.

mod drift;
mod garbage;
mod golden;
mod overrides;
