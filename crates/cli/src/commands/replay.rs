//! `gearshift replay`: the parameters of a run again, from its commit log, bit for bit.

use std::path::PathBuf;

use anyhow::bail;
use gearshift_runtime::RunReport;
use gearshift_runtime::replay::{CommitLog, ReplayJob, replay};

use crate::commands::{bar, print};
use crate::{tables, wiring};

/// Replays a commit log in one thread and prints the digests of the parameters.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift train job.toml --set output.commit_log=runs/log.jsonl --json report.json
  gearshift replay runs/log.jsonl --compare report.json      exit code 1 unless the digests are equal")]
pub(crate) struct Replay {
    /// The commit log.
    log: PathBuf,
    /// The JSON report of the run; its digests must be the same.
    #[arg(long, value_name = "REPORT")]
    compare: Option<PathBuf>,
    /// Put a value over that of the job in the log (such as data.folder).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(args: &Replay) -> anyhow::Result<()> {
    let log = CommitLog::read(&args.log)?;
    let job = wiring::job_from_text(&args.log, &log.header.job, &args.sets)?;
    let data = wiring::open_data(&job)?;
    let replay_job =
        ReplayJob { data, model: job.model.clone(), update: job.optimizer.clone(), seed: job.seed };
    let progress = bar(1, "commits");
    let shard = replay(&replay_job, &log, |done, all| {
        progress.set_length(all);
        progress.set_position(done);
    })?;
    progress.finish_and_clear();
    let digest = shard.digest();
    let tables: Vec<(String, u64, String)> = digest
        .tables
        .iter()
        .map(|table| (table.name.clone(), table.rows, table.digest.to_string()))
        .collect();
    if args.json {
        let value = serde_json::json!({ "tables": tables, "dense_digest": digest.dense.to_string() });
        print(&format!("{value}\n"))?;
    } else {
        let mut rows: Vec<Vec<String>> = tables
            .iter()
            .map(|(name, rows, digest)| vec![name.clone(), tables::count(*rows), digest.clone()])
            .collect();
        rows.push(vec!["dense".to_owned(), "-".to_owned(), digest.dense.to_string()]);
        print(&format!("{}\n", tables::table(&["table", "rows", "digest"], &rows)))?;
    }
    let Some(path) = &args.compare else { return Ok(()) };
    let report: RunReport = serde_json::from_slice(&std::fs::read(path)?)?;
    let of_run: Vec<(String, u64, String)> =
        report.tables.into_iter().map(|table| (table.name, table.rows, table.digest)).collect();
    if of_run != tables || report.dense_digest != digest.dense.to_string() {
        bail!("{}: the digests of the run differ from those of the replay", path.display());
    }
    print(&format!("equal to {}, bit for bit\n", path.display()))
}
