//! Short runs with settings drawn at random: none may hang, none may lose a sample. A failure names its seed.

use std::path::Path;
use std::time::Duration;

use gearshift_cluster::{Notice, Outcome, PlannedShift, ShiftAt};
use gearshift_coordination::{BatchOptions, DecayKind, Gear, TokenKind};
use gearshift_runtime::{Fault, FaultAt, FaultKind, LocalJob};

use crate::support::{assert_whole, clip, generated, job, random, run_watched, with_checkpoints};

fn gear(state: &mut u64) -> Gear {
    Gear::ALL[random(state) as usize % Gear::ALL.len()]
}

/// One of a job's many shapes.
fn drawn(state: &mut u64, folder: &Path) -> LocalJob {
    let mut below = |bound: u64| random(state) % bound;
    let mut options = generated(1 + below(4) as u32, 1 + below(900));
    options.block_rows = [1, 10, 100, 1000][below(4) as usize];
    let mut job = job(&options, Path::new(""));
    let local = 1 + below(20) as u32;
    job.scheduler.batch = BatchOptions { local, global: local * (1 + below(8) as u32) };
    job.scheduler.workers = 1 + below(6) as u32;
    job.scheduler.servers = 1 + below(3) as u32;
    job.scheduler.evaluate_each_part = below(2) == 0;
    job.scheduler.evaluation_batch = 1 + below(80) as u32;
    job.scheduler.lease = Duration::from_millis(200);
    job.scheduler.drain = Duration::from_millis(1 + below(100));
    job.scheduler.gears.backups = below(u64::from(job.scheduler.workers)) as u32;
    job.scheduler.gears.bound_clocks = below(4) as u32;
    job.scheduler.gears.tolerance_steps = below(4) as u32;
    job.scheduler.gears.k_batches = (below(2) == 0).then_some(1 + below(5) as u32);
    job.scheduler.gears.tokens = if below(4) == 0 { TokenKind::Version } else { TokenKind::Position };
    job.scheduler.gears.decay = if below(3) == 0 { DecayKind::VersionPower } else { DecayKind::Hard };
    job.worker.pull_ahead = below(2) == 0;
    job.worker.unacknowledged_max = 1 + below(3) as u32;
    job.prefetch_blocks = below(4) as u32;
    if below(3) == 0 {
        clip(&mut job, 0.05);
    }
    if below(3) == 0 {
        with_checkpoints(&mut job, folder, 2);
        job.scheduler.checkpoint_at_part_end = below(2) == 0;
        job.scheduler.checkpoint_every_samples = (below(2) == 0).then_some(1 + below(300));
    }
    let workers = u64::from(job.scheduler.workers);
    for _ in 0..below(3) {
        job.stragglers.insert(below(workers) as u32, 1.0 + below(100) as f64);
    }
    for _ in 0..below(4) {
        let kind = if below(2) == 0 { FaultKind::Panic } else { FaultKind::Leave };
        let at = if below(2) == 0 { FaultAt::Batch(below(15)) } else { FaultAt::Sample(below(1500)) };
        let rejoin = (below(3) > 0).then(|| Duration::from_millis(below(30)));
        job.faults.push(Fault { worker: below(workers) as u32, kind, at, rejoin });
    }
    job.scheduler.start = gear(state);
    let mut sample = 0;
    for _ in 0..random(state) % 4 {
        sample += random(state) % 500;
        job.scheduler.shifts.push(PlannedShift { at: ShiftAt::Sample(sample), to: gear(state) });
    }
    job
}

/// Runs drawn from `seeds`; a failing one names its seed.
fn soak(seeds: impl Iterator<Item = u64>) {
    let folder = tempfile::tempdir().unwrap();
    for seed in seeds {
        let mut state = seed;
        let job = drawn(&mut state, &folder.path().join(seed.to_string()));
        let (stop_at, shift_at) = (random(&mut state) % 400, random(&mut state) % 300);
        let to = gear(&mut state);
        let described = format!("seed {seed}: {:?}, faults {:?}", job.scheduler, job.faults);
        let dies = job.faults.iter().any(|fault| fault.rejoin.is_none());
        let total = job.data.parts().len() as u64;
        let mut trained = 0;
        let report = run_watched(job, move |notice, control| {
            trained += u64::from(matches!(notice, Notice::Trained { .. }));
            if trained == stop_at {
                control.stop();
            }
            if trained == shift_at {
                control.shift(to);
            }
        });
        let report = report.unwrap_or_else(|error| panic!("{error}: {described}"));
        assert_whole(&report, &described);
        match report.outcome {
            Outcome::Failed(reason) => {
                assert!(dies && reason.contains("none is left"), "{reason}: {described}");
            }
            Outcome::Completed => {
                assert_eq!(report.samples_left, 0, "{described}");
                assert_eq!(report.parts.len() as u64, total, "{described}");
            }
            Outcome::Stopped => {}
        }
    }
}

#[test]
fn a_few_random_runs() {
    soak(0..40);
}

/// `SOAK_SEEDS=1000..1200 cargo test -p gearshift-runtime --test runs -- --ignored many_random_runs`
#[test]
#[ignore = "minutes; for hunting hangs"]
fn many_random_runs() {
    let seeds = std::env::var("SOAK_SEEDS").unwrap_or_else(|_| "1000..1200".to_owned());
    let (from, to) = seeds.split_once("..").expect("SOAK_SEEDS=from..to");
    soak(from.parse().unwrap()..to.parse().unwrap());
}
