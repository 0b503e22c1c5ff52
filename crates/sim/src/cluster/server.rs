//! How long servers and the scheduler take for what they are asked.

use serde::{Deserialize, Serialize};

/// Times of a server, which does one thing at a time. All zero by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerOptions {
    /// Microseconds per message.
    pub request_us: f64,
    /// Nanoseconds per row of a pull.
    pub pull_row_ns: f64,
    /// Nanoseconds per row of a push.
    pub push_row_ns: f64,
    /// Nanoseconds per row of a gradient that is applied.
    pub apply_row_ns: f64,
    /// Nanoseconds per dense float of a gradient that is applied, and of the parameters updated.
    pub apply_float_ns: f64,
    /// Milliseconds that writing a checkpoint takes.
    pub checkpoint_ms: f64,
    /// Microseconds that the scheduler takes per message.
    pub scheduler_us: f64,
}

/// What batches weigh when no real model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Distinct rows per sample of a batch.
    pub rows_per_sample: f64,
    /// Floats of a row.
    pub row_floats: u32,
    /// Dense parameters.
    pub dense_floats: u64,
}

impl Default for Workload {
    /// Nothing travels.
    fn default() -> Self {
        Self { rows_per_sample: 0.0, row_floats: 0, dense_floats: 0 }
    }
}
