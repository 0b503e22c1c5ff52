//! `gearshift job`: looks at a job without running it. Also the arguments by which every command names its job.

use std::io::Write;
use std::path::PathBuf;

use super::keys::Keys;
use super::{Job, Problems, key_list, print};

/// How a command line names a job.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobArgs {
    /// Job file (TOML). Without it: a demonstration on generated data.
    pub(crate) job: Option<PathBuf>,
    /// Put a value over that of the file, such as --set batch.local=64 or --set shift.0.at_part=2.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,
}

impl JobArgs {
    /// Reads the job.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub(crate) fn load(&self) -> Result<Job, Problems> {
        Job::load(self.job.as_deref(), &self.sets)
    }
}

/// `gearshift job ...`
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum JobCommand {
    /// List every key of the job file with its default and meaning.
    Keys,
    /// Say everything that is wrong with a job, without running it.
    Check(JobArgs),
    /// Print a job with every default filled in, as a job file.
    Show(JobArgs),
}

/// Runs it, printing to `out`.
///
/// # Errors
/// When the job is wrong or `out` cannot be written.
pub(crate) fn run(command: &JobCommand, out: &mut dyn Write) -> anyhow::Result<()> {
    match command {
        JobCommand::Keys => out.write_all(print::keys_text::<Job>(&Keys::new(key_list::JOB)).as_bytes())?,
        JobCommand::Check(args) => {
            let job = args.load()?;
            for warning in job.warnings() {
                writeln!(out, "warning: {warning}")?;
            }
            writeln!(
                out,
                "{}: no problems; {} parts, {} workers, {} servers, G = {}, B = {}, gear {}",
                job.name,
                job.parts(),
                job.cluster.workers,
                job.cluster.servers,
                job.batch.global,
                job.batch.local,
                job.gear.start,
            )?;
        }
        JobCommand::Show(args) => out.write_all(args.load()?.to_toml()?.as_bytes())?,
    }
    Ok(())
}
