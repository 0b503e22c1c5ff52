//! starved: no live worker waits for a batch that it could be granted. The bound is zero: once the scheduler has
//! answered a message, nobody may wait who could start.
//!
//! Who could start: gba, asynchronous, k_batch: everybody while a batch is left. bounded_staleness: who is not too
//! far ahead. backup_workers: who had no turn in this step. synchronous: whoever waits while a slice is lost, or more
//! slices are left than workers that have had none; and at the start of a step everybody. While a rule is drained, only
//! what fills its last step is left to be granted. Slower than that is only a wait for others: a
//! synchronous worker is never passed over in more steps than it takes to give every worker a slice.

use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_coordination::Gear;
use gearshift_types::{Time, WorkerId};

use super::Check;
use super::books::{Books, Phase};
use super::clocks::Clocks;
use super::facts::{Fact, Standing};
use super::turns::Turns;
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Starved {
    told: Rc<Scenario>,
    clocks: Clocks,
    turns: Turns,
    /// Full steps committed while a worker waits.
    passed_over: BTreeMap<WorkerId, u32>,
}

impl Starved {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told, clocks: Clocks::default(), turns: Turns::default(), passed_over: BTreeMap::new() }
    }

    fn could_start(&self, worker: WorkerId, gear: Gear, now: Standing) -> bool {
        let scheduler = &self.told.setup.scheduler;
        let local = u64::from(scheduler.batch.local);
        let open = (now.running + now.held) as u64;
        let filled = now.draining && open.is_multiple_of(self.told.batches_per_step(gear));
        match gear {
            Gear::Gba | Gear::Asynchronous | Gear::KBatch => now.can_grant(local) && !filled,
            Gear::BoundedStaleness => {
                now.can_grant(local) && !filled && self.clocks.may_start(worker, scheduler.gears.bound_clocks)
            }
            Gear::BackupWorkers => now.can_grant(local) && !now.draining && !self.turns.has_had(worker),
            Gear::Synchronous => match &self.turns.cut {
                None => !now.draining && now.can_grant(u64::from(scheduler.batch.global)),
                Some(cut) => {
                    let fresh = cut.slices.saturating_sub(cut.granted);
                    let due = fresh > 0 && !self.turns.has_had(worker);
                    !cut.lost.is_empty() || due || fresh > self.turns.without_turn()
                }
            },
        }
    }

    fn note(&mut self, books: &Books) {
        let global = self.told.setup.scheduler.batch.global;
        for entry in &books.facts {
            self.clocks.note(&entry.fact);
            self.turns.note(entry, u64::from(global));
            match &entry.fact {
                Fact::Committed { .. } => self.passed_over.values_mut().for_each(|steps| *steps += 1),
                Fact::Waits(worker) => {
                    self.passed_over.insert(*worker, 0);
                }
                Fact::Granted(granted) => {
                    self.passed_over.remove(&granted.worker);
                }
                Fact::Engaged(_) => self.passed_over.values_mut().for_each(|steps| *steps = 0),
                _ => {}
            }
        }
        self.passed_over.retain(|worker, _| books.waiting.contains_key(worker));
    }
}

impl Check for Starved {
    const NAME: &'static str = "starved";

    fn check(&mut self, books: &Books, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerSays { .. } => self.note(books),
            Moment::RolledBack { .. } => {
                self.clocks = Clocks::default();
                self.turns.clear();
                self.passed_over.clear();
                return Ok(());
            }
            _ => return Ok(()),
        }
        let standing = books.standing();
        let (Some(gear), Phase::Training(_)) = (standing.gear, books.phase) else { return Ok(()) };
        let scheduler = &self.told.setup.scheduler;
        for (&worker, &since) in &books.waiting {
            if self.could_start(worker, gear, standing) {
                let waited = now - since;
                let cut = &self.turns.cut;
                return Err(format!(
                    "{gear}: worker {worker} waits since {waited:?} though it could start: {standing:?}, {cut:?}"
                ));
            }
            let steps = self.passed_over.get(&worker).copied().unwrap_or(0);
            let most = 2 + scheduler.workers / scheduler.batch.global.max(1);
            let full = standing.pool >= u64::from(scheduler.batch.global);
            if gear == Gear::Synchronous && full && steps > most {
                return Err(format!(
                    "{gear}: worker {worker} was passed over in {steps} steps, expected at most {most}"
                ));
            }
        }
        Ok(())
    }
}
