//! `gearshift train`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use gearshift_cluster::Outcome;
use gearshift_data::options::DataKind;
use gearshift_runtime::{Control, RunReport};

use crate::commands::{check_writable, print, resume};
use crate::job::Job;
use crate::job::command::JobArgs;
use crate::progress::Watcher;
use crate::{tables, wiring};

/// Trains a job; without a job file a demonstration on generated data.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift train                                   the demonstration: generated data, two shifts
  gearshift train job.toml                          a job of your own
  gearshift train job.toml --set gear.start=gba     with a setting put over that of the file
  gearshift train job.toml --resume                 go on from the job's newest checkpoint
  gearshift train job.toml --json report.json       write the report as JSON

Ctrl-C finishes the step, writes a checkpoint (if the job has a folder for them) and the report;
a second one ends at once. Exit code: 0 completed, 1 failed, 3 stopped before the end.")]
pub(crate) struct Train {
    #[command(flatten)]
    job: JobArgs,
    /// Go on from a checkpoint: a folder, or without a value the newest one in the job's checkpoint folder.
    #[arg(long, value_name = "CHECKPOINT", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,
    /// Write the report as JSON to this file (- for standard output, which then holds nothing else).
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Show neither progress nor tables.
    #[arg(long)]
    quiet: bool,
}

/// Samples that the teacher's AUC is taken over.
const TEACHER_SAMPLES: u64 = 200_000;

/// Runs it. The exit code.
pub(crate) fn run(args: &Train) -> anyhow::Result<u8> {
    let job = args.job.load()?;
    let resume = match &args.resume {
        Some(None) => {
            let folder = job.checkpoint.folder.clone();
            Some(folder.context("--resume without a path needs checkpoint.folder in the job")?)
        }
        Some(Some(path)) => Some(path.clone()),
        None => None,
    };
    let resume = resume.map(|path| resume::check(&job, &path)).transpose()?;
    for warning in job.warnings() {
        tracing::warn!("{warning}");
    }
    for path in report_files(args, &job) {
        if job.output.commit_log.as_ref() == Some(path) {
            bail!("--json {}: that is the file of output.commit_log; name another", path.display());
        }
        check_writable(path)?;
    }
    let data = wiring::open_data(&job)?;
    let local = wiring::local_job(&job, data, resume)?;
    let (control, inbox) = Control::new();
    stop_on_interrupt(control.clone())?;
    let mut watcher = Watcher::new(job.samples(), args.quiet);
    let result = gearshift_runtime::run(&local, &inbox, &mut watcher);
    watcher.finish();
    drop(control);
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            write_failure(args, &job, &error.to_string())?;
            return Err(error.into());
        }
    };
    write(args, &job, &report)?;
    if report.samples.failed > report.samples.read / 100 {
        tracing::warn!(
            "{} of {} samples failed with gradients that are not finite: look at the rates; the parameters may be of no use",
            report.samples.failed,
            report.samples.read
        );
    }
    match &report.outcome {
        Outcome::Completed => Ok(0),
        Outcome::Stopped => Ok(3),
        Outcome::Failed(reason) => bail!("{reason}"),
    }
}

/// The first interrupt stops after the step, the second at once.
fn stop_on_interrupt(control: Control) -> anyhow::Result<()> {
    let mut interrupts = 0;
    ctrlc::set_handler(move || {
        interrupts += 1;
        if interrupts > 1 {
            std::process::exit(130);
        }
        tracing::warn!("stopping after this step; interrupt again to end at once");
        control.stop();
    })
    .context("cannot watch for interrupts")
}

/// Whether the report goes to standard output.
fn is_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Files that the report goes to.
fn report_files<'a>(args: &'a Train, job: &'a Job) -> impl Iterator<Item = &'a PathBuf> {
    args.json.iter().chain(&job.output.json).filter(|path| !is_output(path))
}

/// A run that failed has no report, but says so where one was asked for.
fn write_failure(args: &Train, job: &Job, reason: &str) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(&serde_json::json!({ "outcome": { "failed": reason } }))? + "\n";
    for path in report_files(args, job) {
        std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn write(args: &Train, job: &Job, report: &RunReport) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(report)? + "\n";
    for path in report_files(args, job) {
        std::fs::write(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let to_output = args.json.iter().chain(&job.output.json).any(|path| is_output(path));
    if to_output {
        print(&text)?;
    }
    if !args.quiet && !to_output {
        print(&tables::report(report))?;
        print(&teacher(job, report))?;
    }
    Ok(())
}

/// How far from the best: the AUC of the generator's own probabilities on the part evaluated last.
fn teacher(job: &Job, report: &RunReport) -> String {
    let evaluated = report.parts.iter().rev().find(|part| part.evaluation.is_some());
    let Some(part) = evaluated.filter(|_| job.data.kind == DataKind::Generated) else { return String::new() };
    let options = &job.data.generated;
    let samples = TEACHER_SAMPLES.min(options.samples_per_part);
    let best = gearshift_data::teacher_auc(options, job.seed, part.part + 1, samples);
    let reached = part.evaluation.and_then(|evaluation| evaluation.auc);
    format!(
        "\nGenerated data: on {} the model reaches AUC {}; the generator's own probabilities reach {best:.4}.\n",
        part.evaluated_on.as_deref().unwrap_or("-"),
        tables::number(reached, 4),
    )
}
