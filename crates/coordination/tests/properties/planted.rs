//! Bugs planted in correct rules, and the checkers that must catch them. The rules themselves know nothing of it.

use std::collections::BTreeSet;

use gearshift_coordination::{DecayKind, Gear, Rule, TokenKind};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::model::run;
use crate::setup::{Setup, setups};
use crate::skins::*;

/// Runs per bug; most bugs are caught within the first ten.
const RUNS: usize = 400;

/// Makes the rule with the bug for a setup.
type Plant = fn(&Setup) -> Box<dyn Rule>;

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
