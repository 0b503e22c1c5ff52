//! Clocks of bounded staleness as they follow from grants and pushes.

use std::collections::BTreeMap;

use gearshift_types::WorkerId;

use super::facts::Fact;

#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    finished: u64,
    running: u64,
}

/// The clocks of live workers since the rule in force took over.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks(BTreeMap<WorkerId, Clock>);

impl Clocks {
    pub(super) fn note(&mut self, fact: &Fact) {
        match fact {
            Fact::Engaged(_) => self.0.values_mut().for_each(|clock| *clock = Clock::default()),
            Fact::Joined(worker) => {
                let finished = self.slowest();
                self.0.insert(*worker, Clock { finished, running: 0 });
            }
            Fact::Left(worker) => {
                self.0.remove(worker);
            }
            Fact::Granted(granted) => self.change(granted.worker, |clock| clock.running += 1),
            Fact::Pushed(granted) | Fact::Failed(granted) => self.change(granted.worker, |clock| {
                clock.running = clock.running.saturating_sub(1);
                clock.finished += 1;
            }),
            Fact::Lost(granted) => {
                self.change(granted.worker, |clock| clock.running = clock.running.saturating_sub(1));
            }
            _ => {}
        }
    }

    fn change(&mut self, worker: WorkerId, change: impl FnOnce(&mut Clock)) {
        if let Some(clock) = self.0.get_mut(&worker) {
            change(clock);
        }
    }

    pub(super) fn slowest(&self) -> u64 {
        self.0.values().map(|clock| clock.finished).min().unwrap_or(0)
    }

    /// What the worker's clock shows when all it computes is finished.
    pub(super) fn when_done(&self, worker: WorkerId) -> u64 {
        self.0.get(&worker).map_or(0, |clock| clock.finished + clock.running)
    }

    /// Whether a worker may start under a bound.
    pub(super) fn may_start(&self, worker: WorkerId, bound_clocks: u32) -> bool {
        self.when_done(worker) <= self.slowest() + u64::from(bound_clocks)
    }
}
