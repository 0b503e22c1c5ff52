//! held: a gradient counts only once all servers hold it, from the life of the worker that was granted it; a refused
//! one has no weight (DESIGN: "a push is counted only when all servers hold it").

use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_cluster::{SchedulerInput, ServerInput, ServerOutput, ToServer, WorkerInput};
use gearshift_types::{BatchId, ServerId, Time, WorkerEpoch, WorkerId};

use super::Check;
use super::books::Books;
use super::facts::{Fact, Granted, State};
use crate::moment::Moment;
use crate::search::Scenario;

type Life = (WorkerId, WorkerEpoch);

pub(super) struct HeldByAll {
    servers: u32,
    holders: BTreeMap<BatchId, BTreeMap<ServerId, Life>>,
    /// Whose gradient the scheduler has just been told of.
    said_by: Option<Life>,
}

impl HeldByAll {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { servers: told.setup.scheduler.servers, holders: BTreeMap::new(), said_by: None }
    }

    fn held_by_all(&self, granted: &Granted) -> Result<(), String> {
        let life = (granted.worker, granted.epoch);
        let holders = self.holders.get(&granted.batch);
        for server in (0..self.servers).map(ServerId) {
            let held = holders.and_then(|holders| holders.get(&server));
            if held != Some(&life) {
                return Err(format!(
                    "the gradient of batch {}, granted to life {} of worker {}, counts, but server {server} holds it of {held:?}",
                    granted.batch, granted.epoch, granted.worker
                ));
            }
        }
        Ok(())
    }

    fn fact(&self, fact: &Fact) -> Result<(), String> {
        match fact {
            Fact::Pushed(granted) | Fact::Failed(granted) => {
                let life = Some((granted.worker, granted.epoch));
                if self.said_by != life {
                    let (batch, by) = (granted.batch, self.said_by);
                    return Err(format!(
                        "batch {batch} was granted to {life:?}, its gradient was told of by {by:?}"
                    ));
                }
                if matches!(fact, Fact::Pushed(_)) { self.held_by_all(granted) } else { Ok(()) }
            }
            Fact::Committed { step, members, .. } => {
                for (member, granted) in members.iter().filter(|(member, _)| member.weight > 0.0) {
                    let Some(granted) = granted.as_ref().filter(|granted| granted.state == State::Pushed)
                    else {
                        let (batch, weight) = (member.batch, member.weight);
                        return Err(format!(
                            "step {step} has batch {batch} with weight {weight}, no gradient of it was pushed"
                        ));
                    };
                    self.held_by_all(granted)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Check for HeldByAll {
    const NAME: &'static str = "held";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerTakes(
                SchedulerInput::Pushed { worker, epoch, .. }
                | SchedulerInput::GradientRefused { worker, epoch, .. },
            ) => self.said_by = Some((*worker, *epoch)),
            Moment::SchedulerTakes(_) => self.said_by = None,
            Moment::SchedulerSays { .. } => {
                for entry in &books.facts {
                    self.fact(&entry.fact)?;
                    match &entry.fact {
                        Fact::Committed { members, .. } => {
                            members.iter().for_each(|(member, _)| drop(self.holders.remove(&member.batch)));
                        }
                        Fact::Lost(granted) | Fact::Discarded(granted) => {
                            self.holders.remove(&granted.batch);
                        }
                        _ => {}
                    }
                }
            }
            Moment::ServerSays { outputs, .. } => {
                for output in *outputs {
                    if let ServerOutput::Worker {
                        worker,
                        epoch,
                        input: WorkerInput::Held { server, batch },
                    } = output
                    {
                        self.holders.entry(*batch).or_default().insert(*server, (*worker, *epoch));
                    }
                }
            }
            Moment::ServerTakes { server, input: ServerInput::Scheduler(ToServer::Release(batch)) } => {
                if let Some(holders) = self.holders.get_mut(batch) {
                    holders.remove(server);
                }
            }
            Moment::RolledBack { .. } => self.holders.clear(),
            _ => {}
        }
        Ok(())
    }
}
