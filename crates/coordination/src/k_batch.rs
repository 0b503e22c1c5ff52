//! k_batch: an update per K local batches, whoever computes them, all with weight 1 (K-batch-async, Dutta et
//! al., arXiv 1803.01113). As gba without control by tokens; they are stamped for the reports only.

use gearshift_types::{Step, Token};

use crate::arrivals::Arrivals;
use crate::buffer::Held;
use crate::flow::{Flow, Terms};
use crate::options::{BatchOptions, Engagement, Gear, GearOptions};

pub(crate) struct KBatch;

/// K: as set, else G/B.
pub(crate) fn batches_per_step(options: &GearOptions, batch: BatchOptions) -> u32 {
    options.k_batches.unwrap_or(batch.global / batch.local)
}

/// The rule.
pub(crate) fn k_batch(options: &GearOptions, at: Engagement) -> Flow<KBatch, Arrivals> {
    Flow::new(KBatch, Arrivals::default(), at, batches_per_step(options, at.batch))
}

impl Terms for KBatch {
    fn gear(&self) -> Gear {
        Gear::KBatch
    }

    fn token(&self, position: Token, _: Step) -> Token {
        position
    }

    fn weight(&self, _: Step, _: &Held, _: Step) -> f32 {
        1.0
    }
}
