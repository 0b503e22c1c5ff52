//! synchronous: step k is G samples, cut into near-equal slices for the workers live at that moment, as
//! all-reduce does. The step is committed when all slices are there, in slice order, with divisor G.
//!
//! A step is cut when the first worker asks for a batch of it. Each worker has one slice; slices of lost leases
//! are granted again first, to whoever waits, and slices left over by workers that are gone go to the others.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_types::{BatchId, Step, Token};

use crate::buffer::{self, Held};
use crate::event::{Decision, Event};
use crate::leases::{Lease, Leases};
use crate::options::{Engagement, Gear};
use crate::rule::Rule;
use crate::supply::Supply;
use crate::turns::Turns;

/// One step, cut.
struct Cut {
    /// Samples of each slice and its gradient once it is there.
    slices: Vec<(u32, Option<Held>)>,
    /// Gradients still to come.
    missing: usize,
    /// The first slice that was never granted.
    fresh: usize,
    /// Slices whose lease was lost.
    lost: BTreeSet<usize>,
    /// Which slice a granted batch is.
    slice_of: BTreeMap<BatchId, usize>,
}

impl Cut {
    /// Cuts `samples` into at most `workers` slices that differ by one sample at most; none is empty.
    fn new(samples: u32, workers: usize) -> Self {
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        let (each, longer) = (samples / workers, samples % workers);
        let slices: Vec<_> = (0..workers)
            .map(|index| each + u32::from(index < longer))
            .take_while(|&size| size > 0)
            .map(|size| (size, None))
            .collect();
        let missing = slices.len();
        Self { slices, missing, fresh: 0, lost: BTreeSet::new(), slice_of: BTreeMap::new() }
    }

    fn never_granted(&self) -> usize {
        self.slices.len() - self.fresh
    }
}

pub(crate) struct Synchronous {
    global: u32,
    step: Step,
    supply: Supply,
    leases: Leases,
    turns: Turns,
    /// The step under way.
    cut: Option<Cut>,
    shifting: bool,
    drained: bool,
}

/// The rule.
pub(crate) fn synchronous(at: Engagement) -> Synchronous {
    Synchronous {
        global: at.batch.global,
        step: at.step,
        supply: Supply::default(),
        leases: Leases::new(at.next_batch),
        turns: Turns::default(),
        cut: None,
        shifting: false,
        drained: false,
    }
}

impl Synchronous {
    fn take_in(&mut self, event: Event) {
        match event {
            Event::WorkerJoined { worker } => {
                self.leases.joined(worker);
                self.turns.joined(worker);
            }
            Event::WorkerLeft { worker } => {
                for (batch, _) in self.leases.left(worker) {
                    self.lose(batch);
                }
                self.turns.left(worker);
            }
            Event::TokenRequested { worker } => self.turns.requested(worker),
            Event::GradientPushed { worker, batch, samples, version } => {
                let lease = self.leases.close(batch, Some(worker));
                self.hold(batch, Held::pushed(batch, &lease, samples, version));
            }
            Event::GradientFailed { worker, batch } => {
                let lease = self.leases.close(batch, Some(worker));
                self.hold(batch, Held::failed(batch, &lease));
            }
            Event::LeaseEnded { batch } => {
                let Lease { worker, .. } = self.leases.close(batch, None);
                self.lose(batch);
                self.turns.give_back(worker);
            }
            Event::SamplesAvailable { samples } => self.supply.arrived(samples),
            Event::DataExhausted => self.supply.exhaust(),
            Event::ShiftRequested => self.shifting = true,
        }
    }

    /// The step under way; every lease belongs to it.
    fn cut_of(&mut self, batch: BatchId) -> (&mut Cut, usize) {
        let found = self.cut.as_mut().and_then(|cut| {
            let slice = cut.slice_of.remove(&batch)?;
            Some((cut, slice))
        });
        let Some(found) = found else { panic!("batch {batch} is no slice of the step under way") };
        found
    }

    fn lose(&mut self, batch: BatchId) {
        let (cut, slice) = self.cut_of(batch);
        cut.lost.insert(slice);
    }

    fn hold(&mut self, batch: BatchId, gradient: Held) {
        let (cut, slice) = self.cut_of(batch);
        cut.slices[slice].1 = Some(gradient);
        cut.missing -= 1;
    }

    fn commit(&mut self, decisions: &mut Vec<Decision>) {
        let Some(cut) = self.cut.take_if(|cut| cut.missing == 0) else { return };
        let held = cut.slices.iter().filter_map(|(_, held)| held.as_ref());
        decisions.push(Decision::Commit(buffer::commit(self.step, held, |_, _| 1.0)));
        self.step = self.step.next();
        self.turns.new_round();
    }

    /// Cuts the next step if somebody waits for it.
    fn cut(&mut self) {
        if self.cut.is_none()
            && !self.shifting
            && self.turns.first().is_some()
            && let Some(samples) = self.supply.take(self.global)
        {
            self.cut = Some(Cut::new(samples, self.leases.live()));
        }
    }

    fn grant(&mut self, decisions: &mut Vec<Decision>) {
        while let Some(cut) = &mut self.cut {
            // Workers without a slice have the first claim on those never granted.
            let anyone = !cut.lost.is_empty() || cut.never_granted() > self.turns.without_turn();
            let next = if anyone { self.turns.first() } else { self.turns.first_due() };
            let Some(worker) = next else { break };
            let slice = match cut.lost.pop_first() {
                Some(lost) => lost,
                None if cut.never_granted() > 0 => {
                    cut.fresh += 1;
                    cut.fresh - 1
                }
                None => break,
            };
            let samples = cut.slices[slice].0;
            let batch = self.leases.grant(worker, Token(self.step.0), samples, decisions);
            cut.slice_of.insert(batch, slice);
            self.turns.start(worker);
        }
    }
}

impl Rule for Synchronous {
    fn gear(&self) -> Gear {
        Gear::Synchronous
    }

    fn on_event(&mut self, event: Event, decisions: &mut Vec<Decision>) {
        if self.drained {
            return;
        }
        self.take_in(event);
        self.commit(decisions);
        self.cut();
        self.grant(decisions);
        if self.cut.is_none() && (self.shifting || self.supply.is_spent()) {
            self.drained = true;
            decisions.push(Decision::Drained);
        }
    }
}
