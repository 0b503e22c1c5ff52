//! `cargo xtask`: reads the command line and runs one development command.
#![allow(clippy::print_stderr, reason = "a command line for developers")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::{bench, fix, sim, tidy, verify};

const EXAMPLES: &str = "Examples:
  cargo xtask verify            everything that CI runs; writes nothing to the source tree
  cargo xtask fix               rustfmt, and what clippy can repair by itself
  cargo xtask tidy              the rules of the tree alone, in a second
  cargo xtask sim --seeds 1000  runs with random faults in virtual time, everything that must hold checked
  cargo xtask bench             all benchmarks, with PyTorch beside the training ones
  cargo xtask bench train --python ~/torch/bin/python --rounds 5";

/// Development commands of Gearshift.
#[derive(Parser)]
#[command(name = "cargo xtask", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check everything: format, tidy, clippy, tests, doc tests, docs. Stops at the first failure.
    Verify,
    /// Rewrite what can be rewritten: format and clippy's own repairs.
    Fix,
    /// Check the rules of the tree: crate arrows, module docs, words, file lengths, links.
    Tidy,
    /// Search for faults: random jobs, clusters and faults in virtual time, watched by all checkers.
    Sim(sim::SimArgs),
    /// Run benchmarks (release profile) and print machine, commit and ratios to PyTorch.
    Bench(bench::BenchArgs),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Verify => verify::run(),
        Command::Fix => fix::run(),
        Command::Tidy => tidy::run(),
        Command::Sim(args) => sim::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("xtask: {error:#}");
    ExitCode::FAILURE
}
