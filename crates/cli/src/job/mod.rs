//! The job file: everything that a training run is told, as TOML.
//!
//! [`Job::load`] reads a file and `--set` overrides and names every problem at once, each with its line, what is
//! expected, what came and what to do. The sections that a lower crate needs are that crate's own structs.
//! The way of a job: [`tree`] parses, [`sets`] overrides, [`walk`] holds it against [`keys`], [`cross`] checks
//! across keys, serde makes a [`Job`]. Cluster files (`crate::cluster_file`) go the same way with keys of their own.

mod advice;
pub(crate) mod cluster;
pub(crate) mod command;
pub(crate) mod compare;
mod cross;
mod data;
pub(crate) mod key_list;
pub(crate) mod keys;
pub(crate) mod kinds;
pub(crate) mod load;
pub(crate) mod options;
pub(crate) mod places;
pub(crate) mod print;
pub(crate) mod problem;
pub(crate) mod read;
pub(crate) mod schedule;
pub(crate) mod sets;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tree;
mod walk;

pub(crate) use cluster::{ClusterOptions, Straggler};
pub(crate) use compare::{Branch, CompareOptions, CompareParts};
pub(crate) use load::JobSource;
pub(crate) use options::Job;
pub(crate) use problem::Problems;
pub(crate) use schedule::{Fault, FaultAt, FaultKind, Shift, ShiftAt};
