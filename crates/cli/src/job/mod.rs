//! The job file: everything that a training run is told, as TOML.
//!
//! [`Job::load`] reads a file and `--set` overrides and names every problem at once, each with its line, what is
//! expected, what came and what to do. The sections that a lower crate needs are that crate's own structs.
//! The way of a job: [`tree`] parses, [`sets`] overrides, [`walk`] holds it against [`keys`], [`cross`] checks
//! across keys, serde makes a [`Job`].

mod advice;
pub(crate) mod cluster;
pub(crate) mod command;
mod cross;
mod data;
mod key_list;
mod keys;
mod kinds;
mod load;
pub(crate) mod options;
mod print;
pub(crate) mod problem;
pub(crate) mod schedule;
mod sets;
#[cfg(test)]
mod tests;
mod tree;
mod walk;

pub(crate) use cluster::{ClusterOptions, Straggler};
pub(crate) use options::Job;
pub(crate) use problem::Problems;
pub(crate) use schedule::{Fault, FaultAt, FaultKind, Shift, ShiftAt};
