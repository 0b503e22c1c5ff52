//! drained: a shift leaves nothing behind. When a gear takes over, no batch granted before is being computed or
//! waits for its commit, and none is committed or discarded later; once all messages have arrived, no server holds a
//! gradient and no batch is open.
//!
//! A push whose lease has ended may arrive after its release, also after a shift: the server refuses it, so that it
//! is not held at the end either.

use std::rc::Rc;

use gearshift_cluster::{Outcome, SchedulerOutput};
use gearshift_types::{BatchId, Time};

use super::Check;
use super::books::Books;
use super::facts::{Entry, Fact};
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Drained {
    /// Gradients that each server holds.
    held: Vec<usize>,
    next_batch: BatchId,
    /// The first batch of the gear in force.
    first: BatchId,
    well: bool,
}

impl Drained {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        let held = vec![0; told.setup.scheduler.servers as usize];
        Self { held, next_batch: BatchId(0), first: BatchId(0), well: false }
    }

    fn fact(&mut self, entry: &Entry) -> Result<(), String> {
        let resolved = match &entry.fact {
            Fact::Engaged(gear) => {
                self.first = self.next_batch;
                let before = entry.before;
                if before.running > 0 || before.held > 0 {
                    return Err(format!(
                        "{gear} takes over, but batches of the gear before are open: {before:?}"
                    ));
                }
                Vec::new()
            }
            Fact::Granted(granted) => {
                self.next_batch = BatchId(granted.batch.0 + 1).max(self.next_batch);
                Vec::new()
            }
            Fact::Committed { members, .. } => members.iter().map(|(member, _)| member.batch).collect(),
            Fact::Discarded(granted) => vec![granted.batch],
            _ => Vec::new(),
        };
        match resolved.iter().find(|&&batch| batch < self.first) {
            None => Ok(()),
            Some(batch) => {
                Err(format!("batch {batch} meets its fate in a gear that took over at batch {}", self.first))
            }
        }
    }
}

impl Check for Drained {
    const NAME: &'static str = "drained";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerSays { outputs, .. } => {
                for output in *outputs {
                    if let SchedulerOutput::Finished(outcome) = output {
                        self.well = !matches!(outcome, Outcome::Failed(_));
                    }
                }
                books.facts.iter().try_for_each(|entry| self.fact(entry))
            }
            Moment::ServerSays { server, held, .. } => {
                self.held[server.0 as usize] = *held;
                Ok(())
            }
            Moment::RolledBack { .. } => {
                self.held.fill(0);
                (self.next_batch, self.first, self.well) = (BatchId(0), BatchId(0), false);
                Ok(())
            }
            Moment::Over { .. } if self.well => {
                if let Some(server) = self.held.iter().position(|&held| held > 0) {
                    return Err(format!("at the end server {server} holds {} gradients", self.held[server]));
                }
                match books.batches.keys().next() {
                    None => Ok(()),
                    Some(batch) => Err(format!("at the end batch {batch} has met no fate")),
                }
            }
            _ => Ok(()),
        }
    }
}
