//! What a simulated run says of itself.

use gearshift_cluster::{Figures, Outcome, SampleCounts};
use gearshift_coordination::Gear;
use serde::{Deserialize, Serialize};

/// A run in virtual time, or the measured stretch of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimReport {
    /// The gear in force at the end.
    pub gear: Gear,
    /// Workers at the start.
    pub workers: u32,
    /// How it ended; `None` when it was measured up to a step and broken off.
    pub outcome: Option<Outcome>,
    /// Virtual seconds.
    pub seconds: f64,
    /// Updates.
    pub steps: u64,
    /// The ledger.
    pub samples: SampleCounts,
    /// Staleness of both kinds, and by worker.
    pub figures: Figures,
    /// Share of the workers' time in which they computed, 0 to 1.
    pub worker_utilization: f64,
    /// The same for servers.
    pub server_utilization: f64,
    /// Bytes sent over the network.
    pub bytes: u64,
}

impl SimReport {
    /// Samples in the parameters per virtual second.
    #[must_use]
    pub fn accepted_per_second(&self) -> f64 {
        if self.seconds > 0.0 { self.samples.applied as f64 / self.seconds } else { 0.0 }
    }

    /// Share of the samples resolved that are not in the parameters: dropped, discarded, failed.
    #[must_use]
    pub fn lost_share(&self) -> f64 {
        let resolved = self.samples.resolved();
        if resolved == 0 { 0.0 } else { (resolved - self.samples.applied) as f64 / resolved as f64 }
    }
}
