//! What goes wrong, and when.

use serde::{Deserialize, Serialize};

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Virtual seconds after the start.
    pub at_seconds: f64,
    /// What.
    pub kind: FaultKind,
    /// Whom it strikes: the number of the worker or, for `server_crash`, of the server.
    #[serde(default)]
    pub who: u32,
    /// How long it lasts. A crash without it is for good.
    #[serde(default)]
    pub seconds: Option<f64>,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// A worker ends; its connections close. It starts anew after `seconds`.
    WorkerCrash,
    /// The same, but nobody is told: its lease has to end.
    WorkerVanish,
    /// A worker stands still and goes on after `seconds` as if nothing had been.
    WorkerPause,
    /// Nothing passes between a worker and all others for `seconds`; then what was sent arrives.
    LinkCut,
    /// A server ends: after `seconds` the whole job goes on from its last checkpoint.
    ServerCrash,
    /// The scheduler ends: after `seconds` the whole job goes on from its last checkpoint.
    SchedulerCrash,
}
