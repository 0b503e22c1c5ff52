//! No deadlock: when all workers wait, something is on its way, or there is nothing that they could do.

use gearshift_coordination::Gear;

use super::{Check, Checked, hold};
use crate::books::Books;

pub(crate) struct Liveness;

impl Check for Liveness {
    fn name(&self) -> &'static str {
        "liveness"
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let all_wait = !books.live.is_empty() && books.waiting.len() == books.live.len();
        if !all_wait || !books.leases.is_empty() || books.drained {
            return Ok(());
        }
        let batch = match books.setup.gear {
            Gear::Synchronous => books.setup.global(),
            _ => books.setup.local(),
        };
        let work = books.available >= i64::from(batch) || books.exhausted;
        hold!(!work, "all workers wait, nothing is on its way, {} samples are left", books.available);
        let cut = books.begun && books.setup.gear == Gear::Synchronous;
        hold!(!cut, "all workers wait though step {} has slices left", books.step);
        Ok(())
    }
}
