//! The job file: everything that a training run is told, as TOML.
//!
//! [`Job::load`] reads a file and `--set` overrides and names every problem at once, each with its line, what is
//! expected, what came and what to do. The sections that a lower crate needs are that crate's own structs.

pub(crate) mod cluster;
pub(crate) mod options;
pub(crate) mod schedule;

#[allow(unused_imports, reason = "for the rest of the command line")]
pub(crate) use cluster::{ClusterOptions, OnNonFinite, Straggler};
#[allow(unused_imports, reason = "for the rest of the command line")]
pub(crate) use options::{CheckpointOptions, EvaluateOptions, GearSection, Job, OutputOptions};
#[allow(unused_imports, reason = "for the rest of the command line")]
pub(crate) use schedule::{Fault, FaultAt, FaultKind, Shift, ShiftAt};
