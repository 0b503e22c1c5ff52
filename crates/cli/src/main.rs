//! The one binary `gearshift`: job files, wiring, progress.

mod cluster_file;
mod commands;
mod compare;
mod job;
mod live_line;
mod picture;
mod progress;
mod tables;
mod wiring;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use commands::{
    checkpoint, compare as compare_command, evaluate, generate, predict, replay, simulate, train,
};
use tracing_subscriber::EnvFilter;

/// Trains recommendation models on parameter servers and shifts gears while it runs.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  gearshift train                      a demonstration on generated data
  gearshift train job.toml             train a job
  gearshift job check job.toml         say everything that is wrong with a job
  gearshift job keys                   list every key of a job file
  gearshift evaluate runs/job          measure the newest checkpoint
  gearshift simulate                   which gear is how fast on a cluster, in virtual time

Log output: RUST_LOG=debug gearshift ..."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Train(train::Train),
    Evaluate(evaluate::Evaluate),
    Predict(predict::Predict),
    Generate(generate::Generate),
    Replay(replay::Replay),
    Simulate(simulate::Simulate),
    Compare(compare_command::Compare),
    #[command(subcommand)]
    Checkpoint(checkpoint::CheckpointCommand),
    /// Look at a job without running it.
    #[command(subcommand)]
    Job(job::command::JobCommand),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time()
        .init();
    match run(&cli.command) {
        Ok(code) => ExitCode::from(code),
        // Whoever reads the output has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn run(command: &Command) -> anyhow::Result<u8> {
    match command {
        Command::Train(args) => return train::run(args),
        Command::Evaluate(args) => evaluate::run(args)?,
        Command::Predict(args) => predict::run(args)?,
        Command::Generate(args) => generate::run(args)?,
        Command::Replay(args) => replay::run(args)?,
        Command::Simulate(args) => simulate::run(args)?,
        Command::Compare(args) => compare_command::run(args)?,
        Command::Checkpoint(args) => checkpoint::run(args)?,
        Command::Job(args) => job::command::run(args, &mut std::io::stdout().lock())?,
    }
    Ok(0)
}
