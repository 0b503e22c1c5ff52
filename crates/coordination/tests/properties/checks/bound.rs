//! bounded_staleness: workers that run are at most the bound apart, and nobody within the bound waits.

use std::collections::BTreeMap;

use gearshift_coordination::{Decision, Event, Gear};
use gearshift_types::WorkerId;

use super::{Check, Checked, hold};
use crate::books::Books;

/// Batches that each live worker has finished, from where it joined.
#[derive(Default)]
pub(crate) struct Bound {
    clocks: BTreeMap<WorkerId, u64>,
}

impl Bound {
    fn slowest(&self) -> u64 {
        self.clocks.values().copied().min().unwrap_or(0)
    }
}

impl Check for Bound {
    fn name(&self) -> &'static str {
        "bound"
    }

    fn event(&mut self, _: &Books, event: &Event) -> Checked {
        match event {
            Event::WorkerJoined { worker } => {
                self.clocks.insert(*worker, self.slowest());
            }
            Event::WorkerLeft { worker } => {
                self.clocks.remove(worker);
            }
            Event::GradientPushed { worker, .. } | Event::GradientFailed { worker, .. } => {
                *self.clocks.get_mut(worker).unwrap() += 1;
            }
            _ => {}
        }
        Ok(())
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        let bound = u64::from(before.setup.options.bound_clocks);
        if let Decision::Grant { worker, .. } = decision
            && before.setup.gear == Gear::BoundedStaleness
        {
            let (clock, slowest) = (self.clocks[worker], self.slowest());
            hold!(clock <= slowest + bound, "worker {worker} starts at {clock}, the slowest is at {slowest}");
        }
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let setup = &books.setup;
        if setup.gear != Gear::BoundedStaleness || books.drained {
            return Ok(());
        }
        let bound = u64::from(setup.options.bound_clocks);
        let running = books.leases.values().map(|lease| self.clocks[&lease.worker]);
        let (least, most) =
            running.fold((u64::MAX, 0), |(least, most), clock| (least.min(clock), most.max(clock)));
        hold!(most <= least.saturating_add(bound), "clocks {least} and {most} run, the bound is {bound}");
        let enough = books.available >= i64::from(setup.local()) || (books.exhausted && books.available > 0);
        if enough && !books.shifting {
            for worker in &books.waiting {
                let clock = self.clocks[worker] + books.leases_of(*worker) as u64;
                let blocked = clock > self.slowest() + bound;
                hold!(
                    blocked,
                    "worker {worker} waits at clock {clock}, the slowest is at {}",
                    self.slowest()
                );
            }
        }
        Ok(())
    }
}
