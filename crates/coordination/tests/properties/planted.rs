//! Bugs planted in correct rules, and the checkers that must catch them. A bug is a setting that differs from what
//! the checkers are told, or a skin that distorts events and decisions: the rules themselves know nothing of it.

use std::collections::BTreeSet;

use gearshift_coordination::{DecayKind, Decision, Event, Gear, Rule, TokenKind};
use gearshift_types::{BatchId, Member, Token, WorkerId};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::model::run;
use crate::setup::{Setup, setups};

/// Runs per bug; most bugs are caught within the first ten.
const RUNS: usize = 400;

/// Makes the rule with the bug for a setup.
type Plant = fn(&Setup) -> Box<dyn Rule>;

/// A skin's work: hands the event to the rule, with what it distorts before and after.
trait Skin: Send {
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

fn skinned(setup: &Setup, skin: impl Skin + 'static) -> Box<dyn Rule> {
    Box::new(Skinned { rule: setup.rule(), skin })
}

/// A setting that is not the one that the checkers are told.
fn changed(setup: &Setup, change: fn(&mut Setup)) -> Box<dyn Rule> {
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
struct OneSliceEarly {
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
struct AcceptsLate {
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
struct ForgetsRequests(u32);

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
struct ShiftsLate(Option<u32>);

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
struct DrainsAtOnce;

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
struct LosesASample;

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
fn drifting_tokens(setup: &Setup) -> Box<dyn Rule> {
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
fn leaves_a_gradient(setup: &Setup) -> Box<dyn Rule> {
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
fn renormalises(setup: &Setup) -> Box<dyn Rule> {
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

fn global_divisor(setup: &Setup) -> Box<dyn Rule> {
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

fn members_reversed(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            decisions.iter_mut().filter_map(members).for_each(|members| members.reverse());
        }),
    )
}

/// A gradient is committed a second time.
fn commits_twice(setup: &Setup) -> Box<dyn Rule> {
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
fn weighs_failures(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            for members in decisions.iter_mut().filter_map(members) {
                members.iter_mut().for_each(|member| member.weight = 1.0);
            }
        }),
    )
}

fn drained_twice(setup: &Setup) -> Box<dyn Rule> {
    skinned(
        setup,
        Rewrite(|_: &Event, decisions: &mut Vec<Decision>| {
            if decisions.last() == Some(&Decision::Drained) {
                decisions.push(Decision::Drained);
            }
        }),
    )
}

fn steps_from_zero(setup: &Setup) -> Box<dyn Rule> {
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
fn commits_late(setup: &Setup) -> Box<dyn Rule> {
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
fn slices_too_small(setup: &Setup) -> Box<dyn Rule> {
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

/// (gear, bug, checker that must catch it, how it is planted).
const BUGS: &[(Gear, &str, &str, Plant)] = {
    use Gear::{Asynchronous, BackupWorkers, BoundedStaleness, Gba, KBatch, Synchronous};
    &[
        (Synchronous, "commits one slice early", "ledger", |s| skinned(s, OneSliceEarly::default())),
        (Synchronous, "sums in another order", "slices", members_reversed),
        (Synchronous, "slices are a sample short", "slices", slices_too_small),
        (Synchronous, "drain leaves a gradient", "drain", leaves_a_gradient),
        (Synchronous, "a step is cut after the shift", "drain", |s| skinned(s, ShiftsLate::default())),
        (Synchronous, "forgets requests", "liveness", |s| skinned(s, ForgetsRequests::default())),
        (Gba, "forgets the step back of a lost token", "tokens", drifting_tokens),
        (Gba, "tolerance one too large", "weights", |s| changed(s, |s| s.options.tolerance_steps += 1)),
        (Gba, "tolerance one too small", "weights", |s| {
            changed(s, |s| match s.options.tolerance_steps {
                0 => {}
                _ => s.options.tolerance_steps -= 1,
            })
        }),
        (Gba, "drops raise the others' weight", "ledger", renormalises),
        (Gba, "decays by the token where the version is meant", "weights", |s| {
            changed(s, |s| {
                if s.options.decay == DecayKind::VersionPower {
                    s.options.decay = DecayKind::Power;
                }
            })
        }),
        (Gba, "version tokens in place of positions", "tokens", |s| {
            changed(s, |s| s.options.tokens = TokenKind::Version)
        }),
        (Gba, "commits one batch early", "sizes", |s| {
            changed(s, |s| s.at.batch.global = (s.global() - s.local()).max(s.local()))
        }),
        (Gba, "sums in another order", "sizes", members_reversed),
        (Gba, "failed gradients have weight", "weights", weighs_failures),
        (Gba, "a gradient is committed twice", "ledger", commits_twice),
        (Gba, "drain leaves a gradient", "drain", leaves_a_gradient),
        (Gba, "grants beyond the full global batch", "drain", |s| skinned(s, ShiftsLate::default())),
        (Gba, "forgets requests", "prompt", |s| skinned(s, ForgetsRequests::default())),
        (Gba, "loses a sample of each arrival", "prompt", |s| skinned(s, LosesASample)),
        (Synchronous, "commits late", "slices", commits_late),
        (BackupWorkers, "commits late", "backups", commits_late),
        (KBatch, "commits late", "sizes", commits_late),
        (Asynchronous, "divisor G", "ledger", global_divisor),
        (Asynchronous, "waits for a second push", "sizes", commits_late),
        (Asynchronous, "counts steps from 0 after a resume", "steps", steps_from_zero),
        (Asynchronous, "drained at once", "drain", |s| skinned(s, DrainsAtOnce)),
        (Asynchronous, "drained twice", "drain", drained_twice),
        (BoundedStaleness, "bound one too large", "bound", |s| changed(s, |s| s.options.bound_clocks += 1)),
        (BoundedStaleness, "bound one too small", "bound", |s| {
            changed(s, |s| match s.options.bound_clocks {
                0 => {}
                _ => s.options.bound_clocks -= 1,
            })
        }),
        (BoundedStaleness, "drained at once", "drain", |s| skinned(s, DrainsAtOnce)),
        (BackupWorkers, "accepts a late gradient", "backups", |s| skinned(s, AcceptsLate::default())),
        (BackupWorkers, "takes one gradient less", "backups", |s| changed(s, |s| s.options.backups += 1)),
        (BackupWorkers, "takes one gradient more", "backups", |s| {
            changed(s, |s| match s.options.backups {
                0 => {}
                _ => s.options.backups -= 1,
            })
        }),
        (BackupWorkers, "drain leaves a gradient", "drain", leaves_a_gradient),
        (BackupWorkers, "a step begins after the shift", "drain", |s| skinned(s, ShiftsLate::default())),
        (KBatch, "commits at K - 1", "sizes", |s| {
            changed(s, |s| {
                let k = s.per_step() as u32;
                s.options.k_batches = Some((k - 1).max(1));
            })
        }),
        (KBatch, "decays like gba", "tokens", |s| changed(s, |s| s.gear = Gear::Gba)),
        (KBatch, "drain leaves a gradient", "drain", leaves_a_gradient),
    ]
};

/// The same setups in every run of the test.
fn runner() -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    TestRunner::new_with_rng(Config::default(), rng)
}

/// In which run the checker catches the bug first, and in how many it does.
fn caught(gear: Gear, checker: &str, plant: Plant) -> (Option<usize>, usize) {
    let mut runner = runner();
    let strategy = setups(gear);
    let (mut first, mut times) = (None, 0);
    for index in 0..RUNS {
        let setup = strategy.new_tree(&mut runner).unwrap().current();
        let found = run(&setup, plant(&setup)).err().unwrap_or_default();
        if found.iter().any(|violation| violation.checker == checker) {
            first = first.or(Some(index));
            times += 1;
        }
    }
    (first, times)
}

#[test]
fn every_planted_bug_is_caught_by_its_checker() {
    let mut missed = Vec::new();
    for &(gear, bug, checker, plant) in BUGS {
        let (first, times) = caught(gear, checker, plant);
        match first {
            Some(first) => println!("{gear:18} {bug:48} {checker:8} run {first:3}, {times} of {RUNS}"),
            None => missed.push(format!("{gear}: {bug} ({checker})")),
        }
    }
    assert!(missed.is_empty(), "not caught: {missed:#?}");
}

/// Without a bug no checker complains: what is caught above is the bug.
#[test]
fn without_a_bug_nothing_is_caught() {
    for gear in Gear::ALL {
        let mut runner = runner();
        for _ in 0..RUNS {
            let setup = setups(gear).new_tree(&mut runner).unwrap().current();
            run(&setup, setup.rule()).unwrap();
        }
    }
}

#[test]
fn every_gear_and_every_checker_has_a_bug() {
    for gear in Gear::ALL {
        assert!(BUGS.iter().any(|bug| bug.0 == gear), "{gear} has no planted bug");
    }
    let checkers: BTreeSet<_> = BUGS.iter().map(|bug| bug.2).collect();
    let all = crate::checks::names();
    let idle: Vec<_> = all.iter().filter(|name| !checkers.contains(*name)).collect();
    assert!(idle.is_empty(), "no planted bug shows what these are for: {idle:?}");
}
