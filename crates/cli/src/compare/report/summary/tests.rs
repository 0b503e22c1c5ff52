//! Figures computed by hand.

use gearshift_coordination::Gear;

use super::super::fixture::{branch, part};
use super::super::{CompareReport, Run};
use super::*;

const PARTS: [&[f64]; 2] = [&[0.5, 1.0], &[1.0]];

/// A run over two parts after a base of three, with AUC at half and end of the first and end of the second.
fn run(seed: u64, aucs: [Option<f64>; 3]) -> Run {
    let mut aucs = aucs.into_iter();
    let parts = PARTS.iter().zip(3u32..).map(|(shares, number)| {
        let points: Vec<(f64, Option<f64>)> =
            shares.iter().map(|share| (*share, aucs.next().flatten())).collect();
        part(number, &points)
    });
    Run { seed, parts: parts.collect() }
}

fn staying() -> Branch {
    branch(
        "staying",
        &[run(1, [Some(0.70), Some(0.71), Some(0.72)]), run(2, [Some(0.60), Some(0.61), Some(0.62)])],
    )
}

fn shifted(runs: &[Run]) -> Branch {
    Branch { gears: vec![Gear::Gba], ..branch("shifted", runs) }
}

fn close(of: Option<Moments>, mean: f64, std: Option<f64>, count: usize) -> bool {
    let Some(of) = of else { return false };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    let same = match (of.std, std) {
        (Some(a), Some(b)) => near(a, b),
        (None, None) => true,
        _ => false,
    };
    near(of.mean, mean) && same && of.count == count
}

#[test]
fn deltas_are_paired_by_seed() {
    // Deltas at half: -.04, -.02; at the ends: seed 1 -.01 and +.01, seed 2 -.03 and +.01. Seeds come in another order.
    let branch = shifted(&[
        run(2, [Some(0.58), Some(0.58), Some(0.63)]),
        run(1, [Some(0.66), Some(0.70), Some(0.73)]),
    ]);
    let summary = Summary::new(&branch, Some(&staying()), 3);
    let deltas: Vec<Option<Moments>> = summary.points.iter().map(|point| point.delta).collect();
    let half = 0.5f64.sqrt();
    assert!(close(deltas[0], -0.03, Some(0.02 * half), 2), "{deltas:?}");
    assert!(close(deltas[1], -0.02, Some(0.02 * half), 2));
    assert!(close(deltas[2], 0.01, Some(0.0), 2));
    // Means over ends by seed: 0 and -.01.
    assert!(close(summary.mean_delta, -0.005, Some(0.01 * half), 2), "{:?}", summary.mean_delta);
    assert_eq!(summary.worst_early.map(|(key, _)| key.name()), Some("50 %".to_owned()));
    assert!(close(summary.points[0].auc, 0.62, Some(0.08 * half), 2));
    assert_eq!(
        summary.points.iter().map(|point| point.key.name()).collect::<Vec<_>>(),
        ["50 %", "end 1", "end 2"]
    );
    assert_eq!(summary.points[2].key.parts(), 2.0);
    assert_eq!(summary.points[0].samples, 3500.0);
}

#[test]
fn a_seed_without_a_point_counts_where_it_can() {
    let mut late = run(2, [Some(0.58), None, Some(0.63)]);
    let branch = shifted(&[late.clone(), run(1, [Some(0.66), Some(0.70), Some(0.73)])]);
    let summary = Summary::new(&branch, Some(&staying()), 3);
    // AUC of seed 2 is absent at the first end: one delta there, and the seed is not in the mean over ends.
    assert!(close(summary.points[1].delta, -0.01, None, 1));
    assert!(close(summary.points[2].delta, 0.01, Some(0.0), 2));
    assert!(close(summary.mean_delta, 0.0, None, 1), "{:?}", summary.mean_delta);
    // The point itself is missing.
    late.parts[0].points.truncate(1);
    let summary = Summary::new(&shifted(&[late]), Some(&staying()), 3);
    assert_eq!(summary.points.len(), 3, "the reference has the place");
    assert_eq!((summary.points[1].auc, summary.points[1].delta, summary.mean_delta), (None, None, None));
}

#[test]
fn one_seed_has_no_spread() {
    let branch = shifted(&[run(1, [Some(0.69), Some(0.70), Some(0.71)])]);
    let summary = Summary::new(&branch, Some(&staying()), 3);
    assert!(close(summary.mean_delta, -0.01, None, 1));
    assert_eq!(super::super::text::give_or_take(summary.mean_delta.unwrap()), "-0.0100 +- -");
}

#[test]
fn without_a_reference_there_is_no_delta() {
    let branch = shifted(&[run(9, [Some(0.69), Some(0.70), Some(0.71)])]);
    for reference in [None, Some(staying())] {
        let summary = Summary::new(&branch, reference.as_ref(), 3);
        assert!(summary.points.iter().all(|point| point.delta.is_none() && point.auc.is_some()));
        assert_eq!((summary.mean_delta, summary.worst_early, summary.speed), (None, None, None));
    }
    let empty = Summary::new(&shifted(&[]), Some(&staying()), 3);
    assert_eq!((empty.points.len(), empty.lost_share(), empty.updates_ratio()), (0, None, None));
}

#[test]
fn ledger_speed_and_staleness_over_parts_and_seeds() {
    let mut run = run(1, [Some(0.7); 3]);
    // Two parts of 1000 samples: 150 lost; 50 s and 100 s instead of 100 s each; 160 and 10 updates instead of 10.
    let first = &mut run.parts[0].report;
    first.samples =
        SampleCounts { read: 1000, applied: 850, dropped: 100, discarded: 40, failed: 10, granted_again: 5 };
    (first.seconds, first.steps) = (50.0, 160);
    first.figures.token_staleness_steps.0.extend([(0, 6), (1, 2)]);
    run.parts[1].report.figures.token_staleness_steps.0.extend([(1, 1), (7, 1)]);
    run.parts[1].report.figures.version_staleness_steps.add(3);
    let mut branch = shifted(&[run]);
    branch.workers = staying().workers;
    let summary = Summary::new(&branch, Some(&staying()), 3);
    assert_eq!((summary.lost(), summary.samples.granted_again), (150, 5));
    assert_eq!(summary.lost_share(), Some(0.075));
    // 1850 samples in 150 s; staying: 2000 in 200 s.
    assert!(close(summary.per_second, 1850.0 / 150.0, None, 1));
    assert!(close(summary.speed, 1850.0 / 1500.0, None, 1));
    // Twice as many workers: half of it per worker.
    assert_eq!((summary.updates, summary.updates_ratio()), (Some(170.0), Some(8.5)));
    assert_eq!(
        summary.token.0.iter().map(|(steps, count)| (*steps, *count)).collect::<Vec<_>>(),
        [(0, 6), (1, 3), (7, 1)]
    );
    assert_eq!((summary.token.mean(), summary.token.max()), (1.0, Some(7)));
    assert_eq!(summary.version.mean(), 3.0);
    // Twice as many workers: half of it per worker.
    branch.workers *= 2;
    assert!(close(Summary::new(&branch, Some(&staying()), 3).speed, 1850.0 / 3000.0, None, 1));
}

#[test]
fn parts_of_the_base_do_not_count() {
    let mut branch = staying();
    for run in &mut branch.runs {
        run.parts.insert(0, part(2, &[(1.0, Some(0.1))]));
    }
    assert_eq!(Summary::new(&branch, Some(&staying()), 3), Summary::new(&staying(), Some(&staying()), 3));
}

#[test]
fn a_report_reads_back_as_it_was_written() {
    let report = super::super::fixture::report();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<CompareReport>(&text).unwrap(), report);
    assert_eq!(report.branches.iter().map(|branch| branch.runs.len()).sum::<usize>(), 70);
}
