//! `gearshift generate`: writes the generated stream as files in Criteo's format.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use gearshift_data::options::DataKind;
use gearshift_data::{teacher_auc, write_criteo_tsv};

use crate::commands::{bar, print};
use crate::job::command::JobArgs;
use crate::tables;

/// Writes the generated data of a job as files in Criteo's tab-separated format, one file per part.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gearshift generate --to data                      the demonstration's data: data/part-0.tsv ...
  gearshift generate job.toml --to data --set data.generated.parts=2
  gearshift generate --teacher                      only print the best AUC that a model could reach")]
pub(crate) struct Generate {
    #[command(flatten)]
    job: JobArgs,
    /// Folder for the files.
    #[arg(long, value_name = "FOLDER", required_unless_present = "teacher")]
    to: Option<PathBuf>,
    /// Print the AUC of the teacher's own probabilities, part by part; write nothing.
    #[arg(long)]
    teacher: bool,
}

/// Samples that the teacher's AUC is taken over.
const TEACHER_SAMPLES: u64 = 200_000;

/// Runs it.
pub(crate) fn run(args: &Generate) -> anyhow::Result<()> {
    // Only the data matter here: shifts at parts that are not generated are no mistake.
    let mut without_shifts = args.job.clone();
    without_shifts.sets.push("shift=[]".to_owned());
    let job = without_shifts.load()?;
    if job.data.kind != DataKind::Generated {
        bail!("data.kind: expected \"generated\", got another; only generated data can be written");
    }
    let options = &job.data.generated;
    if !args.teacher && (options.dense != 13 || options.vocabularies.len() != 26) {
        bail!(
            "Criteo's format has 13 integers and 26 categories, the job's data have {} and {}; change data.generated.dense and data.generated.vocabularies",
            options.dense,
            options.vocabularies.len()
        );
    }
    let mut rows = Vec::new();
    for part in 0..options.parts {
        let samples = TEACHER_SAMPLES.min(options.samples_per_part);
        let auc = teacher_auc(options, job.seed, part, samples);
        let mut row = vec![part.to_string(), tables::count(options.samples_per_part), format!("{auc:.4}")];
        if let Some(folder) = args.to.as_ref().filter(|_| !args.teacher) {
            std::fs::create_dir_all(folder)?;
            let path = folder.join(format!("part-{part}.tsv"));
            let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
            let mut to = BufWriter::with_capacity(1 << 20, file);
            let progress = bar(options.samples_per_part, "rows");
            write_criteo_tsv(options, job.seed, part, &mut to, &mut |done| progress.set_position(done))?;
            to.flush()?;
            progress.finish_and_clear();
            row.push(path.display().to_string());
        }
        rows.push(row);
    }
    let header = ["part", "samples", "best possible AUC", "file"];
    let header = if args.to.is_some() && !args.teacher { &header[..] } else { &header[..3] };
    print(&format!("{}\n", tables::table(header, &rows)))
}
