//! bounded_staleness: asynchronous, but a worker starts a batch only while its clock (batches it has finished)
//! is at most the slowest live worker's plus a bound (SSP, Ho et al. 2013; Hop-BS in arXiv 2205.11048).
//!
//! Running workers are never more than the bound apart; a blocked one may stand at bound + 1.

use crate::asynchronous::EveryPush;
use crate::clocks::Clocks;
use crate::flow::Flow;
use crate::options::{Engagement, Gear, GearOptions};

/// The rule.
pub(crate) fn bounded_staleness(options: &GearOptions, at: Engagement) -> Flow<EveryPush, Clocks> {
    Flow::new(EveryPush { gear: Gear::BoundedStaleness }, Clocks::new(options.bound_clocks), at, 1)
}
