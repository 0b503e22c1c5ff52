//! tokens: a batch counts toward the step that its gear says. gba, k_batch: k0 + floor((grants - losses) / M), so
//! that lost tokens do not drift; asynchronous and bounded_staleness the same with M = 1; synchronous, backup_workers
//! and version tokens: the step under way. A pull waits for its step where the gear says so (DESIGN, section 5).

use std::rc::Rc;

use gearshift_cluster::{SchedulerOutput, ToWorker};
use gearshift_coordination::{Gear, TokenKind};
use gearshift_types::{Step, Time};

use super::Check;
use super::books::Books;
use super::facts::{Entry, Fact, Granted};
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Tokens {
    told: Rc<Scenario>,
    engaged_at: u64,
    grants: u64,
    losses: u64,
}

impl Tokens {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told, engaged_at: 0, grants: 0, losses: 0 }
    }

    fn expected(&self, gear: Gear, step: u64) -> u64 {
        let by_version = self.told.setup.scheduler.gears.tokens == TokenKind::Version;
        match gear {
            Gear::Synchronous | Gear::BackupWorkers => step,
            Gear::Gba if by_version => step,
            _ => self.engaged_at + (self.grants - self.losses) / self.told.batches_per_step(gear),
        }
    }

    fn granted(&mut self, entry: &Entry, granted: &Granted) -> Result<(), String> {
        let before = entry.before;
        let Some(gear) = before.gear else { return Ok(()) };
        let expected = self.expected(gear, before.step);
        if granted.token.0 != expected {
            let (batch, token) = (granted.batch, granted.token);
            return Err(format!(
                "{gear}: batch {batch} has token {token}, expected {expected} (engaged at step {}, {} grants, {} losses, step {})",
                self.engaged_at, self.grants, self.losses, before.step
            ));
        }
        self.grants += 1;
        Ok(())
    }
}

impl Check for Tokens {
    const NAME: &'static str = "tokens";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let Moment::SchedulerSays { outputs, .. } = moment else { return Ok(()) };
        for entry in &books.facts {
            match &entry.fact {
                Fact::Engaged(_) => {
                    (self.engaged_at, self.grants, self.losses) = (entry.before.step, 0, 0);
                }
                Fact::Granted(granted) => self.granted(entry, granted)?,
                Fact::Lost(_) => self.losses += 1,
                _ => {}
            }
        }
        // A gear that has just taken over may already have granted: its grants come after it.
        let mut gear = books.facts.first().map_or(books.standing().gear, |entry| entry.before.gear);
        for output in *outputs {
            match output {
                SchedulerOutput::Log(gearshift_cluster::LogEntry::Engaged { gear: engaged, .. }) => {
                    gear = Some(*engaged);
                }
                SchedulerOutput::Worker { message: ToWorker::Train(assignment), .. } => {
                    let waits = gear.is_some_and(Gear::waits_for_step);
                    let expected = waits.then_some(Step(assignment.token.0));
                    if assignment.min_step != expected {
                        let (batch, got) = (assignment.batch, assignment.min_step);
                        return Err(format!(
                            "{gear:?}: the pull of batch {batch} waits for {got:?}, not {expected:?}"
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
