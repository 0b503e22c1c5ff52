//! `gearshift simulate`: how fast each gear is on a cluster, in virtual time.

mod draw;
mod report;
mod show;
#[cfg(test)]
mod tests;
mod work;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cluster_file::key_list::CLUSTER_FILE;
use crate::cluster_file::{ClusterFile, ClusterSource};
use crate::commands::{check_writable, print};
use crate::job::keys::Keys;
use crate::job::print::keys_text;
use report::SimulateReport;

/// Measures every gear on a cluster in virtual time: throughput, staleness, samples lost. Nothing is trained.
///
/// The machines and rules are those that train; only the time that batches, messages and servers take is made up, as
/// the cluster file says. A result depends on the file and its seed alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift simulate                                     a demonstration: eight workers, one slow
  gearshift simulate --set speed.slow.0.factor=5         with a setting put over that of the file
  gearshift simulate cluster.toml                        a cluster of your own
  gearshift simulate cluster.toml --picture gears.svg    and a picture of throughput by gear
  gearshift simulate cluster.toml --json -               all figures as JSON on standard output
  gearshift simulate --keys                              every key of a cluster file

examples/simulate holds cluster files to start from. Exit code: 0 completed, 1 failed.")]
pub(crate) struct Simulate {
    /// Cluster file (TOML). Without it: a demonstration, eight workers of which one is slow.
    cluster: Option<PathBuf>,
    /// Put a value over that of the file, such as --set cluster.workers=64 or --set speed.noise.sigma=0.8.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Write all figures as JSON to this file (- for standard output, which then holds nothing else).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw throughput by gear into this SVG file: over the sweep of the file, else over how slow one worker is.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Runs made at the same time; the number of cores when absent. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Show neither progress nor tables.
    #[arg(long)]
    quiet: bool,
    /// List every key of a cluster file with its default and meaning, and do nothing else.
    #[arg(long, conflicts_with_all = ["cluster", "sets", "json", "picture", "threads", "quiet"])]
    keys: bool,
}

/// Runs it.
pub(crate) fn run(args: &Simulate) -> anyhow::Result<()> {
    if args.keys {
        return print(&keys_text::<ClusterFile>(&Keys::new(CLUSTER_FILE)));
    }
    let plan = ClusterSource::open(args.cluster.as_deref(), &args.sets)?.plan()?;
    let json_file = args.json.as_ref().filter(|path| path.as_os_str() != "-");
    if json_file.is_some() && json_file == args.picture.as_ref() {
        bail!("--picture and --json name the same file; name two");
    }
    for path in json_file.into_iter().chain(&args.picture) {
        check_writable(path)?;
    }
    for warning in report::warnings(&plan) {
        tracing::warn!("{warning}");
    }
    let swept = args.picture.is_some() || plan.sweep.written;
    let report = SimulateReport::make(&plan, swept, args.threads, args.quiet)?;
    if let Some(path) = &args.picture {
        let picture = report.sweep.as_ref().map(|sweep| draw::picture(&report.name, sweep));
        write(path, &picture.unwrap_or_default())?;
    }
    let json = args.json.as_ref().map(|_| serde_json::to_string_pretty(&report)).transpose()?;
    if let (Some(path), Some(json)) = (json_file, &json) {
        write(path, &format!("{json}\n"))?;
    }
    match json {
        Some(json) if json_file.is_none() => print(&format!("{json}\n"))?,
        _ if args.quiet => {}
        _ => print(&show::text(&report, args.picture.as_deref()))?,
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
