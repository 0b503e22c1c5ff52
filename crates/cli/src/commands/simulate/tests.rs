//! `gearshift simulate` as a whole: known throughputs, the same result from any number of threads, what is shown.

use std::num::NonZeroUsize;
use std::path::Path;

use super::report::{SimulateReport, SweepReport};
use super::{draw, report, show};
use crate::cluster_file::ClusterSource;

/// An example, with settings put over it.
fn simulate(file: Option<&str>, sets: &[&str], swept: bool, threads: usize) -> SimulateReport {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate");
    let path = file.map(|file| examples.join(file));
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let plan = ClusterSource::open(path.as_deref(), &sets).unwrap().plan().unwrap();
    SimulateReport::make(&plan, swept, NonZeroUsize::new(threads), true).unwrap()
}

fn ratio(report: &SimulateReport, scenario: &str, run: &str) -> f64 {
    let scenario = report.scenarios.iter().find(|found| found.name == scenario).expect(scenario);
    scenario.runs.iter().find(|found| found.name == run).expect(run).ratio.unwrap()
}

/// Against an independent prototype of the gears (samples per time over those of synchronous, one seed).
#[test]
fn eight_workers_are_as_fast_as_they_should_be() {
    let report = simulate(Some("speed-8.toml"), &["steps=300"], false, 2);
    let expected = [
        ("no straggler", "gba", 1.08),
        ("one worker at 2x", "gba", 1.88),
        ("one worker at 3x", "gba", 2.75),
        ("one worker at 5x", "gba", 4.5),
        ("one worker at 10x", "gba", 8.9),
        ("2 of 8 at 3x", "gba", 2.59),
        ("log-normal 0.3, each batch", "gba", 1.5),
        ("log-normal 0.5, each batch", "gba", 1.9),
        ("log-normal 0.8, each batch", "gba", 2.59),
        ("no straggler", "backup_workers 1", 0.89),
        ("one worker at 3x", "backup_workers 1", 2.44),
        ("no straggler", "backup_workers 2", 0.78),
        ("one worker at 3x", "backup_workers 2", 2.14),
        ("no straggler", "bounded_staleness 2", 1.08),
        ("one worker at 3x", "bounded_staleness 2", 1.0),
        ("one worker at 3x", "asynchronous", 2.75),
        ("one worker at 3x", "k_batch", 2.75),
    ];
    for (scenario, run, expected) in expected {
        let got = ratio(&report, scenario, run);
        assert!((got / expected - 1.0).abs() < 0.04, "{scenario}, {run}: {got:.3}, expected {expected}");
    }
    // What the method promises, whatever the prototype says.
    assert!(ratio(&report, "no straggler", "gba") >= 1.0);
    assert!(ratio(&report, "one worker at 3x", "gba") >= 2.4);
    assert!(ratio(&report, "log-normal 0.8, each batch", "gba") >= 2.3);
    for scenario in &report.scenarios {
        for run in &scenario.runs {
            let kept = run.gear == gearshift_coordination::Gear::BackupWorkers;
            assert_eq!(run.lost_share > 0.0, kept, "{}, {}: {}", scenario.name, run.name, run.lost_share);
        }
    }
    let backup = report.scenarios[0].runs.iter().find(|run| run.name == "backup_workers 1").unwrap();
    assert!((backup.lost_share - 0.12).abs() < 0.01, "{}", backup.lost_share);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let sets = ["steps=20", "batch.global=1024", "batch.local=64", "run.3.set=[\"batch.local=128\"]"];
    let one = simulate(None, &sets, true, 1);
    assert_eq!(one, simulate(None, &sets, true, 3));
    let other = simulate(None, &[&sets[..], &["seed=2"]].concat(), true, 1);
    assert_ne!(one.scenarios, other.scenarios);
}

#[test]
fn a_run_that_fails_is_named() {
    let mut plan = ClusterSource::open(None, &["steps=20".to_owned()]).unwrap().plan().unwrap();
    plan.scenarios[0].1[2].file.batch.local = 7;
    let error = SimulateReport::make(&plan, false, None, true).unwrap_err();
    let message = format!("{error:#}");
    assert!(message.starts_with("scenario \"the cluster as it is\", run \"k_batch\": "), "{message}");
    assert!(message.contains("8192") && message.contains('7'), "{message}");
}

#[test]
fn after_a_crash_of_the_scheduler_it_goes_on() {
    let sets = ["steps=20", "fault.0={at_seconds = 0.5, kind = \"scheduler_crash\", seconds = 1}"];
    let report = simulate(None, &sets, false, 2);
    let calm = simulate(None, &sets[..1], false, 2);
    for (run, calm) in report.scenarios[0].runs.iter().zip(&calm.scenarios[0].runs) {
        assert!(run.accepted_per_second > 0.0 && run.accepted_per_second < calm.accepted_per_second);
    }
}

#[test]
fn tables_and_picture_show_every_run() {
    let sets = ["steps=20", "scenario.0.name=\"a\"", "scenario.1={name=\"b\", set=[\"speed.slow=[]\"]}"];
    let report = simulate(None, &sets, true, 2);
    let text = show::text(&report, None);
    for shown in ["a: 8 workers, 1 server, G = 8,192", "times that of synchronous", "--picture FILE.svg"] {
        assert!(text.contains(shown), "{shown} is not in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
    let SweepReport { values, series, .. } = report.sweep.as_ref().unwrap();
    assert_eq!((values.len(), series.len()), (7, 6));
    assert!(series[1].ratio[6].unwrap() > 5.0 && series[4].ratio[6].unwrap() < 1.5, "{series:?}");
    let picture = draw::picture(&report.name, report.sweep.as_ref().unwrap());
    assert!(picture.starts_with("<svg") && series.iter().all(|series| picture.contains(&series.name)));
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    assert_eq!(json["scenarios"][0]["runs"][1]["gear"], "gba");
    assert!(
        json["scenarios"][0]["runs"][1]["report"]["figures"]["workers"]["7"]["batches"].as_u64() > Some(0)
    );
}

#[test]
fn advice_is_given_once_for_each_run() {
    let plan = ClusterSource::open(None, &["scenario.0.name=a".to_owned(), "scenario.1.name=b".to_owned()]);
    let warnings = report::warnings(&plan.unwrap().plan().unwrap());
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].starts_with("backup_workers: a step accepts 8 - 1 gradients"), "{warnings:?}");
}
