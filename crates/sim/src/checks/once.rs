//! once: a worker trains what it was granted, pushes it once to each server, and the log says so; each sample is in
//! at most one commit of the surviving history.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_cluster::{LogEntry, ServerInput, ToWorker, WorkerInput, WorkerOutput};
use gearshift_types::{BatchId, RowRange, ServerId, Time, WorkerEpoch, WorkerId};

use super::Check;
use super::books::Books;
use super::facts::{Fact, Granted};
use crate::moment::Moment;

#[derive(Default)]
pub(super) struct Once {
    granted: BTreeMap<BatchId, Granted>,
    /// What each worker was told last.
    told: BTreeMap<WorkerId, Vec<RowRange>>,
    pushed: BTreeSet<(BatchId, ServerId)>,
}

impl Once {
    fn facts(&mut self, books: &Books) -> Result<(), String> {
        for entry in &books.facts {
            match &entry.fact {
                Fact::Granted(granted) => {
                    let before = self.granted.insert(granted.batch, granted.clone());
                    if before.is_some() {
                        return Err(format!("batch {} is granted a second time", granted.batch));
                    }
                }
                Fact::Committed { step, members, .. } => {
                    for (member, _) in members {
                        let granted = self.granted.get(&member.batch);
                        let right = granted.is_some_and(|granted| {
                            (granted.worker, granted.token) == (member.worker, member.token)
                                && granted.ranges == member.ranges
                        });
                        if !right {
                            return Err(format!("step {step} has {member:?} of the grant {granted:?}"));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn worker_takes(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        input: &WorkerInput,
    ) -> Result<(), String> {
        match input {
            WorkerInput::Scheduler(ToWorker::Train(assignment)) => {
                let granted = self.granted.get(&assignment.batch);
                let right = granted.is_some_and(|granted| {
                    (granted.worker, granted.epoch) == (worker, epoch)
                        && (&granted.ranges, granted.token) == (&assignment.ranges, assignment.token)
                });
                if !right {
                    return Err(format!("worker {worker} is told {assignment:?}, granted was {granted:?}"));
                }
                self.told.insert(worker, assignment.ranges.clone());
            }
            WorkerInput::Scheduler(ToWorker::Evaluate(task)) => {
                self.told.insert(worker, task.ranges.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn worker_says(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        output: &WorkerOutput,
    ) -> Result<(), String> {
        match output {
            WorkerOutput::Load(ranges) => {
                let told = self.told.get(&worker);
                if told != Some(ranges) {
                    return Err(format!("worker {worker} loads {ranges:?}, it was told {told:?}"));
                }
            }
            WorkerOutput::Server { server, input: ServerInput::Push { push, .. } } => {
                let granted = self.granted.get(&push.batch);
                let right = granted.is_some_and(|granted| {
                    (granted.worker, granted.epoch) == (worker, epoch)
                        && granted.samples() == u64::from(push.samples)
                });
                if !right {
                    let (batch, samples) = (push.batch, push.samples);
                    return Err(format!(
                        "worker {worker} pushes {samples} samples of batch {batch}, granted was {granted:?}"
                    ));
                }
                if !self.pushed.insert((push.batch, *server)) {
                    return Err(format!(
                        "worker {worker} pushes batch {} twice to server {server}",
                        push.batch
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Each sample in at most one commit.
fn surviving(log: &[LogEntry]) -> Result<(), String> {
    let mut seen: BTreeMap<(u32, u32), Vec<bool>> = BTreeMap::new();
    for entry in log {
        let LogEntry::Commit { step, members, .. } = entry else { continue };
        for range in members.iter().flat_map(|member| &member.ranges) {
            let (part, block) = (range.part.0, range.block);
            let rows = seen.entry((part, block)).or_default();
            rows.resize(rows.len().max(range.end as usize), false);
            for (row, seen) in rows.iter_mut().enumerate().take(range.end as usize).skip(range.start as usize)
            {
                if std::mem::replace(seen, true) {
                    return Err(format!(
                        "row {row} of block {block}, part {part} is in step {step} and in one before"
                    ));
                }
            }
        }
    }
    Ok(())
}

impl Check for Once {
    const NAME: &'static str = "once";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        match moment {
            Moment::SchedulerSays { .. } => self.facts(books),
            Moment::WorkerTakes { worker, epoch, input } => self.worker_takes(*worker, *epoch, input),
            Moment::WorkerSays { worker, epoch, outputs } => {
                outputs.iter().try_for_each(|output| self.worker_says(*worker, *epoch, output))
            }
            Moment::RolledBack { .. } => {
                *self = Self::default();
                Ok(())
            }
            Moment::Over { log, .. } => surviving(log),
            _ => Ok(()),
        }
    }
}
