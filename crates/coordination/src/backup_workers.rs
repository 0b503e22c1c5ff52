//! backup_workers: step k takes the first N - b gradients that count toward it and discards the late ones
//! (Chen et al., arXiv 1604.00981; Hop-BW in arXiv 2205.11048). The divisor is the samples accepted.
//!
//! A worker starts one batch per step. A step begins with its first grant; N is the number of workers live then,
//! less those of them that leave, so a worker that joins later counts from the next step but may help at once.

use std::collections::BTreeSet;

use gearshift_types::{BatchId, Commit, DiscardReason, Step, Token, WorkerId};

use crate::buffer::{self, Held};
use crate::event::{Decision, Event};
use crate::leases::{Lease, Leases};
use crate::options::{Engagement, Gear, GearOptions};
use crate::rule::Rule;
use crate::supply::Supply;
use crate::turns::Turns;

pub(crate) struct BackupWorkers {
    local: u32,
    backups: usize,
    step: Step,
    supply: Supply,
    leases: Leases,
    turns: Turns,
    /// Whether a batch of this step was granted.
    begun: bool,
    /// Workers that joined after this step had begun.
    uncounted: BTreeSet<WorkerId>,
    /// Leases of this step; the other outstanding ones are late.
    in_step: usize,
    /// Accepted gradients of this step.
    held: Vec<Held>,
    shifting: bool,
    drained: bool,
}

/// The rule.
pub(crate) fn backup_workers(options: &GearOptions, at: Engagement) -> BackupWorkers {
    BackupWorkers {
        local: at.batch.local,
        backups: options.backups as usize,
        step: at.step,
        supply: Supply::default(),
        leases: Leases::new(at.next_batch),
        turns: Turns::default(),
        begun: false,
        uncounted: BTreeSet::new(),
        in_step: 0,
        held: Vec::new(),
        shifting: false,
        drained: false,
    }
}

impl BackupWorkers {
    /// N - b, at least 1.
    fn needed(&self) -> usize {
        (self.leases.live() - self.uncounted.len()).saturating_sub(self.backups).max(1)
    }

    fn is_of_this_step(&self, lease: &Lease) -> bool {
        lease.token.0 == self.step.0
    }

    fn take_in(&mut self, event: Event, decisions: &mut Vec<Decision>) {
        match event {
            Event::WorkerJoined { worker } => {
                self.leases.joined(worker);
                self.turns.joined(worker);
                if self.begun {
                    self.uncounted.insert(worker);
                }
            }
            Event::WorkerLeft { worker } => {
                for (_, lease) in self.leases.left(worker) {
                    self.lose(&lease);
                }
                self.turns.left(worker);
                self.uncounted.remove(&worker);
            }
            Event::TokenRequested { worker } => self.turns.requested(worker),
            Event::GradientPushed { worker, batch, samples, version } => {
                let lease = self.leases.close(batch, Some(worker));
                self.accept(&lease, Held::pushed(batch, &lease, samples, version), decisions);
            }
            Event::GradientFailed { worker, batch } => {
                let lease = self.leases.close(batch, Some(worker));
                self.accept(&lease, Held::failed(batch, &lease), decisions);
            }
            Event::LeaseEnded { batch } => self.end_lease(batch),
            Event::SamplesAvailable { samples } => self.supply.arrived(samples),
            Event::DataExhausted => self.supply.exhaust(),
            Event::ShiftRequested => self.shifting = true,
        }
    }

    fn lose(&mut self, lease: &Lease) {
        self.supply.put_back(lease.samples);
        if self.is_of_this_step(lease) {
            self.in_step -= 1;
        }
    }

    fn end_lease(&mut self, batch: BatchId) {
        let lease = self.leases.close(batch, None);
        self.lose(&lease);
        if self.is_of_this_step(&lease) {
            self.turns.give_back(lease.worker);
        }
    }

    /// Takes a gradient of this step; a late one is discarded, failed or not.
    fn accept(&mut self, lease: &Lease, gradient: Held, decisions: &mut Vec<Decision>) {
        if self.is_of_this_step(lease) {
            self.in_step -= 1;
            self.held.push(gradient);
        } else {
            decisions.push(Decision::Discard { batch: gradient.batch, reason: DiscardReason::Late });
        }
    }

    fn commit(&mut self, decisions: &mut Vec<Decision>) {
        let mut held = std::mem::take(&mut self.held);
        held.sort_unstable_by_key(|gradient| gradient.batch);
        let commit: Commit = buffer::commit(self.step, &held, |_, _| 1.0);
        decisions.push(Decision::Commit(commit));
        self.step = self.step.next();
        self.turns.new_round();
        self.begun = false;
        self.uncounted.clear();
        self.in_step = 0;
    }

    /// Whether a shift needs no more grants: those of the step under way suffice, or none is under way.
    fn is_filled(&self) -> bool {
        let under_way = self.held.len() + self.in_step;
        under_way == 0 || under_way >= self.needed()
    }

    fn grant(&mut self, decisions: &mut Vec<Decision>) {
        while let Some(worker) = self.turns.first_due() {
            if self.shifting && self.is_filled() {
                break;
            }
            let Some(samples) = self.supply.take(self.local) else { break };
            self.leases.grant(worker, Token(self.step.0), samples, decisions);
            self.turns.start(worker);
            self.begun = true;
            self.in_step += 1;
        }
    }

    /// Ends when nothing is on its way, late gradients included. At the end of data the last step may be short.
    fn end(&mut self, decisions: &mut Vec<Decision>) {
        let closing = self.supply.is_spent() || (self.shifting && self.held.is_empty());
        if !closing || self.leases.outstanding() > 0 {
            return;
        }
        if !self.held.is_empty() {
            self.commit(decisions);
        }
        self.drained = true;
        decisions.push(Decision::Drained);
    }
}

impl Rule for BackupWorkers {
    fn gear(&self) -> Gear {
        Gear::BackupWorkers
    }

    fn on_event(&mut self, event: Event, decisions: &mut Vec<Decision>) {
        if self.drained {
            return;
        }
        self.take_in(event, decisions);
        assert!(self.held.len() <= self.needed(), "more gradients held than step {} takes", self.step);
        if self.held.len() == self.needed() {
            self.commit(decisions);
        }
        self.grant(decisions);
        self.end(decisions);
    }
}
