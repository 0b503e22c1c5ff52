//! Shifting: the rule in force drains, the next one starts at that step with k0 = step. Parameters, slots, step
//! counter, learning rates and data position are left as they are.

use std::time::Duration;

use gearshift_coordination::{Event, Gear};
use gearshift_types::{Step, Time};

use super::{Phase, Scheduler};
use crate::messages::{Notice, SchedulerOutput};
use crate::scheduler::options::ShiftAt;

/// A shift under way.
#[derive(Clone, Debug)]
pub(super) struct Shifting {
    from: Gear,
    to: Gear,
    planned: bool,
    requested: Time,
    drained: Option<(Time, Step, u64)>,
}

/// A rule that is coming to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draining {
    /// Since when it is, or since the last lease was ended for it.
    since: Time,
    /// How long it may take from then on.
    limit: Duration,
}

impl Scheduler {
    /// The gear of the next planned shift, when it has come due.
    pub(super) fn shift_due(&self) -> Option<Gear> {
        let draining = self.shifting.as_ref().is_some_and(|shifting| shifting.drained.is_none());
        if self.phase != Phase::Training || draining || self.stopping {
            return None;
        }
        let planned = self.options.shifts.get(self.shifts_done as usize)?;
        let due = match planned.at {
            ShiftAt::Sample(sample) => self.ledger.counts().resolved() >= sample,
            ShiftAt::Part(part) => self.part >= part,
            ShiftAt::Elapsed(after) => self.elapsed_seconds() >= after.as_secs_f64(),
        };
        due.then_some(planned.to)
    }

    pub(super) fn shift_requested(&mut self, to: Gear, planned: bool, out: &mut Vec<SchedulerOutput>) {
        if let Some(shifting) = self.shifting.as_mut().filter(|shifting| shifting.drained.is_none()) {
            let text = format!("a shift to {} is under way; it goes to {to} instead", shifting.to);
            shifting.to = to;
            return out.push(SchedulerOutput::Notice(Notice::Warning(text)));
        }
        if to == self.gear {
            if planned {
                self.shifts_done += 1;
            } else {
                let text = format!("shift to {to}: that gear is in force already");
                out.push(SchedulerOutput::Notice(Notice::Warning(text)));
            }
            return;
        }
        let (from, step) = (self.gear, self.step);
        let requested = self.now;
        self.shifting = Some(Shifting { from, to, planned, requested, drained: None });
        out.push(SchedulerOutput::Notice(Notice::ShiftRequested { from, to, step }));
        if self.phase == Phase::Training {
            self.draining = Some(self.drain_from_now());
            self.drive(Event::ShiftRequested, out);
        } else {
            self.shift_drained();
        }
    }

    /// At the start of a part nothing needs draining: shifts that are due take effect at once.
    pub(super) fn shift_at_part_start(&mut self, out: &mut Vec<SchedulerOutput>) {
        while let Some(to) = self.shift_due() {
            if to == self.gear {
                self.shifts_done += 1;
                continue;
            }
            let (from, step, requested) = (self.gear, self.step, self.now);
            self.shifting = Some(Shifting { from, to, planned: true, requested, drained: None });
            out.push(SchedulerOutput::Notice(Notice::ShiftRequested { from, to, step }));
            self.shift_drained();
        }
    }

    /// The old rule has drained: the new gear is the one to engage.
    pub(super) fn shift_drained(&mut self) {
        if let Some(shifting) = self.shifting.as_mut().filter(|shifting| shifting.drained.is_none()) {
            shifting.drained = Some((self.now, self.step, self.ledger.counts().resolved()));
            self.gear = shifting.to;
            self.shifts_done += u32::from(shifting.planned);
        }
    }

    /// Tells how long the shift took, at its first grant.
    pub(super) fn first_grant_after_shift(&mut self, out: &mut Vec<SchedulerOutput>) {
        let Some((drained, step, samples)) = self.shifting.as_ref().and_then(|shifting| shifting.drained)
        else {
            return;
        };
        if let Some(Shifting { from, to, requested, .. }) = self.shifting.take() {
            let (drain, first_grant) = (drained - requested, self.now - requested);
            let notice = Notice::Shifted { from, to, step, samples, drain, first_grant };
            out.push(SchedulerOutput::Notice(notice));
        }
    }

    pub(super) fn stop_requested(&mut self, out: &mut Vec<SchedulerOutput>) {
        if std::mem::replace(&mut self.stopping, true) {
            return;
        }
        match self.phase {
            Phase::Training => {
                self.draining = Some(self.drain_from_now());
                self.drive(Event::ShiftRequested, out);
            }
            Phase::Evaluating => self.abandon_evaluation(out),
            Phase::Gathering => self.finish(crate::messages::Outcome::Stopped, out),
            Phase::Ending | Phase::Over => {}
        }
    }

    fn drain_from_now(&self) -> Draining {
        Draining { since: self.now, limit: self.options.drain }
    }

    /// A straggler that holds up a drain loses its lease; its samples go back to the pool. Those who get them are given
    /// twice as long, or a drain shorter than a batch would never end.
    pub(super) fn end_leases_that_hold_up_a_drain(&mut self, out: &mut Vec<SchedulerOutput>) {
        let Some(Draining { since, limit }) = self.draining else { return };
        if self.now - since <= limit {
            return;
        }
        self.draining = Some(Draining { since: self.now, limit });
        for batch in self.running_leases(None) {
            // A batch granted since then has had no chance to be done.
            let held = self.leases.get(&batch).filter(|lease| lease.granted <= since);
            let Some(worker) = held.map(|lease| lease.worker) else { continue };
            self.draining = Some(Draining { since: self.now, limit: limit.saturating_mul(2) });
            let samples = self.take_back(batch, out);
            let text = format!(
                "worker {worker} held up the drain for {limit:?} and lost its lease of {samples} samples"
            );
            out.push(SchedulerOutput::Notice(Notice::Warning(text)));
            self.drive(Event::LeaseEnded { batch }, out);
        }
    }
}
