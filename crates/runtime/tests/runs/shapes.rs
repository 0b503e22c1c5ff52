//! Sizes at the edge, in every gear: parts without rows, batches larger than the data, one worker and sixteen.

use std::path::Path;

use gearshift_coordination::{BatchOptions, Gear};
use gearshift_runtime::LocalJob;

use crate::support::{complete, criteo, criteo_lines, generated, job, run_watched};

/// Runs a job in every gear, reading ahead or not; `samples` must be trained.
fn in_every_gear(samples: u64, described: &str, make: impl Fn() -> LocalJob) {
    for gear in Gear::ALL {
        for pull_ahead in [false, true] {
            let mut job = make();
            job.scheduler.start = gear;
            job.worker.pull_ahead = pull_ahead;
            let report = complete(job);
            assert_eq!(report.samples.read, samples, "{described}: {gear}, pull_ahead {pull_ahead}");
            assert_eq!(report.samples.failed, 0, "{described}: {gear}");
        }
    }
}

#[test]
fn parts_without_rows_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rows) in [("empty.tsv", 0), ("one.tsv", 1), ("some.tsv", 90)] {
        std::fs::write(folder.path().join(name), criteo_lines(rows, 9)).unwrap();
    }
    let options = criteo(&["empty.tsv", "some.tsv", "empty.tsv", "one.tsv", "empty.tsv"], &["empty.tsv"], 20);
    in_every_gear(91, "parts without rows", || {
        let mut job = job(&options, folder.path());
        job.scheduler.evaluate_each_part = true;
        job
    });
    let report = complete(job(&options, folder.path()));
    assert_eq!(report.parts.len(), 5);
    assert!(report.incidents.iter().any(|text| text.contains("evaluation set")), "{:?}", report.incidents);
}

#[test]
fn parts_smaller_than_a_global_batch_are_trained_to_the_last_sample() {
    in_every_gear(5 * 23, "parts of 23", || job(&generated(5, 23), Path::new("")));
    in_every_gear(100, "G of 6400", || {
        let mut job = job(&generated(1, 100), Path::new(""));
        job.scheduler.batch = BatchOptions { global: 6400, local: 1600 };
        job
    });
    in_every_gear(100, "G of 1", || {
        let mut job = job(&generated(1, 100), Path::new(""));
        job.scheduler.batch = BatchOptions { global: 1, local: 1 };
        job
    });
}

#[test]
fn blocks_may_be_of_one_row_or_larger_than_the_part() {
    for block_rows in [1, 10_000] {
        let mut options = generated(2, 300);
        options.block_rows = block_rows;
        in_every_gear(600, &format!("block_rows {block_rows}"), || {
            let mut job = job(&options, Path::new(""));
            job.scheduler.evaluate_each_part = true;
            job.prefetch_blocks = 0;
            job
        });
    }
}

#[test]
fn one_worker_and_sixteen() {
    for workers in [1, 16] {
        in_every_gear(1000, &format!("{workers} workers"), || {
            let mut job = job(&generated(2, 500), Path::new(""));
            job.scheduler.workers = workers;
            job.scheduler.gears.backups = if workers == 1 { 0 } else { 3 };
            job.scheduler.evaluate_each_part = true;
            job
        });
    }
}

#[test]
fn held_gradients_that_keep_their_blocks_do_not_stop_the_reading() {
    // A straggler's gradient and the newest ones wait for more, each in a block of its own that nobody else needs.
    for gear in [Gear::Gba, Gear::KBatch] {
        for workers in [2, 5] {
            let mut options = generated(1, 20_000);
            options.block_rows = 1000;
            let mut job = job(&options, Path::new(""));
            job.scheduler.start = gear;
            job.scheduler.workers = workers;
            job.scheduler.evaluation_batch = 1;
            job.prefetch_blocks = 0;
            job.stragglers = [(0, 400.0)].into();
            assert_eq!(complete(job).samples.read, 20_000, "{gear}, {workers} workers");
        }
    }
}

#[test]
fn an_observer_may_steer_as_often_as_it_likes() {
    let mut job = job(&generated(2, 3000), Path::new(""));
    job.scheduler.batch = BatchOptions { global: 16, local: 4 };
    let mut turn = 0;
    let report = run_watched(job, move |notice, control| {
        if matches!(notice, gearshift_cluster::Notice::Trained { .. }) {
            for _ in 0..5 {
                turn += 1;
                control.shift(Gear::ALL[turn % Gear::ALL.len()]);
            }
        }
    });
    let report = report.unwrap();
    assert_eq!(report.samples.resolved(), 6000);
    assert!(report.shifts.len() > 20, "{} shifts", report.shifts.len());
}

#[test]
fn nobody_needs_to_hold_the_control() {
    let job = job(&generated(1, 5000), Path::new(""));
    let (control, inbox) = gearshift_runtime::Control::new();
    drop(control);
    let report = gearshift_runtime::run(&job, &inbox, &mut gearshift_runtime::local::Unobserved).unwrap();
    assert_eq!(report.samples.applied, 5000);
}
