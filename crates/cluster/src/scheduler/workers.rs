//! Who is there, who waits for work, who has died.

use std::collections::BTreeMap;

use gearshift_coordination::Event;
use gearshift_types::{BatchId, Time, WorkerEpoch, WorkerId};

use super::{LeaseState, Phase, Scheduler};
use crate::messages::{Notice, Outcome, SchedulerOutput, ToServer, ToWorker};

/// One live worker.
#[derive(Clone, Copy, Debug)]
struct WorkerState {
    epoch: WorkerEpoch,
    seen: Time,
    request: Option<u64>,
}

/// Live workers and the order in which they wait.
#[derive(Clone, Debug, Default)]
pub(super) struct Workers {
    live: BTreeMap<WorkerId, WorkerState>,
    waiting: BTreeMap<u64, WorkerId>,
    requests: u64,
    none_since: Option<Time>,
    last_joined: Time,
}

impl Workers {
    pub(super) fn len(&self) -> usize {
        self.live.len()
    }

    pub(super) fn ids(&self) -> Vec<WorkerId> {
        self.live.keys().copied().collect()
    }

    pub(super) fn lives(&self) -> Vec<(WorkerId, WorkerEpoch)> {
        self.live.iter().map(|(&worker, state)| (worker, state.epoch)).collect()
    }

    /// Workers that wait, in order of arrival.
    pub(super) fn waiting(&self) -> Vec<WorkerId> {
        self.waiting.values().copied().collect()
    }

    pub(super) fn is(&self, worker: WorkerId, epoch: WorkerEpoch) -> bool {
        self.live.get(&worker).is_some_and(|state| state.epoch == epoch)
    }

    pub(super) fn epoch(&self, worker: WorkerId) -> Option<WorkerEpoch> {
        self.live.get(&worker).map(|state| state.epoch)
    }

    pub(super) fn seen(&mut self, worker: WorkerId, epoch: WorkerEpoch, now: Time) {
        if let Some(state) = self.live.get_mut(&worker).filter(|state| state.epoch == epoch) {
            state.seen = now;
        }
    }

    /// Takes the request of a worker that is being answered.
    pub(super) fn answer(&mut self, worker: WorkerId) {
        if let Some(request) = self.live.get_mut(&worker).and_then(|state| state.request.take()) {
            self.waiting.remove(&request);
        }
    }

    fn join(&mut self, worker: WorkerId, epoch: WorkerEpoch, now: Time) {
        self.live.insert(worker, WorkerState { epoch, seen: now, request: None });
        self.none_since = None;
        self.last_joined = now;
    }

    fn leave(&mut self, worker: WorkerId, now: Time) {
        self.answer(worker);
        self.live.remove(&worker);
        if self.live.is_empty() {
            self.none_since = Some(now);
        }
    }

    /// Whether the request is new.
    fn request(&mut self, worker: WorkerId) -> bool {
        let Some(state) = self.live.get_mut(&worker) else { return false };
        if state.request.is_some() {
            return false;
        }
        state.request = Some(self.requests);
        self.waiting.insert(self.requests, worker);
        self.requests += 1;
        true
    }
}

impl Scheduler {
    pub(super) fn worker_joined(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        out: &mut Vec<SchedulerOutput>,
    ) {
        if let Some(old) = self.workers.epoch(worker) {
            if old >= epoch {
                return;
            }
            self.worker_left(worker, old, "replaced by a newer life of it", out);
        }
        self.workers.join(worker, epoch, self.now);
        out.push(SchedulerOutput::Notice(Notice::WorkerJoined { worker }));
        if self.phase != Phase::Gathering {
            self.drive(Event::WorkerJoined { worker }, out);
        } else if self.workers.len() >= self.options.workers as usize {
            self.started = self.now;
            self.begin_part(out);
        }
    }

    /// Workers that do not come, or die before all have come, must not hold up the others for ever: they can join
    /// later.
    fn start_with_fewer_workers(&mut self, out: &mut Vec<SchedulerOutput>) {
        let (here, lease) = (self.workers.len(), self.options.lease);
        if self.phase != Phase::Gathering || here == 0 || self.now - self.workers.last_joined <= lease {
            return;
        }
        let wanted = self.options.workers;
        let text = format!("training starts with {here} of {wanted} workers: no other came within {lease:?}");
        out.push(SchedulerOutput::Notice(Notice::Warning(text)));
        self.started = self.now;
        self.begin_part(out);
    }

    pub(super) fn worker_left(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        reason: &str,
        out: &mut Vec<SchedulerOutput>,
    ) {
        if !self.workers.is(worker, epoch) {
            return;
        }
        self.workers.leave(worker, self.now);
        let lost: Vec<BatchId> = self.running_leases(Some(worker));
        let mut samples = 0;
        for batch in lost {
            samples += self.take_back(batch, out);
        }
        self.figures.worker(worker).deaths += 1;
        let reason = reason.to_owned();
        out.push(SchedulerOutput::Notice(Notice::WorkerLeft { worker, reason, samples }));
        self.requeue_tasks_of(worker);
        self.drive(Event::WorkerLeft { worker }, out);
        self.assign_tasks(out);
    }

    pub(super) fn worker_requested(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        out: &mut Vec<SchedulerOutput>,
    ) {
        if !self.workers.is(worker, epoch) {
            return;
        }
        self.workers.seen(worker, epoch, self.now);
        if self.workers.request(worker) {
            match self.phase {
                Phase::Evaluating => self.assign_tasks(out),
                _ => self.drive(Event::TokenRequested { worker }, out),
            }
        }
    }

    /// Batches that are being computed, of one worker or of all.
    pub(super) fn running_leases(&self, worker: Option<WorkerId>) -> Vec<BatchId> {
        self.leases
            .iter()
            .filter(|(_, lease)| lease.state == LeaseState::Running)
            .filter(|(_, lease)| worker.is_none_or(|worker| lease.worker == worker))
            .map(|(&batch, _)| batch)
            .collect()
    }

    /// Takes a lost batch's samples back into the pool. Returns how many.
    pub(super) fn take_back(&mut self, batch: BatchId, out: &mut Vec<SchedulerOutput>) -> u64 {
        let Some(lease) = self.leases.remove(&batch) else { return 0 };
        let samples = u64::from(lease.samples);
        self.pool.give_back(&lease.ranges);
        self.ledger.grant_again(samples);
        self.figures.worker(lease.worker).lost += samples;
        out.push(SchedulerOutput::Servers(ToServer::Release(batch)));
        samples
    }

    pub(super) fn tick(&mut self, out: &mut Vec<SchedulerOutput>) {
        let silent: Vec<(WorkerId, WorkerEpoch)> = self
            .workers
            .live
            .iter()
            .filter(|(_, state)| self.now - state.seen > self.options.lease)
            .map(|(&worker, state)| (worker, state.epoch))
            .collect();
        for (worker, epoch) in silent {
            let reason = format!("not seen for {:?}, its lease has ended", self.options.lease);
            self.worker_left(worker, epoch, &reason, out);
            out.push(SchedulerOutput::Worker { worker, epoch, message: ToWorker::Expelled });
        }
        self.start_with_fewer_workers(out);
        self.end_leases_that_hold_up_a_drain(out);
        self.checkpoint_if_due(out);
        // The last checkpoint needs no worker.
        let none_too_long =
            self.workers.none_since.is_some_and(|since| self.now - since > self.options.lease);
        if none_too_long && self.phase != Phase::Ending {
            let waited = self.options.lease;
            self.finish(
                Outcome::Failed(format!(
                    "the scheduler waited {waited:?} for a worker and none is left; start workers or look at why they ended"
                )),
                out,
            );
        }
    }
}
