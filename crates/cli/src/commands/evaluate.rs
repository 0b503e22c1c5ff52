//! `gearshift evaluate`: the quality of a checkpoint on a part of the data.

use std::path::PathBuf;

use anyhow::{Context, bail};
use gearshift_data::EVALUATION_PART;
use gearshift_model::Metrics;
use gearshift_runtime::Checkpoint;
use gearshift_runtime::offline::{Scorer, for_each_batch};
use gearshift_runtime::report::Quality;
use gearshift_types::PartId;

use crate::commands::{bar, print};
use crate::job::Job;
use crate::{tables, wiring};

/// Measures a checkpoint on a part of the training data or on the final evaluation set.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift evaluate runs/demo                      the newest checkpoint there
  gearshift evaluate runs/demo/step-000000000384 --part 3
  gearshift evaluate runs/demo --set data.folder=/other/place --json")]
pub(crate) struct Evaluate {
    /// A checkpoint, or a folder of checkpoints (the newest is taken).
    checkpoint: PathBuf,
    /// Part of the training data, from 0. Default: the final evaluation set, or without one the part that the job
    /// would train next; the last part (with a warning) when all are trained.
    #[arg(long)]
    part: Option<u32>,
    /// Put a value over that of the job in the checkpoint.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A checkpoint and the job that made it.
pub(crate) fn open(path: &std::path::Path, sets: &[String]) -> anyhow::Result<(Checkpoint, Job)> {
    let checkpoint = Checkpoint::open(path)?;
    let job = wiring::job_from_text(checkpoint.path(), &checkpoint.manifest().job, sets)?;
    Ok((checkpoint, job))
}

/// Runs it.
pub(crate) fn run(args: &Evaluate) -> anyhow::Result<()> {
    let (checkpoint, mut job) = open(&args.checkpoint, &args.sets)?;
    job.data.shuffle = false;
    let data = wiring::open_data(&job)?;
    let parts = data.parts().len() as u32;
    let (part, name) = match args.part {
        Some(part) if part >= parts => {
            bail!("--part {part}: expected 0 to {}, the job has {parts} parts", parts - 1)
        }
        Some(part) => (PartId(part), data.parts()[part as usize].clone()),
        None if data.has_evaluation() => (EVALUATION_PART, "evaluation set".to_owned()),
        None => {
            let next = checkpoint.manifest().position.part.0;
            let part = next.min(parts - 1);
            (PartId(part), data.parts()[part as usize].clone())
        }
    };
    let position = &checkpoint.manifest().position;
    let begun = position.finished_blocks > 0 || !position.resolved.is_empty();
    if part != EVALUATION_PART && (part < position.part || (part == position.part && begun)) {
        tracing::warn!("the checkpoint has been trained on (some of) {name}: its figures there are too good");
    }
    let mut scorer = Scorer::open(&checkpoint, data.as_ref(), &job.model, &job.optimizer, job.seed)?;
    let (mut labels, mut predictions) = (Vec::new(), Vec::new());
    let progress = bar(1, "read");
    let (size, share_max) = (job.evaluate.batch, job.data.bad_line_share_max);
    let bad = for_each_batch(data.as_ref(), part, size, share_max, |batch, (done, all)| {
        progress.set_length(all);
        progress.set_position(done);
        predictions.extend(scorer.score(batch)?);
        labels.extend_from_slice(&batch.labels);
        Ok(())
    })?;
    progress.finish_and_clear();
    let metrics = Metrics::of(&predictions, &labels).with_context(|| format!("evaluation on {name}"))?;
    if args.json {
        let step = checkpoint.manifest().position.step.0;
        let quality = Quality::from(metrics);
        let value = serde_json::json!({
            "checkpoint": checkpoint.path(), "step": step, "part": name, "bad_lines": bad, "quality": quality,
        });
        return print(&format!("{value}\n"));
    }
    let row = vec![
        name,
        tables::count(metrics.samples),
        tables::number(metrics.auc, 6),
        tables::number(Some(metrics.log_loss), 6),
        tables::number(metrics.normalized_entropy, 6),
        tables::number(metrics.calibration, 4),
        tables::count(bad),
    ];
    let header = ["evaluated on", "samples", "AUC", "log loss", "NE", "calibration", "bad lines"];
    print(&format!("{}\n{}\n", checkpoint.path().display(), tables::table(&header, &[row])))
}
