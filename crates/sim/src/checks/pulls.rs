//! pulls: a worker computes with parameters that have seen at least the updates its grant names; the versions in the
//! log are those it was answered with. In the synchronous gear all pulls of a step see exactly that step.

use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_cluster::{SchedulerInput, ServerInput, ToWorker, WorkerInput, WorkerOutput};
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, Step, Time, WorkerEpoch, WorkerId};

use super::Check;
use super::books::Books;
use super::facts::{Entry, Fact};
use crate::moment::Moment;
use crate::search::Scenario;

#[derive(Debug)]
struct Task {
    batch: Option<BatchId>,
    min_step: Step,
    /// By server, once answered.
    versions: Vec<Option<Step>>,
}

pub(super) struct Pulls {
    servers: usize,
    /// Tasks of each life in the order in which it was given them, which is how it numbers its pulls.
    tasks: BTreeMap<(WorkerId, WorkerEpoch), Vec<Task>>,
    /// Versions of batches whose gradient was pushed.
    pushed: BTreeMap<BatchId, Vec<Step>>,
}

impl Pulls {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self {
            servers: told.setup.scheduler.servers as usize,
            tasks: BTreeMap::new(),
            pushed: BTreeMap::new(),
        }
    }

    fn begins(&mut self, life: (WorkerId, WorkerEpoch), batch: Option<BatchId>, min_step: Option<Step>) {
        let versions = vec![None; self.servers];
        let min_step = min_step.unwrap_or_default();
        self.tasks.entry(life).or_default().push(Task { batch, min_step, versions });
    }

    fn worker_takes(&mut self, life: (WorkerId, WorkerEpoch), input: &WorkerInput) -> Result<(), String> {
        match input {
            WorkerInput::Scheduler(ToWorker::Train(assignment)) => {
                self.begins(life, Some(assignment.batch), assignment.min_step);
            }
            WorkerInput::Scheduler(ToWorker::Evaluate(task)) => self.begins(life, None, Some(task.min_step)),
            WorkerInput::Rows { server, pull, reply } => {
                let task = self.tasks.get_mut(&life).and_then(|tasks| tasks.get_mut(*pull as usize));
                let Some(task) = task else {
                    return Err(format!(
                        "worker {}: server {server} answers pull {pull}, never asked",
                        life.0
                    ));
                };
                if reply.version < task.min_step {
                    return Err(format!(
                        "worker {}: server {server} gave version {} for batch {:?}, which needs at least {}",
                        life.0, reply.version, task.batch, task.min_step
                    ));
                }
                task.versions[server.0 as usize] = Some(reply.version);
            }
            _ => {}
        }
        Ok(())
    }

    fn reported(
        &mut self,
        life: (WorkerId, WorkerEpoch),
        batch: BatchId,
        versions: &[Step],
    ) -> Result<(), String> {
        let mut tasks = self.tasks.get(&life).into_iter().flatten();
        let task = tasks.find(|task| task.batch == Some(batch));
        let pulled: Option<Vec<Step>> = task.and_then(|task| task.versions.iter().copied().collect());
        if pulled.as_deref() != Some(versions) {
            let worker = life.0;
            return Err(format!(
                "worker {worker}: batch {batch} was pulled at {pulled:?}, reported at {versions:?}"
            ));
        }
        self.pushed.insert(batch, versions.to_vec());
        Ok(())
    }

    fn committed(&mut self, entry: &Entry) -> Result<(), String> {
        let Fact::Committed { step, members, .. } = &entry.fact else { return Ok(()) };
        for (member, _) in members {
            let pushed = self.pushed.remove(&member.batch).unwrap_or_default();
            let (batch, token) = (member.batch, member.token.0);
            if pushed != member.versions {
                return Err(format!(
                    "step {step}, batch {batch}: pushed at {pushed:?}, logged at {:?}",
                    member.versions
                ));
            }
            for version in &member.versions {
                let right = match entry.before.gear {
                    Some(Gear::Synchronous) => version.0 == token,
                    Some(Gear::BackupWorkers) => version.0 >= token && version.0 <= *step,
                    _ => version.0 <= *step,
                };
                if !right {
                    return Err(format!(
                        "step {step}, batch {batch} with token {token} was pulled at version {version}"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Check for Pulls {
    const NAME: &'static str = "pulls";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::WorkerTakes { worker, epoch, input } => self.worker_takes((*worker, *epoch), input),
            Moment::WorkerSays { worker, epoch, outputs } => {
                for output in *outputs {
                    match output {
                        WorkerOutput::Scheduler(SchedulerInput::Pushed { batch, report, .. }) => {
                            self.reported((*worker, *epoch), *batch, &report.versions)?;
                        }
                        WorkerOutput::Server { input: ServerInput::Pull { pull, min_step, .. }, .. } => {
                            let life = (*worker, *epoch);
                            let task = self.tasks.get(&life).and_then(|tasks| tasks.get(*pull as usize));
                            let expected = task.map(|task| task.min_step);
                            if Some(min_step.unwrap_or_default()) != expected {
                                return Err(format!(
                                    "worker {worker} pulls with {min_step:?}, it was told {expected:?}"
                                ));
                            }
                        }
                        _ => {}
                    }
                }
                Ok(())
            }
            Moment::SchedulerSays { .. } => books.facts.iter().try_for_each(|entry| self.committed(entry)),
            Moment::RolledBack { .. } => {
                self.tasks.clear();
                self.pushed.clear();
                Ok(())
            }
            Moment::WorkerEnds { worker, epoch } => {
                self.tasks.remove(&(*worker, *epoch));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
