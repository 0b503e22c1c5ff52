//! The machine of the gears in which workers never wait for a step: batches flow, gradients are buffered, and
//! every M full local batches make a commit. `gba`, `k_batch`, `asynchronous` (M = 1) and `bounded_staleness`
//! (M = 1 and a line with a bound) differ in their [`Terms`] and their [`Line`] only.

use gearshift_types::{BatchId, Step, Token, WorkerId};

use crate::arrivals::Line;
use crate::buffer::{self, Held};
use crate::event::{Decision, Event};
use crate::leases::{Lease, Leases};
use crate::options::{Engagement, Gear};
use crate::position::Position;
use crate::rule::Rule;
use crate::supply::Supply;

/// What a gear adds to the flow.
pub(crate) trait Terms: Send {
    /// The gear.
    fn gear(&self) -> Gear;
    /// The token of the next batch.
    fn token(&self, position: Token, step: Step) -> Token;
    /// The weight of a gradient that was pulled at `version` and is committed at `step`.
    fn weight(&self, step: Step, gradient: &Held, version: Step) -> f32;
}

/// The machine. `per_step` is M, the full local batches of one update.
pub(crate) struct Flow<T, L> {
    terms: T,
    line: L,
    local: u32,
    per_step: u64,
    step: Step,
    supply: Supply,
    leases: Leases,
    position: Position,
    /// Gradients of full local batches, fewer than M.
    full: Vec<Held>,
    /// The gradient of the one smaller batch that ends the data, kept for the last commit: in an earlier one
    /// (leases may be lost after it was granted) the step would not be G samples.
    short: Option<Held>,
    shifting: bool,
    drained: bool,
}

impl<T: Terms, L: Line> Flow<T, L> {
    /// Starts at `at` with `per_step` local batches per update.
    pub(crate) fn new(terms: T, line: L, at: Engagement, per_step: u32) -> Self {
        Self {
            terms,
            line,
            local: at.batch.local,
            per_step: u64::from(per_step),
            step: at.step,
            supply: Supply::default(),
            leases: Leases::new(at.next_batch),
            position: Position::new(at.step),
            full: Vec::new(),
            short: None,
            shifting: false,
            drained: false,
        }
    }

    fn take_in(&mut self, event: Event) {
        match event {
            Event::WorkerJoined { worker } => {
                self.leases.joined(worker);
                self.line.joined(worker);
            }
            Event::WorkerLeft { worker } => {
                for (_, lease) in self.leases.left(worker) {
                    self.put_back(lease);
                }
                self.line.left(worker);
            }
            Event::TokenRequested { worker } => {
                self.leases.requested(worker);
                self.line.requested(worker);
            }
            Event::GradientPushed { worker, batch, samples, version } => {
                let lease = self.finished(batch, worker);
                self.hold(lease, Held::pushed(batch, &lease, samples, version));
            }
            Event::GradientFailed { worker, batch } => {
                let lease = self.finished(batch, worker);
                self.hold(lease, Held::failed(batch, &lease));
            }
            Event::LeaseEnded { batch } => {
                let lease = self.leases.close(batch, None);
                self.line.lost(lease.worker);
                self.put_back(lease);
            }
            Event::SamplesAvailable { samples } => self.supply.arrived(samples),
            Event::DataExhausted => self.supply.exhaust(),
            Event::ShiftRequested => self.shifting = true,
        }
    }

    fn finished(&mut self, batch: BatchId, worker: WorkerId) -> Lease {
        let lease = self.leases.close(batch, Some(worker));
        self.line.finished(worker);
        lease
    }

    fn put_back(&mut self, lease: Lease) {
        self.supply.put_back(lease.samples);
        self.position.lost();
    }

    fn hold(&mut self, lease: Lease, gradient: Held) {
        if lease.samples == self.local || self.per_step == 1 {
            self.full.push(gradient);
        } else {
            let before = self.short.replace(gradient);
            assert!(before.is_none(), "two batches smaller than the local batch");
        }
    }

    /// Commits what is held, in grant order.
    fn commit(&mut self, decisions: &mut Vec<Decision>) {
        let mut held = std::mem::take(&mut self.full);
        held.extend(self.short.take());
        held.sort_unstable_by_key(|gradient| gradient.batch);
        let commit = buffer::commit(self.step, &held, |gradient, version| {
            self.terms.weight(self.step, gradient, version)
        });
        decisions.push(Decision::Commit(commit));
        self.step = self.step.next();
    }

    /// Whether all that is granted and held makes full updates, so that a shift needs no more grants.
    fn fills_steps(&self) -> bool {
        let held = self.full.len() + usize::from(self.short.is_some());
        ((self.leases.outstanding() + held) as u64).is_multiple_of(self.per_step)
    }

    fn grant(&mut self, decisions: &mut Vec<Decision>) {
        while self.line.is_open() && !(self.shifting && self.fills_steps()) {
            let Some(samples) = self.supply.take(self.local) else { break };
            let Some(worker) = self.line.start_next() else { break };
            let token = self.terms.token(self.position.token(self.per_step), self.step);
            self.leases.grant(worker, token, samples, decisions);
            self.position.granted();
        }
    }

    /// Ends when nothing is left to grant and nothing is on its way.
    fn end(&mut self, decisions: &mut Vec<Decision>) {
        let closing = self.supply.is_spent() || (self.shifting && self.fills_steps());
        if !closing || self.leases.outstanding() > 0 {
            return;
        }
        if !self.full.is_empty() || self.short.is_some() {
            self.commit(decisions);
        }
        self.drained = true;
        decisions.push(Decision::Drained);
    }
}

impl<T: Terms, L: Line> Rule for Flow<T, L> {
    fn gear(&self) -> Gear {
        self.terms.gear()
    }

    fn on_event(&mut self, event: Event, decisions: &mut Vec<Decision>) {
        if self.drained {
            return;
        }
        self.take_in(event);
        if self.full.len() as u64 == self.per_step {
            let short = self.short.take();
            self.commit(decisions);
            self.short = short;
        }
        self.grant(decisions);
        self.end(decisions);
    }
}
