//! bounds: how much a grant and a commit may hold. synchronous: the near-equal slices of a step sum to G. gba and
//! k_batch: M full local batches. backup_workers: the first N - b gradients of the step, one turn for each worker,
//! late ones discarded at once. asynchronous and bounded_staleness: every push. bounded_staleness: a worker starts
//! only while its clock is at most the slowest live one's plus the bound. A drain grants up to the next full step and no
//! further. Less only where data or a drain end a rule
//! (DESIGN, section 5).

use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_coordination::Gear;
use gearshift_types::{BatchId, Time};

use super::Check;
use super::books::Books;
use super::clocks::Clocks;
use super::facts::{Entry, Fact, Granted, samples};
use super::turns::Turns;
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Bounds {
    told: Rc<Scenario>,
    clocks: Clocks,
    turns: Turns,
    /// Gradients that wait for their commit: (token, samples).
    held: BTreeMap<BatchId, (u64, u64)>,
}

impl Bounds {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told, clocks: Clocks::default(), turns: Turns::default(), held: BTreeMap::new() }
    }

    fn granted(&self, entry: &Entry, gear: Gear, granted: &Granted) -> Result<(), String> {
        let scheduler = &self.told.setup.scheduler;
        let (before, size) = (entry.before, granted.samples());
        let (worker, batch) = (granted.worker, granted.batch);
        if gear == Gear::Synchronous {
            if before.draining && self.turns.cut.is_none() {
                return Err(format!("synchronous: batch {batch} begins a step after a shift was asked for"));
            }
            // The cut of the step as it is once this grant is counted, or as it was.
            let mut turns = self.turns.clone();
            turns.note(entry, u64::from(scheduler.batch.global));
            let cut = self.turns.cut.as_ref().or(turns.cut.as_ref());
            let right = cut.is_some_and(|cut| {
                let fresh = match &self.turns.cut {
                    Some(cut) => cut.clone(),
                    None => super::turns::Cut { granted: 0, ..cut.clone() },
                };
                cut.lost.contains(&size) || (fresh.granted < fresh.slices && fresh.is_slice(size))
            });
            return if right {
                Ok(())
            } else {
                Err(format!(
                    "synchronous, step {}: batch {batch} of {size} samples is no slice of {cut:?}",
                    before.step
                ))
            };
        }
        let open = (before.running + before.held) as u64;
        let flows = gear != Gear::BackupWorkers;
        if flows && before.draining && open.is_multiple_of(self.told.batches_per_step(gear)) {
            return Err(format!(
                "{gear}: batch {batch} is granted, but {open} open ones fill the last step ({before:?})"
            ));
        }
        let local = u64::from(scheduler.batch.local);
        let last = before.exhausted && before.pool < local && size == before.pool;
        if size != local && !last {
            return Err(format!("{gear}: batch {batch} has {size} samples, expected {local} ({before:?})"));
        }
        let bound = scheduler.gears.bound_clocks;
        if gear == Gear::BoundedStaleness && !self.clocks.may_start(worker, bound) {
            let (clock, slowest) = (self.clocks.when_done(worker), self.clocks.slowest());
            return Err(format!(
                "worker {worker} starts at clock {clock}, the slowest is at {slowest}, bound {bound}"
            ));
        }
        if gear == Gear::BackupWorkers && self.turns.has_had(worker) {
            return Err(format!("worker {worker} has a second turn in step {}: batch {batch}", before.step));
        }
        Ok(())
    }

    fn committed(&self, entry: &Entry, gear: Gear) -> Result<(), String> {
        let Fact::Committed { step, members, .. } = &entry.fact else { return Ok(()) };
        let scheduler = &self.told.setup.scheduler;
        let (global, local) = (u64::from(scheduler.batch.global), u64::from(scheduler.batch.local));
        let sizes: Vec<u64> = members.iter().map(|(member, _)| samples(&member.ranges)).collect();
        let (count, total) = (sizes.len() as u64, sizes.iter().sum::<u64>());
        let spent = entry.before.exhausted && entry.before.running == 0;
        let right = match gear {
            Gear::Synchronous => {
                let cut = self.turns.cut.as_ref();
                let whole = cut.is_some_and(|cut| (cut.samples, cut.slices) == (total, count));
                whole && (total == global || (entry.before.exhausted && total < global))
            }
            Gear::Gba | Gear::KBatch => {
                let full = self.told.batches_per_step(gear);
                let short =
                    spent && (entry.before.pool == 0 || entry.before.draining) && total <= full * local;
                // Where every push is an update, the shorter batch that ends the data is one, whenever it comes.
                let alone = full == 1 && count == 1 && entry.before.exhausted && total < local;
                (count == full && total == full * local) || short || alone
            }
            Gear::Asynchronous | Gear::BoundedStaleness => count == 1,
            Gear::BackupWorkers => {
                let needed = self.turns.needed(scheduler.gears.backups) as u64;
                let first = self.held.iter().filter(|(_, (token, _))| token == step).map(|(&batch, _)| batch);
                let members: Vec<BatchId> = members.iter().map(|(member, _)| member.batch).collect();
                let enough = count == needed || (count < needed && spent && entry.before.pool == 0);
                enough && members == first.collect::<Vec<_>>()
            }
        };
        if right {
            return Ok(());
        }
        Err(format!(
            "{gear}, step {step}: {count} gradients of {total} samples ({sizes:?}) with G = {global}, B = {local}, {:?}, {:?}",
            scheduler.gears, entry.before
        ))
    }

    /// Once the scheduler has answered, nothing is held that should have been committed or discarded.
    fn settled(&self, gear: Gear, step: u64) -> Result<(), String> {
        let local = u64::from(self.told.setup.scheduler.batch.local);
        let full = self.held.values().filter(|(_, samples)| *samples == local).count() as u64;
        let late = self.held.iter().find(|(_, (token, _))| *token < step);
        let right = match gear {
            Gear::Synchronous => self.held.is_empty() || self.turns.cut.is_some(),
            Gear::Gba | Gear::KBatch => full < self.told.batches_per_step(gear),
            Gear::Asynchronous | Gear::BoundedStaleness => self.held.is_empty(),
            Gear::BackupWorkers => {
                late.is_none() && self.held.len() < self.turns.needed(self.told.setup.scheduler.gears.backups)
            }
        };
        if right {
            Ok(())
        } else {
            Err(format!("{gear}, step {step}: {:?} still wait for their commit", self.held))
        }
    }

    fn note(&mut self, entry: &Entry) {
        self.clocks.note(&entry.fact);
        self.turns.note(entry, u64::from(self.told.setup.scheduler.batch.global));
        match &entry.fact {
            Fact::Pushed(granted) | Fact::Failed(granted) => {
                self.held.insert(granted.batch, (granted.token.0, granted.samples()));
            }
            Fact::Discarded(granted) => {
                self.held.remove(&granted.batch);
            }
            Fact::Committed { members, .. } => {
                for (member, _) in members {
                    self.held.remove(&member.batch);
                }
            }
            _ => {}
        }
    }
}

impl Check for Bounds {
    const NAME: &'static str = "bounds";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerSays { .. } => {
                for entry in &books.facts {
                    match (&entry.fact, entry.before.gear) {
                        (Fact::Granted(granted), Some(gear)) => self.granted(entry, gear, granted)?,
                        (Fact::Granted(granted), None) => {
                            return Err(format!(
                                "batch {} is granted while no gear is in force",
                                granted.batch
                            ));
                        }
                        (Fact::Committed { .. }, Some(gear)) => self.committed(entry, gear)?,
                        _ => {}
                    }
                    self.note(entry);
                }
                let now = books.standing();
                now.gear.map_or(Ok(()), |gear| self.settled(gear, now.step))
            }
            Moment::RolledBack { .. } => {
                self.clocks = Clocks::default();
                self.turns.clear();
                self.held.clear();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
