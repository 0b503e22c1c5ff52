//! The anchors: gears that must come to the same parameters do, and neither servers nor the order of messages
//! change a bit where they must not.

use gearshift_coordination::{BatchOptions, DecayKind, Gear};
use gearshift_embedding::{OptimizerKind, ShardDigest};
use gearshift_types::Step;

use crate::driver::inspect::largest_difference;
use crate::driver::{Data, Job, Order, Run, check_books, optimizer};

/// 50 global batches of 32 in blocks that fit no batch.
fn fifty_steps() -> Data {
    Data::new(3, &[&[61, 7, 100, 32, 500, 1, 299, 600]])
}

fn finished(job: &Job, order: Order) -> Run {
    let mut run = Run::new(job, order);
    run.finish();
    check_books(&run, "undisturbed");
    run
}

fn digest(job: &Job, order: Order) -> ShardDigest {
    finished(job, order).digest()
}

#[test]
fn gba_without_staleness_is_synchronous_is_one_worker_with_the_global_batch() {
    for kind in [OptimizerKind::Sgd, OptimizerKind::Adagrad, OptimizerKind::Adam] {
        let run = |gear, workers, local| {
            let mut job = Job::new(fifty_steps(), gear, workers, 2);
            job.update = optimizer(kind);
            job.scheduler.batch = BatchOptions { global: 32, local };
            let run = finished(&job, Order::LockStep);
            assert_eq!(run.scheduler.step(), Step(50), "{gear}");
            let stale = run.scheduler.figures().version_staleness_steps.max();
            assert_eq!(stale, Some(0), "{gear} with {workers} workers must not see staleness here");
            run
        };
        let one = run(Gear::Synchronous, 1, 32);
        let (dense, rows) = one.parameters();
        let start = Run::new(&one.job, Order::LockStep).parameters().0;
        let moved = largest_difference(&start, &dense);
        assert!(moved > 0.03, "{kind:?} moved dense parameters by {moved} only: nothing is compared");
        for (gear, workers, local) in [
            (Gear::Synchronous, 4, 8),
            (Gear::Gba, 4, 8),
            (Gear::Gba, 2, 8),
            (Gear::Gba, 1, 32),
            (Gear::KBatch, 4, 8),
        ] {
            let (other_dense, other_rows) = run(gear, workers, local).parameters();
            let dense = largest_difference(&dense, &other_dense);
            let rows = largest_difference(&rows, &other_rows);
            println!(
                "{kind:?}, {gear} x {workers} against one worker: dense {dense:.1e}, rows {rows:.1e} \
                 (dense moved {moved:.2})"
            );
            assert!(dense < 2e-5 && rows < 2e-5, "{kind:?}, {gear}: dense {dense:e}, rows {rows:e}");
        }
    }
}

#[test]
fn asynchronous_is_gba_with_one_batch_per_step_and_no_decay() {
    for workers in [1, 3, 4] {
        for seed in 0..10 {
            let run = |gear| {
                let mut job = Job::new(Data::random(seed, 2, 300), gear, workers, 2);
                job.scheduler.batch = BatchOptions { global: 8, local: 8 };
                job.scheduler.gears.decay = DecayKind::None;
                finished(&job, Order::random(seed))
            };
            let (asynchronous, gba) = (run(Gear::Asynchronous), run(Gear::Gba));
            assert_eq!(asynchronous.digest(), gba.digest(), "{workers} workers, seed {seed}");
            let stale = asynchronous.scheduler.figures().version_staleness_steps.max();
            assert!(stale > Some(0), "{workers} workers, seed {seed}: a pull overtakes the commit before it");
        }
    }
}

#[test]
fn synchronous_is_the_same_for_any_servers_and_any_order() {
    for clip in [None, Some(0.05)] {
        let mut job = Job::new(Data::random(1, 2, 400), Gear::Synchronous, 3, 1);
        job.update = optimizer(OptimizerKind::Adam);
        let mut unclipped = None;
        if let Some(norm) = clip {
            unclipped = Some(digest(&job, Order::LockStep));
            job = job.clipped(norm);
        }
        let expected = digest(&job, Order::LockStep);
        assert_ne!(Some(&expected), unclipped.as_ref(), "nothing was clipped");
        for servers in [1, 2, 3, 5] {
            for seed in 0..8 {
                let job = job.with_servers(servers);
                let got = digest(&job, Order::random(seed));
                assert_eq!(got, expected, "{servers} servers, seed {seed}, clip {clip:?}");
            }
        }
    }
}

#[test]
fn pulling_ahead_changes_nothing_in_the_synchronous_gear() {
    let mut job = Job::new(Data::random(2, 2, 300), Gear::Synchronous, 3, 2);
    let expected = digest(&job, Order::LockStep);
    job.worker.pull_ahead = true;
    for seed in 0..8 {
        assert_eq!(digest(&job, Order::random(seed)), expected, "seed {seed}");
    }
}

#[test]
fn gba_in_a_fixed_order_is_the_same_for_any_servers() {
    for clip in [None, Some(0.05)] {
        let mut job = Job::new(Data::random(4, 2, 400), Gear::Gba, 3, 1);
        if let Some(norm) = clip {
            job = job.clipped(norm);
        }
        let one = finished(&job, Order::LockStep);
        let stale = one.scheduler.figures().version_staleness_steps.max();
        assert!(stale > Some(0), "three workers and M = 4 must be stale now and then");
        for servers in [2, 3] {
            let several = finished(&job.with_servers(servers), Order::LockStep);
            assert_eq!(one.commits(), several.commits(), "{servers} servers");
            assert_eq!(one.digest(), several.digest(), "{servers} servers");
        }
    }
}
