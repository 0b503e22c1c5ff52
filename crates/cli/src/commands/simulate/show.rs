//! The tables on the terminal.

use std::path::Path;

use comfy_table::Table;
use gearshift_cluster::StalenessHistogram;

use super::report::{RunReport, ScenarioReport, SimulateReport, SweepReport};
use crate::tables::{count, number, table};

/// All tables; `picture` is the file that one was drawn into.
pub(super) fn text(report: &SimulateReport, picture: Option<&Path>) -> String {
    let mut text = format!(
        "\n{}: samples accepted per virtual second; ratio to synchronous; staleness in steps as mean/95 %/max\n",
        report.name
    );
    for scenario in &report.scenarios {
        text.push_str(&format!("\n{}: {}\n{}\n", scenario.name, size(scenario), rows(scenario)));
    }
    if report.scenarios.len() > 1 {
        text.push_str(&format!("\nAccepted per second, times that of synchronous\n{}\n", overview(report)));
    }
    if let Some(sweep) = &report.sweep {
        text.push_str(&format!("\nAccepted per second by {}\n{}\n", sweep.key, swept(sweep)));
    }
    text.push_str(&match picture {
        Some(path) => format!("\nPicture: {}\n", path.display()),
        None => {
            "\nFor a picture of throughput by gear and straggler strength add --picture FILE.svg\n".to_owned()
        }
    });
    text
}

fn size(scenario: &ScenarioReport) -> String {
    let Some(run) = scenario.runs.first() else { return "no run".to_owned() };
    let some = |number: u32, one: &str| {
        format!("{} {one}{}", count(number.into()), if number == 1 { "" } else { "s" })
    };
    format!(
        "{}, {}, G = {}",
        some(run.workers, "worker"),
        some(run.servers, "server"),
        count(run.global_batch.into())
    )
}

fn rows(scenario: &ScenarioReport) -> Table {
    let rows: Vec<Vec<String>> = scenario.runs.iter().map(row).collect();
    let header = [
        "run",
        "accepted/s",
        "ratio",
        "workers\nbusy",
        "servers\nbusy",
        "token\nstaleness",
        "version\nstaleness",
        "dropped",
        "discarded",
        "lost",
        "steps",
    ];
    table(&header, &rows)
}

fn row(run: &RunReport) -> Vec<String> {
    let samples = &run.report.samples;
    let figures = &run.report.figures;
    vec![
        title(run),
        count(run.accepted_per_second.round() as u64),
        number(run.ratio, 2),
        percent(run.report.worker_utilization),
        percent(run.report.server_utilization),
        staleness(&figures.token_staleness_steps),
        staleness(&figures.version_staleness_steps),
        count(samples.dropped),
        count(samples.discarded),
        percent(run.lost_share),
        count(run.report.steps),
    ]
}

/// The run's name, and its gear unless the name says it.
fn title(run: &RunReport) -> String {
    let gear = run.gear.name();
    if run.name.contains(gear) { run.name.clone() } else { format!("{} ({gear})", run.name) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn staleness(histogram: &StalenessHistogram) -> String {
    match (histogram.quantile(0.95), histogram.max()) {
        // Adding 0 makes a rounded -0 a plain one.
        (Some(most), Some(max)) => {
            format!("{:.2}/{most}/{max}", (histogram.mean() * 100.0).round() / 100.0 + 0.0)
        }
        _ => "-".to_owned(),
    }
}

/// Names with a line for each word: columns stay narrow.
fn narrow(name: &str) -> String {
    name.replace([' ', '_'], "\n")
}

/// Ratios of every scenario and run.
fn overview(report: &SimulateReport) -> Table {
    let names: Vec<String> =
        report.scenarios.iter().take(1).flat_map(|first| &first.runs).map(|run| narrow(&run.name)).collect();
    let header: Vec<&str> = std::iter::once("scenario").chain(names.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = report
        .scenarios
        .iter()
        .map(|scenario| {
            let ratios = scenario.runs.iter().map(|run| number(run.ratio, 2));
            std::iter::once(scenario.name.clone()).chain(ratios).collect()
        })
        .collect();
    table(&header, &rows)
}

/// Throughput of every run at every value.
fn swept(sweep: &SweepReport) -> Table {
    let values: Vec<String> = sweep.values.iter().map(f64::to_string).collect();
    let header: Vec<&str> = std::iter::once("run").chain(values.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = sweep
        .series
        .iter()
        .map(|series| {
            let figures = series.accepted_per_second.iter().map(|figure| count(figure.round() as u64));
            std::iter::once(series.name.clone()).chain(figures).collect()
        })
        .collect();
    table(&header, &rows)
}
