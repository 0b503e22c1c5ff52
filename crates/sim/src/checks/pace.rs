//! pace: a worker has at most one batch under way, two when it pulls ahead, and at most so many pushes that servers
//! have not answered as the job says (ARCHITECTURE.md, "The roles as machines").

use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_cluster::{SchedulerInput, ServerInput, ToWorker, WorkerInput, WorkerOutput};
use gearshift_types::{BatchId, Time, WorkerEpoch, WorkerId};

use super::Check;
use super::books::Books;
use crate::moment::Moment;
use crate::search::Scenario;

/// What one life of a worker has in hand.
#[derive(Debug, Default)]
struct Hands {
    /// Batches and evaluation tasks that were given to it and are not computed.
    under_way: usize,
    /// Answers that are missing, by batch.
    unanswered: BTreeMap<BatchId, u32>,
}

pub(super) struct Pace {
    told: Rc<Scenario>,
    lives: BTreeMap<(WorkerId, WorkerEpoch), Hands>,
}

impl Pace {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told, lives: BTreeMap::new() }
    }

    fn takes(&mut self, life: (WorkerId, WorkerEpoch), input: &WorkerInput) -> Result<(), String> {
        let hands = self.lives.entry(life).or_default();
        match input {
            WorkerInput::Scheduler(ToWorker::Train(_) | ToWorker::Evaluate(_)) => hands.under_way += 1,
            WorkerInput::NotLoaded => hands.under_way = hands.under_way.saturating_sub(1),
            WorkerInput::Held { batch, .. } | WorkerInput::Refused { batch, .. } => {
                if let Some(missing) = hands.unanswered.get_mut(batch) {
                    *missing -= 1;
                    if *missing == 0 {
                        hands.unanswered.remove(batch);
                    }
                }
            }
            _ => {}
        }
        let most = 1 + usize::from(self.told.setup.worker.pull_ahead);
        if hands.under_way > most {
            let (worker, under_way) = (life.0, hands.under_way);
            return Err(format!(
                "worker {worker} has {under_way} batches under way, expected at most {most}"
            ));
        }
        Ok(())
    }

    fn says(&mut self, life: (WorkerId, WorkerEpoch), output: &WorkerOutput) -> Result<(), String> {
        let hands = self.lives.entry(life).or_default();
        match output {
            WorkerOutput::Scheduler(SchedulerInput::Evaluated { .. }) => {
                hands.under_way = hands.under_way.saturating_sub(1);
            }
            WorkerOutput::Server { input: ServerInput::Push { push, .. }, .. } => {
                if !hands.unanswered.contains_key(&push.batch) {
                    hands.under_way = hands.under_way.saturating_sub(1);
                }
                hands.unanswered.insert(push.batch, self.told.setup.scheduler.servers);
            }
            _ => {}
        }
        let most = self.told.setup.worker.unacknowledged_max as usize;
        if hands.unanswered.len() > most {
            let (worker, unanswered) = (life.0, &hands.unanswered);
            return Err(format!(
                "worker {worker} waits for the answer to {unanswered:?}, expected at most {most} pushes"
            ));
        }
        Ok(())
    }
}

impl Check for Pace {
    const NAME: &'static str = "pace";

    fn check(&mut self, _books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::WorkerTakes { worker, epoch, input } => self.takes((*worker, *epoch), input),
            Moment::WorkerSays { worker, epoch, outputs } => {
                outputs.iter().try_for_each(|output| self.says((*worker, *epoch), output))
            }
            Moment::WorkerEnds { worker, epoch } => {
                self.lives.remove(&(*worker, *epoch));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
