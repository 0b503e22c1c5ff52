//! The training benchmark: our windows and PyTorch's in turns, on equally many cores.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::BenchArgs;
use super::table::{Measured, Rate, Round, render};
use crate::stage::show;
use crate::{cargo, root};

/// What both sides run unless our line says otherwise.
const SHAPE: &str = "26 x 100k, dim 16, 400-400-400";

/// Workers of ours, threads of the peer, and cores that each side is held to.
const PARALLEL: [u32; 2] = [1, 2];

/// Settings of the peer that are tried; which is faster differs from machine to machine.
const SETTINGS: [&[&str]; 2] = [&[], &["--cpp-wrapper"]];

/// One line of ours.
#[derive(Debug, Deserialize)]
struct OurLine {
    case: String,
    batch: u32,
    workers: u32,
    /// Samples per update.
    update: u32,
    #[serde(flatten)]
    rate: Rate,
    roofline_samples_per_s: f64,
    roofline_samples_per_cpu_s: f64,
    roofline_gflop_per_cpu_s: f64,
    shape: Option<String>,
}

/// One line of the peer.
#[derive(Debug, Deserialize)]
struct PeerLine {
    batch: u32,
    threads: u32,
    #[serde(flatten)]
    rate: Rate,
}

/// What cargo says of something that it has built.
#[derive(Debug, Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// The peer as it is run: its Python, and for each number of threads its fastest setting.
struct Peer {
    settings: BTreeMap<u32, &'static [&'static str]>,
    batches: BTreeSet<u32>,
}

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    let ours = build()?;
    let peer = match torch_version(&args.python) {
        Some(version) => {
            println!("rival: PyTorch {version} by {}", args.python.display());
            Some(choose(args)?)
        }
        None => {
            println!(
                "rival: none: {} has no torch; install it (pip install torch) or name another python by --python or \
                 GEARSHIFT_BENCH_PYTHON. Ours alone:",
                args.python.display()
            );
            None
        }
    };
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        let round = round(args, &ours, peer.as_ref()).with_context(|| format!("round {number}"))?;
        println!("round {number} of {}: {}", args.rounds, round.summary());
        rounds.push(round);
    }
    println!(
        "\nN workers or N threads are held to N cores. Samples per second, {} windows of {} s each: median \
         [min..max]; ratios are taken within a round. The roofline is the matrix products of the same batches alone, \
         measured around each window; the share is by CPU time.",
        args.rounds, args.seconds
    );
    for (shape, table) in render(&rounds) {
        println!("{shape}\n{table}");
    }
    Ok(())
}

/// Builds our program once, so that a change of the source in the middle of the rounds changes nothing. Its path.
fn build() -> anyhow::Result<PathBuf> {
    let mut command = cargo();
    command.args(["bench", "--package", "gearshift", "--bench", "train", "--no-run"]);
    let messages = lines::<Message>(command.arg("--message-format=json-render-diagnostics"))?;
    benchmark(messages).context("cargo named no program for the benchmark `train`")
}

/// The benchmark among what was built; the command line itself is there too.
fn benchmark(messages: Vec<Message>) -> Option<PathBuf> {
    let is_benchmark = |target: &Target| target.kind.iter().any(|kind| kind == "bench");
    let mut benchmarks =
        messages.into_iter().filter(|message| message.target.as_ref().is_some_and(is_benchmark));
    benchmarks.find_map(|message| message.executable)
}

fn torch_version(python: &Path) -> Option<String> {
    let output = Command::new(python).args(["-c", "import torch; print(torch.__version__)"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The peer's fastest setting for each number of threads, by CPU time; these windows are not counted.
fn choose(args: &BenchArgs) -> anyhow::Result<Peer> {
    let mut peer = Peer { settings: BTreeMap::new(), batches: args.batches.iter().copied().collect() };
    for threads in PARALLEL {
        let mut best = f64::NEG_INFINITY;
        for setting in SETTINGS {
            peer.settings.insert(threads, setting);
            let lines = peer.lines(args, threads)?;
            let speed = lines.iter().map(|line| line.rate.samples_per_cpu_s.ln()).sum::<f64>();
            println!("rival, {threads} threads, {setting:?}: {}", shown(&lines));
            if speed <= best {
                peer.settings.insert(threads, SETTINGS[0]);
            }
            best = best.max(speed);
        }
    }
    Ok(peer)
}

fn shown(lines: &[PeerLine]) -> String {
    let line = |line: &PeerLine| {
        let Rate { samples_per_s, samples_per_cpu_s } = line.rate;
        format!("B={} {samples_per_s:.0}/s ({samples_per_cpu_s:.0} per CPU second)", line.batch)
    };
    lines.iter().map(line).collect::<Vec<_>>().join(", ")
}

impl Peer {
    fn lines(&self, args: &BenchArgs, threads: u32) -> anyhow::Result<Vec<PeerLine>> {
        let mut command = held_to(threads, &args.python);
        command.current_dir(root()).args(["bench/peers/deepfm_torch.py", "--windows", "1"]);
        command.args(["--threads", &threads.to_string(), "--seconds", &args.seconds.to_string()]);
        command.args(self.settings.get(&threads).copied().unwrap_or_default());
        lines(command.arg("--batches").args(self.batches.iter().map(u32::to_string)))
    }
}

/// A command on the first `cores` cores, as our benchmark holds itself by `--cores`.
fn held_to(cores: u32, path: &Path) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(path);
    }
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &format!("0-{}", cores - 1)]).arg(path);
    command
}

fn round(args: &BenchArgs, ours: &Path, peer: Option<&Peer>) -> anyhow::Result<Round> {
    let mut round = Round::default();
    for parallel in PARALLEL {
        let batches: Vec<String> = args.batches.iter().map(u32::to_string).collect();
        let mut command = Command::new(ours);
        command.args(["--json", "--seconds", &args.seconds.to_string(), "--batches", &batches.join(",")]);
        command.args(["--workers", &parallel.to_string()]);
        if cfg!(target_os = "linux") {
            command.args(["--cores", &parallel.to_string()]);
        }
        round.ours.extend(lines::<OurLine>(&mut command)?.into_iter().map(measured));
        if let Some(peer) = peer {
            let lines = peer.lines(args, parallel)?;
            round.peer.extend(lines.into_iter().map(|line| ((line.batch, line.threads), line.rate)));
        }
    }
    Ok(round)
}

fn measured(line: OurLine) -> Measured {
    Measured {
        shape: line.shape.unwrap_or_else(|| SHAPE.to_owned()),
        case: line.case,
        update: line.update,
        batch: line.batch,
        parallel: line.workers,
        rate: line.rate,
        roofline: Rate {
            samples_per_s: line.roofline_samples_per_s,
            samples_per_cpu_s: line.roofline_samples_per_cpu_s,
        },
        gflop_per_s: line.roofline_gflop_per_cpu_s,
    }
}

/// Runs a program and reads the JSON lines of its standard output.
fn lines<T: DeserializeOwned>(command: &mut Command) -> anyhow::Result<Vec<T>> {
    let shown = show(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("`{shown}` cannot be started"))?;
    ensure!(output.status.success(), "`{shown}` ended with {}", output.status);
    let found = parse(&String::from_utf8_lossy(&output.stdout));
    ensure!(!found.is_empty(), "`{shown}` printed no JSON line with the fields of xtask/src/bench/mod.rs");
    Ok(found)
}

fn parse<T: DeserializeOwned>(text: &str) -> Vec<T> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_benchmark_is_told_from_the_command_line() {
        let text = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"x"},"executable":null}
{"reason":"compiler-artifact","target":{"kind":["bench"],"name":"train"},"executable":"/t/train-1"}
{"reason":"compiler-artifact","target":{"kind":["bin"],"name":"gearshift"},"executable":"/t/gearshift"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(benchmark(parse(text)), Some(PathBuf::from("/t/train-1")));
    }

    #[test]
    fn lines_that_are_not_ours_are_ignored() {
        let text = "machine: x\n{\"batch\":1024,\"threads\":2,\"samples_per_s\":60000,\"samples_per_cpu_s\":30000,\
                    \"extra\":1}\n{}\n";
        let found: Vec<PeerLine> = parse(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].threads, found[0].rate.samples_per_s), (2, 60000.0));
    }
}
