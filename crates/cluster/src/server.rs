//! The server: holds one shard, answers pulls, holds gradients, applies commits in the scheduler's order.

use std::collections::{BTreeSet, VecDeque};

use gearshift_embedding::{Store, StoreError};
use gearshift_types::{BatchId, Commit, PullRequest, Push, ServerId, Step, WorkerEpoch, WorkerId};

use crate::messages::{Refusal, SchedulerInput, ServerInput, ServerOutput, ToServer, WorkerInput};

/// Released batches whose push has not come are remembered up to this number (a few bytes each).
const RELEASED_MAX: usize = 65_536;

/// A pull that waits for updates.
#[derive(Debug)]
struct WaitingPull {
    worker: WorkerId,
    epoch: WorkerEpoch,
    pull: u64,
    request: PullRequest,
    min_step: Step,
}

/// Work that keeps the scheduler's order.
#[derive(Debug)]
enum Ordered {
    Commit(Commit),
    Checkpoint(u64),
}

/// The server machine over a [`Store`].
pub struct Server<S> {
    id: ServerId,
    store: S,
    clip: bool,
    /// What is done in the scheduler's order. A commit may wait for its scale; the rest waits behind it.
    ordered: VecDeque<Ordered>,
    waiting: Vec<WaitingPull>,
    released: BTreeSet<BatchId>,
}

impl<S: Store> Server<S> {
    /// A server over a shard. With `clip` a commit waits for the norm over all servers.
    pub fn new(id: ServerId, store: S, clip: bool) -> Self {
        Self { id, store, clip, ordered: VecDeque::new(), waiting: Vec::new(), released: BTreeSet::new() }
    }

    /// The shard.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Takes an input and appends what is to be done, in order.
    pub fn handle(&mut self, input: ServerInput, out: &mut Vec<ServerOutput>) {
        match input {
            ServerInput::Pull { worker, epoch, pull, request, min_step } => {
                let min_step = min_step.unwrap_or_default();
                let waiting = WaitingPull { worker, epoch, pull, request, min_step };
                if self.store.version() >= min_step {
                    self.answer(&waiting, out);
                } else {
                    self.waiting.push(waiting);
                }
            }
            ServerInput::Push { worker, epoch, push } => self.take_push(worker, epoch, push, out),
            ServerInput::Scheduler(ToServer::Commit(commit)) => {
                self.enqueue(Ordered::Commit(commit), out);
            }
            ServerInput::Scheduler(ToServer::Checkpoint { id }) => {
                self.enqueue(Ordered::Checkpoint(id), out);
            }
            ServerInput::Scheduler(ToServer::Scale { step, scale }) => self.scale_arrived(step, scale, out),
            ServerInput::Scheduler(ToServer::Release(batch)) => self.release(batch),
            ServerInput::Scheduler(ToServer::Stop) => out.push(ServerOutput::Stopped),
        }
    }

    fn take_push(&mut self, worker: WorkerId, epoch: WorkerEpoch, push: Push, out: &mut Vec<ServerOutput>) {
        let (server, batch) = (self.id, push.batch);
        let input = if self.released.remove(&batch) {
            WorkerInput::Refused { server, batch, refusal: Refusal::LeaseEnded }
        } else {
            match self.store.hold(push) {
                Ok(()) => WorkerInput::Held { server, batch },
                Err(error) => {
                    let refusal = Refusal::BadGradient(error.to_string());
                    WorkerInput::Refused { server, batch, refusal }
                }
            }
        };
        out.push(ServerOutput::Worker { worker, epoch, input });
    }

    fn release(&mut self, batch: BatchId) {
        if !self.store.release(batch) {
            self.released.insert(batch);
            if self.released.len() > RELEASED_MAX {
                self.released.pop_first();
            }
        }
    }

    /// Puts work at the end of the order; does it at once unless a commit waits for its scale.
    fn enqueue(&mut self, work: Ordered, out: &mut Vec<ServerOutput>) {
        self.ordered.push_back(work);
        if self.ordered.len() == 1 {
            self.work_in_order(out);
        }
    }

    fn scale_arrived(&mut self, step: Step, scale: f32, out: &mut Vec<ServerOutput>) {
        match self.ordered.pop_front() {
            Some(Ordered::Commit(commit)) if commit.step == step => {
                self.apply(&commit, scale, out);
                self.work_in_order(out);
            }
            Some(other) => self.ordered.push_front(other),
            None => {}
        }
    }

    /// Works through the order up to a commit that has to wait for its scale, which stays at the front.
    fn work_in_order(&mut self, out: &mut Vec<ServerOutput>) {
        while let Some(work) = self.ordered.pop_front() {
            match work {
                Ordered::Checkpoint(id) => out.push(ServerOutput::Checkpoint { id }),
                Ordered::Commit(commit) if !self.clip => self.apply(&commit, 1.0, out),
                Ordered::Commit(commit) => {
                    match self.store.squared_norms(&commit) {
                        Ok(partials) => {
                            let (server, step) = (self.id, commit.step);
                            let input = SchedulerInput::Norms { server, step, partials };
                            out.push(ServerOutput::Scheduler(input));
                        }
                        Err(error) => self.fail(&error, out),
                    }
                    return self.ordered.push_front(Ordered::Commit(commit));
                }
            }
        }
    }

    fn apply(&mut self, commit: &Commit, scale: f32, out: &mut Vec<ServerOutput>) {
        if let Err(error) = self.store.apply(commit, scale) {
            return self.fail(&error, out);
        }
        let version = self.store.version();
        let (ready, waiting): (Vec<WaitingPull>, Vec<WaitingPull>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|pull| pull.min_step <= version);
        self.waiting = waiting;
        for pull in &ready {
            self.answer(pull, out);
        }
    }

    fn answer(&mut self, pull: &WaitingPull, out: &mut Vec<ServerOutput>) {
        let (worker, epoch) = (pull.worker, pull.epoch);
        match self.store.pull(&pull.request) {
            Ok(reply) => {
                let input = WorkerInput::Rows { server: self.id, pull: pull.pull, reply };
                out.push(ServerOutput::Worker { worker, epoch, input });
            }
            Err(error) => {
                let text = format!("server {}: pull of worker {worker}: {error}", self.id);
                out.push(ServerOutput::Failed(text));
            }
        }
    }

    fn fail(&mut self, error: &StoreError, out: &mut Vec<ServerOutput>) {
        out.push(ServerOutput::Failed(format!("server {}: {error}", self.id)));
    }
}
