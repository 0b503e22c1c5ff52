//! `cargo xtask bench`: speed, with the machine, the commit and a rival from the same run beside it.
//!
//! Most benchmarks are programs of their crates that print what they measure. The training benchmark is compared:
//! in each round our windows and PyTorch's take turns, so that a change of the machine's pace hits both, and the
//! ratio is taken within the round.
//!
//! # What the two sides print
//! One JSON object a line on standard output; other lines and other fields are ignored.
//! - ours, `cargo bench -p gearshift --bench train -- --json --seconds S --batches B,.. --workers N --cores N`
//!   (built once, then run directly):
//!   `{"case":"gba","batch":1024,"workers":1,"update":2048,"samples_per_s":31000.0,"samples_per_cpu_s":30000.0,
//!   "roofline_samples_per_s":40000.0,"roofline_samples_per_cpu_s":40000.0,"roofline_gflop_per_cpu_s":150.0}`,
//!   optionally `"shape":"26 x 100k, dim 16, 400-400-400"`. One line per case and window of `S` seconds.
//! - PyTorch, `bench/peers/deepfm_torch.py --threads T --windows 1 --seconds S --batches B...`:
//!   `{"batch":1024,"threads":1,"samples_per_s":31000,"samples_per_cpu_s":31000}`, one line per batch size.
//!
//! A line of ours is set against the line of the peer with the same batch size and as many threads as we have
//! workers, both held to that many cores. Ours has a server, a reader and the scheduler on them besides the workers.

mod machine;
mod table;
mod train;

use std::path::PathBuf;

use anyhow::ensure;

use crate::cargo;
use crate::stage::program;

/// Arguments of `cargo xtask bench`.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchArgs {
    /// Which: rows, readers, deepfm, train. All without a name.
    #[arg(value_parser = ["rows", "readers", "deepfm", "train"])]
    pub names: Vec<String>,
    /// Python with torch installed, for the rival of the training benchmark.
    #[arg(long, env = "GEARSHIFT_BENCH_PYTHON", default_value = "python3")]
    pub python: PathBuf,
    /// Length of a training window in seconds.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Rounds of the training benchmark, each with windows of both sides.
    #[arg(long, default_value_t = 5)]
    pub rounds: u32,
    /// Samples of a training batch.
    #[arg(long, value_delimiter = ',', default_value = "1024,4096")]
    pub batches: Vec<u32>,
}

/// Benchmarks that print for themselves: name and package.
const PLAIN: &[(&str, &str)] =
    &[("rows", "gearshift-embedding"), ("readers", "gearshift-data"), ("deepfm", "gearshift-model")];

/// Runs the benchmarks.
///
/// # Errors
/// When one cannot be built or run.
pub fn run(args: &BenchArgs) -> anyhow::Result<()> {
    ensure!(args.rounds > 0, "--rounds: expected at least 1, got 0");
    ensure!(args.seconds > 0.0, "--seconds: expected more than 0, got {}", args.seconds);
    println!("{}", machine::describe());
    if let Some(warning) = machine::busy() {
        println!("{warning}");
    }
    let wanted = |name: &str| args.names.is_empty() || args.names.iter().any(|wanted| wanted == name);
    for (name, package) in PLAIN.iter().filter(|(name, _)| wanted(name)) {
        println!("\n==> {name} ({package})");
        program(cargo().args(["bench", "--quiet", "--package", package, "--bench", name]))?;
    }
    if wanted("train") {
        println!("\n==> train (gearshift)");
        train::run(args)?;
    }
    Ok(())
}
