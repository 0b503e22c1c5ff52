//! `gearshift checkpoint verify|inspect`.

use std::path::{Path, PathBuf};

use gearshift_runtime::Checkpoint;

use crate::commands::print;
use crate::tables;

/// Looks at checkpoints.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Read every file and compare sizes and checksums. Exit code 1 when anything differs.
    Verify(CheckpointArgs),
    /// Say what a checkpoint holds and where its job stood.
    Inspect(CheckpointArgs),
}

/// Which checkpoint, and how to print.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckpointArgs {
    /// A checkpoint, or a folder of checkpoints (the newest is taken).
    path: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(command: &CheckpointCommand) -> anyhow::Result<()> {
    match command {
        CheckpointCommand::Verify(args) => verify(&args.path, args.json),
        CheckpointCommand::Inspect(args) => inspect(&args.path, args.json),
    }
}

fn verify(path: &Path, json: bool) -> anyhow::Result<()> {
    let checkpoint = Checkpoint::open(path)?;
    let bytes = checkpoint.verify()?;
    let (path, step) = (checkpoint.path().display(), checkpoint.manifest().position.step);
    if json {
        let value =
            serde_json::json!({ "path": path.to_string(), "step": step, "bytes": bytes, "whole": true });
        return print(&format!("{value}\n"));
    }
    print(&format!("{path}: whole; step {step}, {}\n", tables::bytes(bytes)))
}

fn inspect(path: &Path, json: bool) -> anyhow::Result<()> {
    let checkpoint = Checkpoint::open(path)?;
    let manifest = checkpoint.manifest();
    if json {
        return print(&format!("{}\n", serde_json::to_string_pretty(manifest)?));
    }
    let position = &manifest.position;
    let samples = &position.samples;
    let mut text = format!(
        "{}\njob {}, format {}, gearshift {}\nstep {}, gear {}, part {}, {} finished blocks in it, {} shifts done, {} of training\n",
        checkpoint.path().display(),
        manifest.job_name,
        manifest.format_version,
        manifest.gearshift_version,
        position.step,
        position.gear,
        position.part.0,
        position.finished_blocks,
        position.shifts_done,
        tables::seconds(position.trained_seconds),
    );
    text.push_str(&format!(
        "samples: {} read, {} applied, {} dropped, {} discarded, {} failed\n\n",
        tables::count(samples.read),
        tables::count(samples.applied),
        tables::count(samples.dropped),
        tables::count(samples.discarded),
        tables::count(samples.failed)
    ));
    let mut rows: Vec<Vec<String>> = manifest
        .tables
        .iter()
        .map(|table| {
            vec![table.name.clone(), table.dim.to_string(), tables::count(table.rows), table.digest.clone()]
        })
        .collect();
    let dense = tables::count(manifest.dense_len);
    rows.push(vec!["dense".to_owned(), "-".to_owned(), dense, manifest.dense_digest.clone()]);
    text.push_str(&format!("{}\n", tables::table(&["table", "dim", "rows", "digest"], &rows)));
    let files: Vec<Vec<String>> = manifest
        .files
        .iter()
        .map(|file| vec![file.name.clone(), tables::bytes(file.bytes), file.sha256.clone()])
        .collect();
    text.push_str(&format!("{}\n", tables::table(&["file", "size", "SHA-256"], &files)));
    print(&text)
}
