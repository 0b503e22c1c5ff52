//! A commit log makes the same parameters again, bit for bit, in every gear.

use std::path::Path;

use gearshift_cluster::{PlannedShift, ShiftAt};
use gearshift_coordination::Gear;
use gearshift_runtime::replay::{CommitLog, ReplayJob, replay};
use gearshift_runtime::report::RunReport;
use gearshift_runtime::{Fault, FaultAt, FaultKind, LocalJob};

use crate::support::{clip, complete, digests, generated, job, run_watched, with_checkpoints};

/// Replays the log at `path` and compares.
fn assert_replays(job: &LocalJob, path: &Path, report: &RunReport, described: &str) {
    let log = CommitLog::read(path).unwrap();
    let (data, model) = (job.data.clone(), job.model.clone());
    let replay_job = ReplayJob { data, model, update: job.update.clone(), seed: job.seed };
    let shard = replay(&replay_job, &log, |_, _| {}).unwrap();
    let digest = shard.digest();
    let tables: Vec<_> = digest
        .tables
        .iter()
        .map(|table| (table.name.clone(), table.rows, table.digest.to_string()))
        .collect();
    assert_eq!((tables, digest.dense.to_string()), digests(report), "{described}");
}

fn base(gear: Gear, servers: u32, log: &Path) -> LocalJob {
    let mut job = job(&generated(2, 900), Path::new(""));
    job.scheduler.start = gear;
    job.scheduler.servers = servers;
    job.scheduler.evaluate_each_part = true;
    job.stragglers = [(0, 40.0), (2, 10.0)].into();
    job.worker.pull_ahead = servers == 3;
    job.commit_log = Some(log.to_owned());
    job
}

#[test]
fn every_gear_replays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs/log.jsonl");
    for (turn, gear) in Gear::ALL.into_iter().enumerate() {
        for (servers, norm) in [(1, None), (3, None), (1, Some(0.02)), (3, Some(0.02))] {
            let mut job = base(gear, servers, &path);
            if let Some(norm) = norm {
                clip(&mut job, norm);
            }
            let to = Gear::ALL[(turn + 1) % Gear::ALL.len()];
            job.scheduler.shifts = vec![PlannedShift { at: ShiftAt::Sample(700), to }];
            let report = complete(job.clone());
            assert_eq!(report.shifts.len(), 1, "{gear}: shifts");
            assert_replays(
                &job,
                &path,
                &report,
                &format!("{gear} to {to}, {servers} servers, clip {norm:?}"),
            );
        }
    }
}

#[test]
fn a_log_of_other_servers_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let job = base(Gear::Gba, 2, &path);
    complete(job.clone());
    let replay_job =
        ReplayJob { data: job.data.clone(), model: job.model, update: job.update, seed: job.seed };
    let log = CommitLog::read(&path).unwrap();
    for servers in [1, 3, 4000] {
        let mut other = log.clone();
        other.header.servers = servers;
        let told = replay(&replay_job, &other, |_, _| {}).unwrap_err().to_string();
        assert!(told.contains("servers, got 2"), "{servers}: {told}");
    }
}

#[test]
fn the_last_commit_is_applied_before_the_servers_stop() {
    // With clipping a commit waits for the scale; nothing may end the servers before it has come.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    for turn in 0..20 {
        let mut job = base(Gear::Gba, 3, &path);
        job.scheduler.evaluate_each_part = false;
        job.stragglers.clear();
        clip(&mut job, 0.02);
        let report = complete(job.clone());
        assert_replays(&job, &path, &report, &format!("turn {turn}"));
    }
}

#[test]
fn runs_with_faults_replay() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    for gear in Gear::ALL {
        let mut job = base(gear, 2, &path);
        let fault = |worker, kind, batch| Fault {
            worker,
            kind,
            at: FaultAt::Batch(batch),
            rejoin: Some(std::time::Duration::from_millis(5)),
        };
        job.faults = vec![fault(1, FaultKind::Panic, 2), fault(2, FaultKind::Leave, 3)];
        let report = complete(job.clone());
        assert_replays(&job, &path, &report, &format!("{gear} with faults"));
    }
}

#[test]
fn a_resumed_run_replays_from_the_checkpoint_it_went_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let (path, checkpoints) = (folder.path().join("log.jsonl"), folder.path().join("checkpoints"));
    let mut job = base(Gear::Gba, 2, &path);
    with_checkpoints(&mut job, &checkpoints, 5);
    let mut trained = 0;
    let stopped = run_watched(job.clone(), move |notice, control| {
        trained += u32::from(matches!(notice, gearshift_cluster::Notice::Trained { .. }));
        if trained == 30 {
            control.stop();
        }
    });
    assert_eq!(stopped.unwrap().outcome, gearshift_cluster::Outcome::Stopped);
    // The folder, as a person would say; by the end of the run its newest checkpoint is another one.
    job.resume = Some(checkpoints);
    let report = complete(job.clone());
    assert_replays(&job, &path, &report, "resumed");
}
