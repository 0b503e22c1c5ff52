//! The job file's `[cluster]` and `[[straggler]]`: who takes part and how long anyone may keep others waiting.

use gearshift_cluster::OnNonFinite;
use serde::{Deserialize, Serialize};

/// The `[cluster]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClusterOptions {
    /// Number of workers.
    pub(crate) workers: u32,
    /// Number of servers.
    pub(crate) servers: u32,
    /// Pull for the next batch while this one computes; costs one batch of version staleness.
    pub(crate) pull_ahead: bool,
    /// A worker that has shown no sign of life for so long is taken as dead; its samples are granted again.
    pub(crate) lease_seconds: f64,
    /// Largest number of pushes of one worker that no server has acknowledged yet.
    pub(crate) unacknowledged_pushes: u32,
    /// Blocks of data that are read and parsed ahead.
    pub(crate) prefetch_blocks: u32,
    /// What becomes of a gradient that is not finite.
    pub(crate) on_nonfinite: OnNonFinite,
    /// A worker that holds up a shift for longer loses its lease.
    pub(crate) drain_seconds: f64,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            workers: 4,
            servers: 1,
            pull_ahead: false,
            lease_seconds: 60.0,
            unacknowledged_pushes: 2,
            prefetch_blocks: 4,
            on_nonfinite: OnNonFinite::Drop,
            drain_seconds: 30.0,
        }
    }
}

/// One `[[straggler]]`: a worker slowed down on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Straggler {
    /// The worker, from 0.
    pub(crate) worker: u32,
    /// Each of its batches takes this many times as long; at least 1.
    pub(crate) slow: f64,
}
