//! The properties: all checkers on every gear, and gears that must decide alike.

use gearshift_coordination::{DecayKind, Gear, TokenKind};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::model::run;
use crate::setup::{Setup, setups};

/// Runs per property, unless `PROPTEST_CASES` says otherwise. A failing run prints its setup, made small.
fn config() -> Config {
    let given = Config::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { given.cases } else { 2000 };
    Config { cases, failure_persistence: None, ..given }
}

/// Runs two setups and compares all decisions.
fn decide_alike(one: &Setup, two: &Setup) {
    let one = run(one, one.rule()).unwrap();
    let two = run(two, two.rule()).unwrap();
    assert_eq!(one, two);
}

fn any_gear() -> impl Strategy<Value = Setup> {
    prop::sample::select(Gear::ALL.to_vec()).prop_flat_map(setups)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn synchronous(setup in setups(Gear::Synchronous)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn gba(setup in setups(Gear::Gba)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn asynchronous(setup in setups(Gear::Asynchronous)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn bounded_staleness(setup in setups(Gear::BoundedStaleness)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn backup_workers(setup in setups(Gear::BackupWorkers)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn k_batch(setup in setups(Gear::KBatch)) {
        run(&setup, setup.rule()).unwrap();
    }

    #[test]
    fn asynchronous_is_gba_with_one_batch_per_step_and_no_decay(mut setup in setups(Gear::Gba)) {
        setup.options.decay = DecayKind::None;
        setup.options.tokens = TokenKind::Position;
        setup.at.batch.global = setup.at.batch.local;
        decide_alike(&setup, &Setup { gear: Gear::Asynchronous, ..setup.clone() });
    }

    #[test]
    fn k_batch_is_gba_without_decay(mut setup in setups(Gear::Gba)) {
        setup.options.decay = DecayKind::None;
        setup.options.tokens = TokenKind::Position;
        setup.options.k_batches = None;
        decide_alike(&setup, &Setup { gear: Gear::KBatch, ..setup.clone() });
    }

    #[test]
    fn a_bound_that_is_never_reached_is_asynchronous(mut setup in setups(Gear::BoundedStaleness)) {
        setup.options.bound_clocks = u32::MAX;
        decide_alike(&setup, &Setup { gear: Gear::Asynchronous, ..setup.clone() });
    }

    #[test]
    fn a_run_is_a_function_of_its_events(setup in any_gear()) {
        decide_alike(&setup, &setup);
    }
}
