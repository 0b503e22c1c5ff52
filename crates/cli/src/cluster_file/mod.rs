//! The cluster file: a cluster, and which gears to try on it in virtual time, as TOML.
//!
//! It is read as a job file is (`crate::job`), with keys of its own. [`ClusterSource`] reads it and makes its
//! variants: each `[[run]]` (a row of the result) in each `[[scenario]]` (a table), and each value of `[sweep]` (the
//! picture's x axis), is the file with some settings put over it.

mod cross;
pub(crate) mod key_list;
pub(crate) mod key_rows;
mod load;
mod machines;
mod options;
mod plan;
#[cfg(test)]
mod tests;

pub(crate) use load::ClusterSource;
pub(crate) use machines::machines;
pub(crate) use options::ClusterFile;
pub(crate) use plan::{Cell, Plan};
