//! Stopping in the middle and going on gives what an undisturbed run gives; a checkpoint at rest predicts as the
//! run did.

use std::path::Path;

use gearshift_cluster::{Notice, Outcome};
use gearshift_coordination::Gear;
use gearshift_model::Metrics;
use gearshift_runtime::offline::{Scorer, for_each_batch};
use gearshift_runtime::report::RunReport;
use gearshift_runtime::{Checkpoint, LocalJob};
use gearshift_types::PartId;

use crate::support::{assert_whole, clip, complete, digests, generated, job, run_watched, with_checkpoints};

fn base(folder: &Path) -> LocalJob {
    let mut job = job(&generated(3, 700), Path::new(""));
    with_checkpoints(&mut job, folder, 2);
    job.scheduler.evaluate_each_part = true;
    clip(&mut job, 0.1);
    job
}

/// Runs until so many batches are trained, then asks to stop.
fn stopped_after(job: LocalJob, batches: u32) -> RunReport {
    let mut trained = 0;
    let report = run_watched(job, move |notice, control| {
        trained += u32::from(matches!(notice, Notice::Trained { .. }));
        if trained >= batches {
            control.stop();
        }
    });
    let report = report.unwrap();
    assert_whole(&report, &format!("stopped after {batches} batches"));
    report
}

#[test]
fn stopping_and_going_on_equals_an_undisturbed_run() {
    let folder = tempfile::tempdir().unwrap();
    let expected = complete(base(&folder.path().join("undisturbed")));
    for (batches, servers) in [(1, 2), (14, 3), (44, 1), (50, 3), (130, 2)] {
        let checkpoints = folder.path().join(format!("stopped-{batches}"));
        let stopped = stopped_after(base(&checkpoints), batches);
        assert_eq!(stopped.outcome, Outcome::Stopped, "after {batches} batches");
        let mut job = base(&checkpoints);
        job.resume = Some(checkpoints);
        job.scheduler.servers = servers;
        let resumed = complete(job);
        assert_eq!(resumed.first_step, stopped.step, "after {batches} batches");
        assert_eq!(resumed.samples, expected.samples, "after {batches} batches");
        assert_eq!(digests(&resumed), digests(&expected), "after {batches} batches, on {servers} servers");
    }
}

#[test]
fn many_stops_in_every_gear_lose_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    for gear in Gear::ALL {
        let checkpoints = folder.path().join(gear.name());
        let mut runs = 0;
        let report = loop {
            let mut job = base(&checkpoints);
            job.scheduler.start = gear;
            job.stragglers = [(1, 10.0)].into();
            job.resume = (runs > 0).then(|| checkpoints.clone());
            job.scheduler.servers = 1 + runs % 3;
            runs += 1;
            let report = stopped_after(job, 25);
            if report.outcome == Outcome::Completed {
                break report;
            }
            assert_eq!(report.outcome, Outcome::Stopped, "{gear}");
            assert!(runs < 100, "{gear} goes on for ever");
        };
        assert!(runs > 2, "{gear}: the stops came too late to test anything");
        assert_eq!((report.samples.read, report.samples.resolved()), (2100, 2100), "{gear}");
    }
}

#[test]
fn a_stop_in_the_middle_of_an_evaluation_keeps_the_trained_part() {
    let folder = tempfile::tempdir().unwrap();
    let expected = digests(&complete(base(&folder.path().join("undisturbed"))));
    let checkpoints = folder.path().join("stopped");
    let stopped = run_watched(base(&checkpoints), |notice, control| {
        if matches!(notice, Notice::EvaluationProgress { .. }) {
            control.stop();
        }
    });
    let stopped = stopped.unwrap();
    assert_eq!((stopped.outcome, stopped.samples.applied), (Outcome::Stopped, 700));
    let mut job = base(&checkpoints);
    job.resume = Some(checkpoints);
    assert_eq!(digests(&complete(job)), expected);
}

#[test]
fn a_checkpoint_predicts_as_the_run_did() {
    let folder = tempfile::tempdir().unwrap();
    for gear in [Gear::Synchronous, Gear::Gba] {
        let mut job = base(&folder.path().join(gear.name()));
        with_checkpoints(&mut job, &folder.path().join(gear.name()), 10);
        job.scheduler.start = gear;
        job.scheduler.checkpoint_at_part_end = true;
        let report = complete(job.clone());
        assert_eq!(report.checkpoints.len(), 3, "one at the end of each part");
        for (part, path) in report.parts.iter().zip(&report.checkpoints).take(2) {
            let checkpoint = Checkpoint::open(Path::new(path)).unwrap();
            checkpoint.verify().unwrap();
            let data = job.data.as_ref();
            let mut scorer = Scorer::open(&checkpoint, data, &job.model, &job.update, job.seed).unwrap();
            let (mut labels, mut predictions) = (Vec::new(), Vec::new());
            let (next, size) = (PartId(part.part + 1), job.scheduler.evaluation_batch);
            for_each_batch(data, next, size, 0.0, |batch, _| {
                predictions.extend(scorer.score(batch)?);
                labels.extend_from_slice(&batch.labels);
                Ok(())
            })
            .unwrap();
            let metrics = Metrics::of(&predictions, &labels).unwrap();
            let evaluation = part.evaluation.unwrap();
            assert_eq!(
                (evaluation.samples, evaluation.auc),
                (700, metrics.auc),
                "{gear}, part {}",
                part.part
            );
            assert_eq!(evaluation.log_loss, metrics.log_loss, "{gear}, part {}", part.part);
        }
    }
}
