//! What an onlooker knows from events and decisions alone.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_coordination::{Decision, Event};
use gearshift_types::{BatchId, Step, Token, WorkerId};

use crate::setup::Setup;

/// A granted batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) worker: WorkerId,
    pub(crate) token: Token,
    pub(crate) samples: u32,
    /// Step when it was granted.
    pub(crate) granted_at: Step,
}

/// A gradient that is in no commit or discard yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gradient {
    pub(crate) token: Token,
    pub(crate) granted: u32,
    /// Samples for the divisor.
    pub(crate) samples: u32,
    /// Version at pull; `None` when it failed.
    pub(crate) version: Option<Step>,
}

/// The state of a run as seen from outside.
pub(crate) struct Books {
    pub(crate) setup: Setup,
    pub(crate) live: BTreeSet<WorkerId>,
    pub(crate) waiting: BTreeSet<WorkerId>,
    pub(crate) leases: BTreeMap<BatchId, Lease>,
    pub(crate) held: BTreeMap<BatchId, Gradient>,
    pub(crate) step: Step,
    /// Whether a batch was granted since the last commit.
    pub(crate) begun: bool,
    pub(crate) available: i64,
    pub(crate) grants: u64,
    pub(crate) losses: u64,
    pub(crate) exhausted: bool,
    pub(crate) shifting: bool,
    pub(crate) drained: bool,
}

impl Books {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            live: BTreeSet::new(),
            waiting: BTreeSet::new(),
            leases: BTreeMap::new(),
            held: BTreeMap::new(),
            step: setup.at.step,
            begun: false,
            available: 0,
            grants: 0,
            losses: 0,
            exhausted: false,
            shifting: false,
            drained: false,
        }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.exhausted && self.available == 0
    }

    pub(crate) fn leases_of(&self, worker: WorkerId) -> usize {
        self.leases.values().filter(|lease| lease.worker == worker).count()
    }

    fn lose(&mut self, batch: BatchId) {
        let lease = self.leases.remove(&batch).unwrap();
        self.available += i64::from(lease.samples);
        self.losses += 1;
    }

    fn hold(&mut self, batch: BatchId, samples: Option<u32>, version: Option<Step>) {
        let lease = self.leases.remove(&batch).unwrap();
        let samples = samples.unwrap_or(lease.samples);
        self.held.insert(batch, Gradient { token: lease.token, granted: lease.samples, samples, version });
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match *event {
            Event::WorkerJoined { worker } => {
                self.live.insert(worker);
            }
            Event::WorkerLeft { worker } => {
                let of_worker = self.leases.iter().filter(|(_, lease)| lease.worker == worker);
                let lost: Vec<_> = of_worker.map(|(&batch, _)| batch).collect();
                lost.into_iter().for_each(|batch| self.lose(batch));
                self.live.remove(&worker);
                self.waiting.remove(&worker);
            }
            Event::TokenRequested { worker } => {
                self.waiting.insert(worker);
            }
            Event::GradientPushed { batch, samples, version, .. } => {
                self.hold(batch, Some(samples), Some(version));
            }
            Event::GradientFailed { batch, .. } => self.hold(batch, None, None),
            Event::LeaseEnded { batch } => self.lose(batch),
            Event::SamplesAvailable { samples } => self.available += samples as i64,
            Event::DataExhausted => self.exhausted = true,
            Event::ShiftRequested => self.shifting = true,
        }
    }

    pub(crate) fn decision(&mut self, decision: &Decision) {
        match decision {
            &Decision::Grant { worker, batch, token, samples } => {
                self.waiting.remove(&worker);
                self.available -= i64::from(samples);
                self.leases.insert(batch, Lease { worker, token, samples, granted_at: self.step });
                self.grants += 1;
                self.begun = true;
            }
            Decision::Commit(commit) => {
                for member in &commit.members {
                    self.held.remove(&member.batch);
                }
                self.step = self.step.next();
                self.begun = false;
            }
            Decision::Discard { batch, .. } => {
                self.held.remove(batch);
            }
            Decision::Drained => self.drained = true,
        }
    }
}
