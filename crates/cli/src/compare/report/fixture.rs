//! Reports for tests: small ones by hand, and one as large as they come, with figures of a plausible shape.

use gearshift_cluster::{Figures, SampleCounts, StalenessHistogram};
use gearshift_coordination::Gear;
use gearshift_sim::SimReport;
use gearshift_sim::compare::{GradientNorms, Insight, PartRun, Point, Quantiles, Recurrence};

use super::{Branch, CompareReport, FORMAT_VERSION, Rate, RatePoint, Run};

/// A branch that stays in the synchronous gear, itself its reference.
pub(in crate::compare) fn branch(name: &str, runs: &[Run]) -> Branch {
    Branch {
        name: name.to_owned(),
        base: Gear::Synchronous,
        gears: vec![Gear::Synchronous],
        workers: 8,
        local_batch: 64,
        global_batch: 1024,
        settings: Vec::new(),
        reference: 0,
        advice: Vec::new(),
        runs: runs.to_vec(),
    }
}

/// A part with evaluations at shares; 100 seconds, 1000 samples, 10 updates.
pub(in crate::compare) fn part(part: u32, points: &[(f64, Option<f64>)]) -> PartRun {
    let point = |&(share, auc): &(f64, Option<f64>)| Point {
        share,
        samples: u64::from(part) * 1000 + (share * 1000.0) as u64,
        step: 0,
        auc,
        log_loss: Some(0.5),
    };
    let samples = SampleCounts { read: 1000, applied: 1000, ..SampleCounts::default() };
    PartRun {
        part,
        points: points.iter().map(point).collect(),
        report: SimReport {
            gear: Gear::Synchronous,
            workers: 8,
            outcome: None,
            seconds: 100.0,
            steps: 10,
            samples,
            figures: Figures::default(),
            worker_utilization: 0.5,
            server_utilization: 0.1,
            bytes: 0,
        },
    }
}

/// How a made-up branch behaves.
struct Shape {
    name: &'static str,
    base: Gear,
    gears: &'static [Gear],
    reference: usize,
    workers: u32,
    /// Deltas at 5, 10, 25, 50 % and the three ends, in ten thousandths.
    deltas: [f64; 7],
    /// Spread over seeds, in ten thousandths.
    spread: f64,
    /// Samples per second.
    speed: f64,
    /// Share dropped and share discarded.
    lost: (f64, f64),
    /// Mean staleness by token and by version.
    stale: (f64, f64),
    /// Updates per 1024 samples.
    updates: f64,
    settings: &'static [&'static str],
    advice: &'static [&'static str],
}

const fn shape(name: &'static str, base: Gear, gears: &'static [Gear], reference: usize) -> Shape {
    Shape {
        name,
        base,
        gears,
        reference,
        workers: 8,
        deltas: [0.0; 7],
        spread: 1.0,
        speed: 21_300.0,
        lost: (0.0, 0.0),
        stale: (0.0, 0.0),
        updates: 1.0,
        settings: &[],
        advice: &[],
    }
}

const SYNC: Gear = Gear::Synchronous;
const GBA: Gear = Gear::Gba;
const ASYNC: Gear = Gear::Asynchronous;
const CROWD: &str = "16 workers share 16 batches of a step: by version a gradient is about one step old";
const SMALL: &str = "asynchronous: an update averages 64 samples, not the global batch of 1024; gba keeps it";

const SHAPES: [Shape; 14] = [
    shape("synchronous", SYNC, &[SYNC], 0),
    Shape {
        deltas: [-4.0, -3.0, -2.0, 1.0, 2.0, 0.0, 1.0],
        speed: 58_600.0,
        lost: (0.004, 0.0),
        stale: (0.3, 0.6),
        settings: &["batch.local=64"],
        ..shape("gba", SYNC, &[GBA], 0)
    },
    Shape {
        workers: 16,
        deltas: [-9.0, -8.0, -6.0, -4.0, -2.0, -3.0, -1.0],
        speed: 96_100.0,
        lost: (0.031, 0.0),
        stale: (0.9, 1.4),
        settings: &["batch.local=64", "cluster.workers=16", "compare.speed.slow.0.factor=10"],
        advice: &[CROWD],
        ..shape("gba, 16 workers, 2 at 10x", SYNC, &[GBA], 0)
    },
    Shape {
        deltas: [-5.0, -3.0, -3.0, 0.0, 1.0, 0.0, -1.0],
        speed: 39_900.0,
        stale: (0.2, 0.4),
        settings: &["batch.local=64"],
        ..shape("gba and synchronous by turns", SYNC, &[GBA, SYNC], 0)
    },
    Shape {
        deltas: [-7.0, -6.0, -8.0, -7.0, -9.0, -8.0, -7.0],
        speed: 52_000.0,
        lost: (0.0, 0.125),
        settings: &["gear.backup_workers=1"],
        ..shape("backup workers, 1 of 8", SYNC, &[Gear::BackupWorkers], 0)
    },
    Shape {
        deltas: [-12.0, -13.0, -14.0, -13.0, -15.0, -14.0, -16.0],
        speed: 45_600.0,
        lost: (0.0, 0.25),
        settings: &["gear.backup_workers=2"],
        ..shape("backup workers, 2 of 8", SYNC, &[Gear::BackupWorkers], 0)
    },
    Shape {
        deltas: [-240.0, -190.0, -110.0, -70.0, -48.0, -42.0, -40.0],
        spread: 6.0,
        speed: 21_900.0,
        stale: (3.5, 3.5),
        updates: 16.0,
        settings: &["batch.local=64", "gear.bound_clocks=2"],
        ..shape("bounded staleness 2", SYNC, &[Gear::BoundedStaleness], 0)
    },
    Shape {
        deltas: [-11.0, -10.0, -6.0, -5.0, -4.0, -6.0, -5.0],
        spread: 2.0,
        speed: 58_700.0,
        stale: (0.5, 0.9),
        settings: &["batch.local=64"],
        ..shape("k_batch", SYNC, &[Gear::KBatch], 0)
    },
    Shape {
        deltas: [-590.0, -480.0, -310.0, -210.0, -158.0, -144.0, -142.0],
        spread: 14.0,
        speed: 58_900.0,
        stale: (7.1, 7.1),
        updates: 16.0,
        settings: &["batch.local=64"],
        advice: &[SMALL],
        ..shape("asynchronous", SYNC, &[ASYNC], 0)
    },
    Shape {
        workers: 32,
        deltas: [-810.0, -760.0, -650.0, -560.0, -480.0, -410.0, -395.0],
        spread: 40.0,
        speed: 201_000.0,
        stale: (31.2, 31.2),
        updates: 16.0,
        settings: &["batch.local=64", "cluster.workers=32"],
        advice: &[SMALL],
        ..shape("asynchronous, 32 workers <fast & stale>", SYNC, &[ASYNC], 0)
    },
    Shape {
        speed: 58_600.0,
        lost: (0.004, 0.0),
        stale: (0.3, 0.6),
        ..shape("gba throughout", GBA, &[GBA], 10)
    },
    Shape { deltas: [2.0, 1.0, 3.0, 2.0, 3.0, 2.0, 2.0], ..shape("gba, then synchronous", GBA, &[SYNC], 10) },
    Shape {
        speed: 58_900.0,
        spread: 9.0,
        stale: (7.1, 7.1),
        updates: 16.0,
        ..shape("asynchronous throughout", ASYNC, &[ASYNC], 12)
    },
    Shape {
        deltas: [30.0, 42.0, 55.0, 61.0, 66.0, 72.0, 75.0],
        spread: 9.0,
        speed: 58_600.0,
        lost: (0.004, 0.0),
        stale: (0.3, 0.6),
        ..shape("asynchronous, then gba", ASYNC, &[GBA], 12)
    },
];

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
const PLACES: [(u32, f64); 7] = [(0, 0.05), (0, 0.1), (0, 0.25), (0, 0.5), (0, 1.0), (1, 1.0), (2, 1.0)];
const PART: f64 = 400_000.0;
const BASE_PARTS: u32 = 4;

/// Noise between -1 and 1, a function of its arguments.
fn noise(seeds: [u64; 3]) -> f64 {
    let mut state = seeds.iter().fold(0x9e37_79b9_7f4a_7c15u64, |state, seed| {
        (state ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9)).rotate_left(27).wrapping_mul(0x94d0_49bb_1331_11eb)
    });
    state ^= state >> 31;
    (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Staleness around a mean, with a tail.
fn staleness(mean: f64, count: u64) -> StalenessHistogram {
    let mut histogram = StalenessHistogram::default();
    for steps in 0..=((mean * 4.0) as i64 + 1) {
        let weight = if mean < 2.0 {
            (-(steps as f64) / mean.max(0.05)).exp()
        } else {
            (-((steps as f64 - mean) / (mean * 0.35)).powi(2)).exp()
        };
        let count = (weight * count as f64) as u64;
        if count > 0 {
            histogram.0.insert(steps, count);
        }
    }
    histogram
}

fn auc(shape: &Shape, index: usize, seed: u64, place: usize) -> f64 {
    let parts = f64::from(PLACES[place].0) + PLACES[place].1;
    let base = match shape.base {
        Gear::Asynchronous => 0.7305,
        _ => 0.7421,
    };
    let level = base + 0.0042 * parts.sqrt() + 0.0015 * noise([seed, PLACES[place].0.into(), 7]);
    let off =
        if shape.reference == index { 0.0 } else { shape.spread * noise([seed, index as u64, place as u64]) };
    level + (shape.deltas[place] + off) / 1e4
}

fn run(shape: &Shape, index: usize, seed: u64) -> Run {
    let parts = (0..3u32).map(|number| {
        let places = PLACES.iter().enumerate().filter(|(_, (part, _))| *part == number);
        let points = places.map(|(place, (_, share))| Point {
            share: *share,
            samples: (PART * (f64::from(BASE_PARTS + number) + share)) as u64,
            step: 0,
            auc: Some(auc(shape, index, seed, place)),
            log_loss: Some(0.49),
        });
        let of = |share: f64| (share * PART) as u64;
        let (dropped, discarded) = (of(shape.lost.0), of(shape.lost.1));
        let gradients = (PART / 64.0) as u64;
        let mut run = part(BASE_PARTS + number, &[]);
        run.points = points.collect();
        run.report.gear = shape.gears[number as usize % shape.gears.len()];
        run.report.samples = SampleCounts {
            read: PART as u64,
            applied: PART as u64 - dropped - discarded,
            dropped,
            discarded,
            ..SampleCounts::default()
        };
        run.report.seconds = PART / (shape.speed * (1.0 + 0.02 * noise([seed, index as u64, number.into()])));
        run.report.steps = (PART / 1024.0 * shape.updates) as u64;
        run.report.figures.token_staleness_steps = staleness(shape.stale.0, gradients);
        run.report.figures.version_staleness_steps = staleness(shape.stale.1, gradients);
        run
    });
    Run { seed, parts: parts.collect() }
}

/// 14 branches, 5 seeds, 3 parts.
pub(in crate::compare) fn report() -> CompareReport {
    let branch = |(index, shape): (usize, &Shape)| Branch {
        name: shape.name.to_owned(),
        base: shape.base,
        gears: shape.gears.to_vec(),
        workers: shape.workers,
        local_batch: if shape.updates > 1.0 || shape.gears[0] == GBA { 64 } else { 128 },
        global_batch: 1024,
        settings: shape.settings.iter().map(|&setting| setting.to_owned()).collect(),
        reference: shape.reference,
        advice: shape.advice.iter().map(|&advice| advice.to_owned()).collect(),
        runs: SEEDS.iter().map(|seed| run(shape, index, *seed)).collect(),
    };
    let rates = [0.25, 0.5, 1.0, 2.0, 4.0].into_iter().zip([0.7391, 0.7416, 0.7423, 0.7409, 0.7362]);
    let rate = |(factor, auc): (f64, f64)| RatePoint {
        factor,
        sparse: 0.05 * factor,
        dense: 0.001 * factor,
        auc_mean: Some(auc),
        auc_std: Some(0.0003),
    };
    CompareReport {
        format_version: FORMAT_VERSION,
        gearshift_version: "0.1.0".to_owned(),
        name: "clicks".to_owned(),
        job: "name = \"clicks\"\nseed = 1\n\n[data]\nkind = \"criteo\"\nfolder = \"days\" # <eight days>\n\n[batch]\n\
              global = 1024\nlocal = 128\n"
            .to_owned(),
        parts_of_data: 8,
        base_parts: BASE_PARTS,
        parts: 3,
        seeds: SEEDS.to_vec(),
        rate: Rate::Searched { grid: rates.map(rate).collect(), chosen: 2, parts_used: 2 },
        branches: SHAPES.iter().enumerate().map(branch).collect(),
        insight: Some(insight()),
        cluster: "8 workers, 2 servers; 500 us a batch and 40 us a sample, 10 % jitter, worker 1 at 3x; network 0.2 ms, 10 Gbit/s"
            .to_owned(),
    }
}

fn insight() -> Insight {
    let norms = |batches: u32| {
        let around = |level: f64| {
            let spread = 1.0 + 0.9 / f64::from(batches).sqrt();
            Quantiles { p05: level / spread, median: level, p95: level * spread }
        };
        let noise = 1.0 / f64::from(batches * 64);
        GradientNorms {
            batches,
            samples: batches * 64,
            dense: around((0.01 + 9.0 * noise).sqrt()),
            rows: around((0.0004 + 0.6 * noise).sqrt()),
        }
    };
    let recurrence = |global_batches: u32, unique: f64, occurrences: f64| Recurrence {
        global_batches,
        unique,
        occurrences,
    };
    Insight {
        gradient_norms: [1, 2, 4, 8, 16].map(norms).to_vec(),
        recurrence: vec![
            recurrence(1, 0.142, 0.781),
            recurrence(2, 0.187, 0.812),
            recurrence(4, 0.236, 0.841),
            recurrence(8, 0.289, 0.868),
        ],
    }
}
