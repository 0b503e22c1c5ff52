//! `gearshift predict`: scores for the rows of files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use gearshift_data::options::{DataKind, OnBadLine, PartFiles};
use gearshift_runtime::offline::{Scorer, for_each_batch};
use gearshift_types::PartId;

use crate::commands::{bar, evaluate};
use crate::wiring;

/// Writes the predicted probability of each row of some files, one a line, in the order of the rows.
///
/// The files have the format of the job's data, the label column included (any valid label will do). A bad line
/// ends the command, so that scores and rows stay aligned.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift predict runs/job rows.tsv.gz > scores.txt
  gearshift predict runs/job/step-000000000384 a.tsv b.tsv --output scores.txt")]
pub(crate) struct Predict {
    /// A checkpoint, or a folder of checkpoints (the newest is taken).
    checkpoint: PathBuf,
    /// Files with rows.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Where the scores go; standard output without it.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Put a value over that of the job in the checkpoint.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
}

/// Runs it.
pub(crate) fn run(args: &Predict) -> anyhow::Result<()> {
    if let Some(output) = args.output.as_ref().filter(|output| args.files.contains(output)) {
        bail!("--output {}: that file is to be read; name another", output.display());
    }
    let (checkpoint, mut job) = evaluate::open(&args.checkpoint, &args.sets)?;
    if job.data.kind == DataKind::Generated {
        bail!("the checkpoint's job trains on generated data; there is no file format to read rows in");
    }
    let files: Result<Vec<PathBuf>, _> = args.files.iter().map(std::path::absolute).collect();
    job.data.train = vec![PartFiles::Several(files?)];
    job.data.evaluate = Vec::new();
    job.data.split = None;
    job.data.shuffle = false;
    job.data.on_bad_line = OnBadLine::Stop;
    let data = wiring::open_data(&job)?;
    let mut scorer = Scorer::open(&checkpoint, data.as_ref(), &job.model, &job.optimizer, job.seed)?;
    // Under another name until it is whole: an error leaves an older output, or an input, as it was.
    let unfinished = args.output.as_ref().map(|path| {
        let mut name = path.as_os_str().to_owned();
        name.push(".unfinished");
        PathBuf::from(name)
    });
    let to: Box<dyn Write> = match &unfinished {
        Some(path) => {
            Box::new(File::create(path).with_context(|| format!("cannot create {}", path.display()))?)
        }
        None => Box::new(std::io::stdout().lock()),
    };
    let mut to = BufWriter::new(to);
    let mut failed = None;
    let progress = bar(1, "read");
    let done = for_each_batch(data.as_ref(), PartId(0), job.evaluate.batch, 0.0, |batch, (done, all)| {
        progress.set_length(all);
        progress.set_position(done);
        for score in scorer.score(batch)? {
            if failed.is_none() {
                failed = writeln!(to, "{score}").err();
            }
        }
        Ok(())
    });
    progress.finish_and_clear();
    let failed = done.map(|_| failed.or(to.flush().err()));
    drop(to);
    if let (Some(from), Some(path)) = (&unfinished, &args.output) {
        if matches!(failed, Ok(None)) {
            std::fs::rename(from, path).with_context(|| format!("cannot write {}", path.display()))?;
        } else {
            let _ = std::fs::remove_file(from);
        }
    }
    match failed? {
        Some(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
