//! What `gearshift simulate` found: the JSON object, and what the tables and the picture are made from.

use std::num::NonZeroUsize;

use gearshift_coordination::{Gear, advice};
use gearshift_sim::SimReport;
use serde::Serialize;

use super::work::{Task, run_all};
use crate::cluster_file::{Cell, Plan};

/// Version of the JSON object.
const FORMAT_VERSION: u32 = 1;

/// The whole result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SimulateReport {
    /// Version of this object.
    pub(crate) format_version: u32,
    /// Version of the program.
    pub(crate) gearshift_version: &'static str,
    /// Name of the cluster.
    pub(crate) name: String,
    /// The cluster file with every default filled in.
    pub(crate) cluster: String,
    /// The tables.
    pub(crate) scenarios: Vec<ScenarioReport>,
    /// The picture, if one was asked for.
    pub(crate) sweep: Option<SweepReport>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ScenarioReport {
    /// Its title.
    pub(crate) name: String,
    /// Its rows.
    pub(crate) runs: Vec<RunReport>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RunReport {
    /// Its name.
    pub(crate) name: String,
    /// Its gear.
    pub(crate) gear: Gear,
    /// Number of workers.
    pub(crate) workers: u32,
    /// Number of servers.
    pub(crate) servers: u32,
    /// Samples of one update.
    pub(crate) global_batch: u32,
    /// Samples of one gradient, outside the synchronous gear.
    pub(crate) local_batch: u32,
    /// Samples in the parameters per virtual second.
    pub(crate) accepted_per_second: f64,
    /// The same over that of the first synchronous run of the scenario; absent when there is none.
    pub(crate) ratio: Option<f64>,
    /// Share of the samples that were dropped, discarded or failed.
    pub(crate) lost_share: f64,
    /// Settings that are allowed and probably not wanted.
    pub(crate) advice: Vec<String>,
    /// All figures.
    pub(crate) report: SimReport,
}

/// Throughput over a changing setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SweepReport {
    /// The setting.
    pub(crate) key: String,
    /// Its values.
    pub(crate) values: Vec<f64>,
    /// One curve for each run.
    pub(crate) series: Vec<SweepSeries>,
}

/// One curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SweepSeries {
    /// Name of the run.
    pub(crate) name: String,
    /// Its gear.
    pub(crate) gear: Gear,
    /// Samples in the parameters per virtual second, by value.
    pub(crate) accepted_per_second: Vec<f64>,
    /// The same over that of the first synchronous run at the same value.
    pub(crate) ratio: Vec<Option<f64>>,
}

impl SimulateReport {
    /// Makes the runs of a plan; those of its sweep when `swept`.
    ///
    /// # Errors
    /// When a run fails.
    pub(super) fn make(
        plan: &Plan,
        swept: bool,
        threads: Option<NonZeroUsize>,
        quiet: bool,
    ) -> anyhow::Result<Self> {
        let mut rows: Vec<(String, &[Cell])> = Vec::new();
        for (name, cells) in &plan.scenarios {
            rows.push((format!("scenario {name:?}"), cells));
        }
        for (value, cells) in plan.sweep.points.iter().filter(|_| swept) {
            rows.push((format!("sweep, {} = {value}", plan.sweep.label), cells));
        }
        let task = |place: &str, cell| Task { place: place.to_owned(), cell };
        let tasks: Vec<Task<'_>> =
            rows.iter().flat_map(|(place, cells)| cells.iter().map(|cell| task(place, cell))).collect();
        let mut reports = run_all(&tasks, threads, quiet)?.into_iter();
        let mut made = rows.iter().map(|(_, cells)| row(cells, &mut reports));
        let scenarios = plan.scenarios.iter().zip(made.by_ref());
        let scenarios =
            scenarios.map(|((name, _), runs)| ScenarioReport { name: name.clone(), runs }).collect();
        let points: Vec<Vec<RunReport>> = made.collect();
        Ok(Self {
            format_version: FORMAT_VERSION,
            gearshift_version: env!("CARGO_PKG_VERSION"),
            name: plan.file.name.clone(),
            cluster: toml::to_string(&plan.file)?,
            scenarios,
            sweep: swept.then(|| sweep(plan, &points)),
        })
    }
}

fn row(cells: &[Cell], reports: &mut impl Iterator<Item = SimReport>) -> Vec<RunReport> {
    let mut runs: Vec<RunReport> = cells
        .iter()
        .zip(reports)
        .map(|(cell, report)| RunReport {
            name: cell.run.clone(),
            gear: cell.gear,
            workers: cell.file.cluster.workers,
            servers: cell.file.cluster.servers,
            global_batch: cell.file.batch.global,
            local_batch: cell.file.batch.local,
            accepted_per_second: report.accepted_per_second(),
            ratio: None,
            lost_share: report.lost_share(),
            advice: advice_on(cell),
            report,
        })
        .collect();
    let synchronous =
        runs.iter().find(|run| run.gear == Gear::Synchronous).map(|run| run.accepted_per_second);
    for run in &mut runs {
        run.ratio = synchronous.filter(|base| *base > 0.0).map(|base| run.accepted_per_second / base);
    }
    runs
}

fn sweep(plan: &Plan, points: &[Vec<RunReport>]) -> SweepReport {
    let runs = points.first().map_or(0, Vec::len);
    let series = (0..runs).map(|run| {
        let along = || points.iter().map(move |runs| &runs[run]);
        SweepSeries {
            name: points[0][run].name.clone(),
            gear: points[0][run].gear,
            accepted_per_second: along().map(|run| run.accepted_per_second).collect(),
            ratio: along().map(|run| run.ratio).collect(),
        }
    });
    SweepReport {
        key: plan.sweep.label.clone(),
        values: plan.sweep.points.iter().map(|(value, _)| *value).collect(),
        series: series.collect(),
    }
}

fn advice_on(cell: &Cell) -> Vec<String> {
    advice(cell.gear, &cell.file.gear, cell.file.batch, cell.file.cluster.workers)
}

/// What a person who knows the method would point out before the runs of the tables, each thing once.
pub(super) fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for cell in plan.scenarios.iter().flat_map(|(_, cells)| cells) {
        for text in advice_on(cell) {
            let of_gear = text.starts_with(cell.gear.name()) && cell.run == cell.gear.name();
            let warning = if of_gear { text } else { format!("run {:?}: {text}", cell.run) };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}
