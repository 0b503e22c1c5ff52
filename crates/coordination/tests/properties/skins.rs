//! Rules with a bug: a setting that differs from what the checkers are told, or a skin that distorts events and
//! decisions of a correct rule.

use std::collections::BTreeSet;

use gearshift_coordination::{Decision, Event, Gear, Rule};
use gearshift_types::{BatchId, Member, Token, WorkerId};

use crate::setup::Setup;

/// A skin's work: hands the event to the rule, with what it distorts before and after.
pub(crate) trait Skin: Send {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>);
}

struct Skinned<S> {
    rule: Box<dyn Rule>,
    skin: S,
}

impl<S: Skin> Rule for Skinned<S> {
    fn gear(&self) -> Gear {
        self.rule.gear()
    }

    fn on_event(&mut self, event: Event, decisions: &mut Vec<Decision>) {
        self.skin.on_event(self.rule.as_mut(), event, decisions);
    }
}

pub(crate) fn skinned(setup: &Setup, skin: impl Skin + 'static) -> Box<dyn Rule> {
    Box::new(Skinned { rule: setup.rule(), skin })
}

/// A setting that is not the one that the checkers are told.
pub(crate) fn changed(setup: &Setup, change: fn(&mut Setup)) -> Box<dyn Rule> {
    let mut setup = setup.clone();
    change(&mut setup);
    setup.rule()
}

/// A skin that only changes decisions, each event's on its own.
struct Rewrite<F>(F);

impl<F: FnMut(&Event, &mut Vec<Decision>) + Send> Skin for Rewrite<F> {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        rule.on_event(event.clone(), decisions);
        (self.0)(&event, decisions);
    }
}

/// synchronous: when one slice is on its way the step is committed without it.
#[derive(Default)]
pub(crate) struct OneSliceEarly {
    open: BTreeSet<(BatchId, WorkerId)>,
    given_up: BTreeSet<BatchId>,
}

impl Skin for OneSliceEarly {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        let pushed = match &event {
            Event::GradientPushed { batch, .. } | Event::GradientFailed { batch, .. } => Some(*batch),
            Event::LeaseEnded { batch } => {
                if self.given_up.remove(batch) {
                    return;
                }
                self.open.retain(|(open, _)| open != batch);
                None
            }
            Event::WorkerLeft { worker } => {
                self.open.retain(|(_, holder)| holder != worker);
                None
            }
            _ => None,
        };
        if let Some(batch) = pushed {
            if self.given_up.remove(&batch) {
                return;
            }
            self.open.retain(|(open, _)| *open != batch);
        }
        rule.on_event(event, decisions);
        self.note(decisions);
        if pushed.is_some() && self.open.len() == 1 {
            let (batch, worker) = self.open.pop_first().unwrap();
            self.given_up.insert(batch);
            rule.on_event(Event::GradientFailed { worker, batch }, decisions);
            self.note(decisions);
        }
    }
}

impl OneSliceEarly {
    fn note(&mut self, decisions: &[Decision]) {
        for decision in decisions {
            if let &Decision::Grant { worker, batch, .. } = decision
                && !self.given_up.contains(&batch)
            {
                self.open.insert((batch, worker));
            }
        }
    }
}

/// backup_workers: a late gradient goes into the next commit.
#[derive(Default)]
pub(crate) struct AcceptsLate {
    late: Vec<Member>,
    samples: Vec<u64>,
}

impl Skin for AcceptsLate {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        rule.on_event(event.clone(), decisions);
        if let Event::GradientPushed { samples, .. } = event
            && let Some(&Decision::Discard { batch, .. }) = decisions.first()
        {
            decisions.remove(0);
            self.late.push(Member { batch, weight: 1.0 });
            self.samples.push(samples.into());
        }
        for decision in decisions {
            if let Decision::Commit(commit) = decision {
                for (late, samples) in self.late.drain(..).zip(self.samples.drain(..)) {
                    commit.members.insert(0, late);
                    commit.divisor_samples += samples;
                }
            }
        }
    }
}

/// Any gear: every seventh request is forgotten.
#[derive(Default)]
pub(crate) struct ForgetsRequests(u32);

impl Skin for ForgetsRequests {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        self.0 += u32::from(matches!(event, Event::TokenRequested { .. }));
        if !matches!(event, Event::TokenRequested { .. }) || !self.0.is_multiple_of(7) {
            rule.on_event(event, decisions);
        }
    }
}

/// Any gear: the shift is noticed only with the third event after it.
#[derive(Default)]
pub(crate) struct ShiftsLate(Option<u32>);

impl Skin for ShiftsLate {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        if event == Event::ShiftRequested && self.0.is_none() {
            self.0 = Some(3);
            return;
        }
        rule.on_event(event, decisions);
        if let Some(left) = &mut self.0 {
            *left = left.saturating_sub(1);
            if *left == 0 {
                rule.on_event(Event::ShiftRequested, decisions);
            }
        }
    }
}

/// Any gear: says `Drained` as soon as a shift is asked for.
pub(crate) struct DrainsAtOnce;

impl Skin for DrainsAtOnce {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        if event == Event::ShiftRequested {
            decisions.push(Decision::Drained);
        } else {
            rule.on_event(event, decisions);
        }
    }
}

/// Any gear: one sample of each arrival is lost.
pub(crate) struct LosesASample;

impl Skin for LosesASample {
    fn on_event(&mut self, rule: &mut dyn Rule, event: Event, decisions: &mut Vec<Decision>) {
        match event {
            Event::SamplesAvailable { samples } => {
                rule.on_event(Event::SamplesAvailable { samples: samples - 1 }, decisions);
            }
            event => rule.on_event(event, decisions),
        }
    }
}

fn members(decision: &mut Decision) -> Option<&mut Vec<Member>> {
    match decision {
        Decision::Commit(commit) => Some(&mut commit.members),
        _ => None,
    }
}

/// The tokens of a list that does not step back for lost leases.
pub(crate) fn drifting_tokens(setup: &Setup) -> Box<dyn Rule> {
    let (start, per_step) = (setup.at.step.0, setup.per_step());
    let mut grants = 0;
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            for decision in decisions {
                if let Decision::Grant { token, .. } = decision {
                    *token = Token(start + grants / per_step);
                    grants += 1;
                }
            }
        }),
    )
}

/// A commit directly before `Drained` is left out.
pub(crate) fn leaves_a_gradient(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            if let [.., Decision::Commit(_), Decision::Drained] = decisions[..] {
                decisions.remove(decisions.len() - 2);
            }
        }),
    )
}

/// The divisor counts the samples of members with weight only.
pub(crate) fn renormalises(setup: &Setup) -> Box<dyn Rule> {
    let local = u64::from(setup.local());
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            for decision in decisions {
                if let Decision::Commit(commit) = decision {
                    let dropped = commit.members.iter().filter(|member| member.weight == 0.0).count();
                    let out = dropped as u64 * local;
                    commit.divisor_samples = commit.divisor_samples.saturating_sub(out);
                }
            }
        }),
    )
}

pub(crate) fn global_divisor(setup: &Setup) -> Box<dyn Rule> {
    let global = u64::from(setup.global());
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            for decision in decisions {
                if let Decision::Commit(commit) = decision {
                    commit.divisor_samples = global;
                }
            }
        }),
    )
}

pub(crate) fn members_reversed(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            decisions.iter_mut().filter_map(members).for_each(|members| members.reverse());
        }),
    )
}

/// A gradient is committed a second time.
pub(crate) fn commits_twice(setup: &Setup) -> Box<dyn Rule> {
    let mut last = None;
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            for members in decisions.iter_mut().filter_map(members) {
                members.extend(last.replace(members[0]));
            }
        }),
    )
}

/// Failed gradients keep weight 1.
pub(crate) fn weighs_failures(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            for members in decisions.iter_mut().filter_map(members) {
                members.iter_mut().for_each(|member| member.weight = 1.0);
            }
        }),
    )
}

pub(crate) fn drained_twice(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            if decisions.last() == Some(&Decision::Drained) {
                decisions.push(Decision::Drained);
            }
        }),
    )
}

pub(crate) fn steps_from_zero(setup: &Setup) -> Box<dyn Rule> {
    let start = setup.at.step.0;
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            for decision in decisions {
                if let Decision::Commit(commit) = decision {
                    commit.step.0 -= start;
                }
            }
        }),
    )
}

/// Each commit is held back until the next one is due.
pub(crate) fn commits_late(setup: &Setup) -> Box<dyn Rule> {
    let mut kept = None;
    skinned(
        setup,
        Rewrite(move |_: &Event, decisions: &mut Vec<Decision>| {
            let commit = decisions.iter().position(|decision| matches!(decision, Decision::Commit(_)));
            if let Some(index) = commit {
                let commit = decisions.remove(index);
                decisions.splice(index..index, kept.replace(commit));
            }
        }),
    )
}

/// Each slice has a sample less than it should.
pub(crate) fn slices_too_small(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            for decision in decisions {
                if let Decision::Grant { samples, .. } = decision {
                    *samples -= u32::from(*samples > 1);
                }
            }
        }),
    )
}
