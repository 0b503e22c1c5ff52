//! Any number of servers gives the same rows, dense parameters, norms and digests, bit for bit.

use crate::support::{Job, KINDS, Numbers, batch, bits, commit, options, spec};
use gearshift_embedding::{Divisor, Store, UpdateOptions};
use gearshift_types::{Commit, Key, Push, Step, TableId};
use proptest::prelude::*;

/// Batches and commits of a run: each commit takes the next 1 to 4 batches with weights, some of them 0.
fn run(seed: u64, commits: u64) -> Vec<(Vec<Push>, Commit, f32)> {
    let (spec, mut numbers, mut id) = (spec(), Numbers(seed), 0);
    let step = |step| {
        let (mut pushes, mut members) = (Vec::new(), Vec::new());
        for _ in 0..1 + numbers.below(4) {
            pushes.push(batch(&spec, id, 40, &mut numbers));
            let weight = [1.0, 1.0, 0.37, 0.0][numbers.below(4) as usize];
            members.push((id, weight));
            id += 1;
        }
        let scale = if numbers.below(3) == 0 { 0.25 } else { 1.0 };
        (pushes, commit(step, &members, 100), scale)
    };
    (0..commits).map(step).collect()
}

fn play(options: &UpdateOptions, servers: u32, run: &[(Vec<Push>, Commit, f32)]) -> (Job, Vec<u64>) {
    let mut job = Job::new(&spec(), options, servers);
    let mut norms = Vec::new();
    for (pushes, commit, scale) in run {
        pushes.iter().for_each(|push| job.hold(push));
        if commit.step.0 % 2 == 0 {
            norms.push(job.squared_norm(commit).to_bits());
        }
        job.apply(commit, *scale);
    }
    (job, norms)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn servers_make_no_difference(seed: u64, kind in 0..5_usize, by_batches: bool, servers in 2..=5_u32) {
        let mut options = options(KINDS[kind]);
        options.divisor = if by_batches { Divisor::IdBatches } else { Divisor::Global };
        options.sparse.weight_decay = 0.01;
        options.sparse.clip_value = Some(0.02);
        let run = run(seed, 6);
        let (mut one, norms_of_one) = play(&options, 1, &run);
        let (mut many, norms) = play(&options, servers, &run);
        prop_assert_eq!(bits(&one.dense()), bits(&many.dense()));
        prop_assert_eq!(one.digest(), many.digest());
        prop_assert_eq!(norms_of_one, norms);
        for key in 0..45_u64 {
            let key = Key(key.wrapping_mul(0x0123_4567_89AB_CDEF));
            for table in [TableId(0), TableId(1)] {
                prop_assert_eq!(bits(&one.pull(table, key)), bits(&many.pull(table, key)));
            }
        }
        prop_assert!(many.shards.iter().all(|shard| shard.held() == 0 && shard.held_bytes() == 0));
    }

    #[test]
    fn neither_arrival_order_nor_pulls_nor_released_batches_matter(seed: u64, kind in 0..5_usize) {
        let options = options(KINDS[kind]);
        let run = run(seed, 4);
        let (plain, _) = play(&options, 2, &run);
        let mut other = Job::new(&spec(), &options, 2);
        let mut numbers = Numbers(seed ^ 1);
        for (pushes, commit, scale) in &run {
            let lost = batch(&spec(), 1_000_000, 40, &mut numbers);
            other.hold(&lost);
            for push in pushes.iter().rev().chain(&pushes[..1]) {
                other.hold(push);
                other.pull(TableId(0), Key(numbers.next()));
            }
            prop_assert!(other.shards.iter_mut().all(|shard| shard.release(lost.batch)));
            other.apply(commit, *scale);
        }
        prop_assert_eq!(plain.digest(), other.digest());
    }

    #[test]
    fn one_member_and_a_sum_of_it_with_nothing_are_the_same(seed: u64, kind in 0..5_usize) {
        let (spec, options) = (spec(), options(KINDS[kind]));
        let mut numbers = Numbers(seed);
        let push = batch(&spec, 0, 40, &mut numbers);
        // The same keys with gradient 0: takes the road of several members.
        let mut nothing = push.clone();
        nothing.batch.0 = 1;
        nothing.dense.fill(0.0);
        nothing.tables.iter_mut().for_each(|table| table.values.fill(0.0));
        let mut jobs = [Job::new(&spec, &options, 1), Job::new(&spec, &options, 1)];
        jobs[0].hold(&push);
        jobs[0].apply(&commit(0, &[(0, 0.37)], 70), 0.5);
        jobs[1].hold(&push);
        jobs[1].hold(&nothing);
        jobs[1].apply(&commit(0, &[(0, 0.37), (1, 1.0)], 70), 0.5);
        prop_assert_eq!(jobs[0].digest(), jobs[1].digest());
    }
}

#[test]
fn the_sum_follows_the_commit() {
    let (spec, options) = (spec(), options(KINDS[0]));
    let digest = |members: &[(u64, f32)]| {
        let mut numbers = Numbers(5);
        let mut job = Job::new(&spec, &options, 1);
        (0..3).for_each(|id| job.hold(&batch(&spec, id, 40, &mut numbers)));
        job.apply(&commit(0, members, 100), 1.0);
        job.digest()
    };
    let in_order = digest(&[(0, 1.0), (1, 0.3), (2, 0.7)]);
    assert_eq!(in_order, digest(&[(0, 1.0), (1, 0.3), (2, 0.7)]));
    // Addition of floats is not associative: another order is another result, but for the first two members.
    assert_ne!(in_order, digest(&[(2, 0.7), (1, 0.3), (0, 1.0)]));
    assert_eq!(in_order, digest(&[(1, 0.3), (0, 1.0), (2, 0.7)]));
}

#[test]
fn with_all_weights_zero_only_the_version_moves() {
    for kind in KINDS {
        let (spec, options) = (spec(), options(kind));
        let mut job = Job::new(&spec, &options, 2);
        let mut numbers = Numbers(9);
        job.hold(&batch(&spec, 0, 40, &mut numbers));
        job.apply(&commit(0, &[(0, 1.0)], 10), 1.0);
        let before = job.digest();
        job.hold(&batch(&spec, 1, 40, &mut numbers));
        // A dropped member need not have arrived.
        let dropped = commit(1, &[(1, 0.0), (2, 0.0)], 10);
        assert_eq!(job.squared_norm(&dropped), 0.0);
        job.apply(&dropped, 1.0);
        assert_eq!(job.digest(), before);
        assert!(job.shards.iter().all(|shard| shard.version() == Step(2) && shard.held() == 0));
    }
}

#[test]
fn norms_are_those_of_the_mean_gradient() {
    let (spec, options) = (spec(), options(KINDS[1]));
    let mut numbers = Numbers(77);
    let mut job = Job::new(&spec, &options, 3);
    let push = batch(&spec, 0, 40, &mut numbers);
    job.hold(&push);
    let rows = push.tables.iter().flat_map(|table| &table.values);
    let expected: f64 = rows.chain(&push.dense).map(|&g| (f64::from(g) * 0.5 / 32.0).powi(2)).sum();
    let got = job.squared_norm(&commit(0, &[(0, 0.5)], 32));
    assert!((got / expected - 1.0).abs() < 1e-5, "{got} {expected}");
}
