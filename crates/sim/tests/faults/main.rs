//! What must hold, in runs drawn from seeds, under single faults, and with planted bugs.

use std::rc::Rc;

use gearshift_coordination::Gear;
use gearshift_sim::search::{Scenario, Stats, Strike, planted, run, single_fault};

/// Runs of each gear. `cargo xtask sim` runs thousands.
const SEEDS: u64 = 200;

fn search(gear: Option<Gear>) -> Stats {
    let mut stats = Stats::default();
    for seed in 0..SEEDS {
        match run(&Rc::new(Scenario::new(gear, seed))) {
            Ok(one) => stats.add(&one),
            Err(failure) => panic!("{failure}"),
        }
    }
    let samples = stats.samples;
    assert_eq!(stats.runs, SEEDS);
    assert_eq!(stats.faults.len(), 6, "kinds of faults that struck: {stats:?}");
    assert!(stats.shifts > 20 && stats.resumed > 5 && stats.roll_backs > stats.resumed, "{stats:?}");
    assert!(samples.failed > 0 && samples.granted_again > 0, "{stats:?}");
    stats
}

#[test]
fn synchronous() {
    search(Some(Gear::Synchronous));
}

#[test]
fn gba() {
    let stats = search(Some(Gear::Gba));
    assert!(stats.samples.dropped > 0, "{stats:?}");
}

#[test]
fn asynchronous() {
    search(Some(Gear::Asynchronous));
}

#[test]
fn bounded_staleness() {
    search(Some(Gear::BoundedStaleness));
}

#[test]
fn backup_workers() {
    let stats = search(Some(Gear::BackupWorkers));
    assert!(stats.samples.discarded > 0, "{stats:?}");
}

#[test]
fn k_batch() {
    search(Some(Gear::KBatch));
}

#[test]
fn any_gear() {
    search(None);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..10 {
        let once = run(&Rc::new(Scenario::new(None, seed)));
        assert_eq!(once, run(&Rc::new(Scenario::new(None, seed))));
    }
}

#[test]
fn every_gear_survives_every_single_fault() {
    for gear in Gear::ALL {
        for strike in Strike::ALL {
            let mut struck = 0;
            for seed in 0..6 {
                let share = [0.02, 0.2, 0.4, 0.5, 0.6, 0.8][seed as usize];
                let scenario = Rc::new(single_fault(gear, seed, strike, share));
                match run(&scenario) {
                    Ok(stats) => struck += stats.faults.values().sum::<u64>(),
                    Err(failure) => panic!("{gear}, {}, seed {seed}: {failure}", strike.name),
                }
            }
            assert!(
                struck >= 4,
                "{gear}, {}: the fault came too late in {} of 6 runs",
                strike.name,
                6 - struck
            );
        }
    }
}

#[test]
fn every_planted_bug_is_found_by_its_checker() {
    for plant in planted::all() {
        let found = plant.find(20);
        let failure = found.map(|found| found.failure);
        let by = failure.as_ref().map(|failure| failure.checker.as_str());
        assert_eq!(by, Some(plant.checker), "{}: {failure:?}", plant.bug);
        let failure = failure.unwrap();
        assert!(failure.message.contains(&format!("{}: ", plant.checker)), "{}", failure.message);
        assert!(failure.command().starts_with("cargo xtask sim"), "{}", failure.command());
    }
}

#[test]
fn every_checker_has_a_planted_bug() {
    for checker in gearshift_sim::checks::NAMES {
        assert!(planted::all().iter().any(|plant| plant.checker == checker), "{checker}");
    }
}
