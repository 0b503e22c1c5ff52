//! One part of a comparison on a cluster whose servers are not always at the same step.
#![allow(clippy::unwrap_used, reason = "a test stops at what must not happen")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gearshift_cluster::{OnNonFinite, SchedulerOptions, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_data::options::{DataKind, DataOptions, GeneratorOptions};
use gearshift_embedding::UpdateOptions;
use gearshift_model::ModelOptions;
use gearshift_sim::cluster::{ClusterOptions, NoiseOptions};
use gearshift_sim::compare::{PartRun, Stage, run_part};
use gearshift_sim::parts::PartCache;
use gearshift_types::PartId;

const SAMPLES: u64 = 1024;

/// 8 workers, G = 128, B = 16, over generated data.
fn stage(servers: u32, cluster: ClusterOptions) -> Stage {
    let options = DataOptions {
        kind: DataKind::Generated,
        folder: None,
        train: Vec::new(),
        evaluate: Vec::new(),
        split: None,
        block_rows: 256,
        shuffle: true,
        on_bad_line: Default::default(),
        bad_line_share_max: 0.0,
        generated: GeneratorOptions {
            parts: 2,
            samples_per_part: SAMPLES,
            vocabularies: vec![60, 30],
            dense: 2,
            ..GeneratorOptions::default()
        },
        criteo: Default::default(),
        delimited: None,
    };
    let data = gearshift_data::open(&options, Path::new(""), 5).unwrap();
    Stage {
        parts: Arc::new(PartCache::new(Arc::clone(&data), 0.0, 1 << 20)),
        data,
        model: ModelOptions { embedding_dim: 4, hidden: vec![8], ..ModelOptions::default() },
        update: UpdateOptions::default(),
        scheduler: SchedulerOptions {
            start: Gear::Synchronous,
            gears: GearOptions::default(),
            batch: BatchOptions { global: 128, local: 16 },
            shifts: Vec::new(),
            workers: 8,
            servers,
            parts: 2,
            evaluate_each_part: false,
            final_evaluation: false,
            evaluation_batch: 100,
            lease: Duration::from_secs(60),
            drain: Duration::from_secs(60),
            on_nonfinite: OnNonFinite::Stop,
            clip_norm: None,
            checkpoints: false,
            checkpoint_every_samples: None,
            checkpoint_every: None,
            checkpoint_at_part_end: false,
        },
        worker: WorkerOptions::default(),
        cluster,
        trace: None,
        seed: 5,
        evaluation_batch: 100,
    }
}

/// Servers that take long and messages that take very different times.
fn rough() -> ClusterOptions {
    let mut cluster = ClusterOptions::default();
    (cluster.network.latency_us, cluster.network.latency_jitter_us) = (1000.0, 20_000.0);
    (cluster.server.request_us, cluster.server.apply_row_ns) = (500.0, 100_000.0);
    cluster
}

const SHARES: [f64; 12] = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

fn run(stage: &Stage, gear: Gear) -> PartRun {
    run_part(stage, None, PartId(0), gear, &SHARES, &mut |_| {}).unwrap().1
}

#[test]
fn evaluations_see_all_servers_at_one_step() {
    for gear in Gear::ALL {
        let run = run(&stage(4, rough()), gear);
        let shares: Vec<f64> = run.points.iter().map(|point| point.share).collect();
        assert_eq!(shares, [&SHARES[..], &[1.0]].concat(), "{gear}");
        for point in &run.points {
            let share = point.samples as f64 / SAMPLES as f64;
            assert!(share >= point.share && share < point.share + 0.13, "{gear}: {point:?}");
            assert!(point.auc.is_some(), "{gear}: {point:?}");
        }
        let last = run.points.last().unwrap();
        assert_eq!((last.samples, last.step), (SAMPLES, run.report.steps), "{gear}");
    }
}

#[test]
fn synchronous_evaluations_do_not_depend_on_cluster_and_servers() {
    let calm = run(&stage(1, ClusterOptions::default()), Gear::Synchronous);
    let rough = run(&stage(4, rough()), Gear::Synchronous);
    assert_eq!(calm.points, rough.points);
    assert!(rough.report.seconds > calm.report.seconds);
}

/// Batches of each worker, the busiest first.
fn ranks(run: &PartRun) -> Vec<u32> {
    let workers = run.report.figures.workers.iter();
    let mut workers: Vec<(u64, u32)> = workers.map(|(worker, of)| (of.batches, worker.0)).collect();
    workers.sort_unstable_by(|one, other| other.cmp(one));
    workers.into_iter().map(|(_, worker)| worker).collect()
}

#[test]
fn a_worker_keeps_its_speed_from_part_to_part_and_batches_are_drawn_anew() {
    let mut cluster = ClusterOptions::default();
    cluster.speed.jitter = 0.0;
    cluster.speed.noise = Some(NoiseOptions { sigma: 2.0, correlation: 1.0 });
    let two = |cluster| {
        let stage = stage(1, cluster);
        let run = |from, part| run_part(&stage, from, PartId(part), Gear::Gba, &[], &mut |_| {}).unwrap();
        let (state, first) = run(None, 0);
        (first, run(Some(&state), 1).1)
    };
    let (first, second) = two(cluster.clone());
    assert_eq!(ranks(&first)[..3], ranks(&second)[..3], "{:?}", first.report.figures.workers);
    cluster.speed.noise = Some(NoiseOptions { sigma: 0.5, correlation: 0.0 });
    let (first, second) = two(cluster);
    assert_ne!(first.report.seconds, second.report.seconds);
}
