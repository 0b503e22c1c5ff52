//! The one binary `gearshift`.

mod job;

use clap::Parser;

/// Trains recommendation models on parameter servers and shifts gears while it runs.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Look at a job without running it.
    #[command(subcommand)]
    Job(job::command::JobCommand),
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    match cli.command {
        Command::Job(command) => job::command::run(&command, &mut std::io::stdout().lock()),
    }
}
