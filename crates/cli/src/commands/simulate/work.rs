//! Makes runs, several at a time. Each is a function of its settings, so their number changes nothing but the time.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use gearshift_cluster::WorkerOptions;
use gearshift_coordination::Gear;
use gearshift_sim::{MeasureOptions, SimReport, measure};

use crate::cluster_file::Cell;
use crate::commands::bar;

/// A cell and where it belongs, for messages.
pub(super) struct Task<'a> {
    /// Scenario or point of the sweep.
    pub(super) place: String,
    /// What to run.
    pub(super) cell: &'a Cell,
}

/// Runs all tasks; the reports in their order.
///
/// # Errors
/// When a run fails: which one and why.
pub(super) fn run_all(
    tasks: &[Task<'_>],
    threads: Option<NonZeroUsize>,
    quiet: bool,
) -> anyhow::Result<Vec<SimReport>> {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = threads.unwrap_or_else(cores).get().min(tasks.len());
    let bar = if quiet {
        indicatif::ProgressBar::hidden()
    } else {
        bar(tasks.iter().map(|task| batches(task.cell)).sum(), "batches")
    };
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results: Mutex<Vec<Option<anyhow::Result<SimReport>>>> =
        Mutex::new(tasks.iter().map(|_| None).collect());
    let order = longest_first(tasks);
    let work = || {
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                return;
            }
            let task = &tasks[index];
            let result = measure(&options(task.cell))
                .with_context(|| format!("{}, run {:?}", task.place, task.cell.run));
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            bar.inc(batches(task.cell));
            if let Ok(mut results) = results.lock() {
                results[index] = Some(result);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    bar.finish_and_clear();
    let mut results = results.into_inner().map_err(|_| anyhow!("a run ended in a panic"))?;
    // A run that failed comes before those that were left undone because of it.
    results.sort_by_key(|result| !matches!(result, Some(Err(_))));
    results
        .into_iter()
        .map(|result| result.unwrap_or_else(|| Err(anyhow!("a run was left undone"))))
        .collect()
}

/// The order that keeps no thread waiting at the end for a long run begun late.
fn longest_first(tasks: &[Task<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(batches(tasks[index].cell)));
    order
}

/// About how many batches a run computes, which is what it costs.
fn batches(cell: &Cell) -> u64 {
    let file = &cell.file;
    let per_step = match cell.gear {
        Gear::Synchronous => file.cluster.workers.min(file.batch.global),
        _ => file.batch.global / file.batch.local,
    };
    file.steps.saturating_mul(u64::from(per_step))
}

/// What is measured for a cell.
fn options(cell: &Cell) -> MeasureOptions {
    let file = &cell.file;
    let size = &file.cluster;
    MeasureOptions {
        gear: cell.gear,
        gears: file.gear.clone(),
        batch: file.batch,
        workers: size.workers,
        servers: size.servers,
        lease: Duration::from_secs_f64(size.lease_seconds),
        drain: Duration::from_secs_f64(size.drain_seconds),
        worker: WorkerOptions { unacknowledged_max: size.unacknowledged_pushes, pull_ahead: size.pull_ahead },
        cluster: file.options(),
        trace: file.trace.clone(),
        workload: file.workload,
        steps: file.steps,
        seed: file.seed,
    }
}
