//! The training benchmark: our windows and PyTorch's in turns.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::BenchArgs;
use super::table::{Measured, Round, render};
use crate::stage::{program, show};
use crate::{cargo, root};

/// What both sides run unless our line says otherwise.
const SHAPE: &str = "26 x 100k, dim 16, 400-400-400";

/// One line of ours.
#[derive(Debug, Deserialize)]
struct OurLine {
    case: String,
    batch: u32,
    workers: u32,
    samples_per_s: f64,
    shape: Option<String>,
}

/// One line of the peer.
#[derive(Debug, Deserialize)]
struct PeerLine {
    batch: u32,
    threads: u32,
    samples_per_s: f64,
}

pub(super) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    program(cargo().args(["bench", "--quiet", "--package", "gearshift", "--bench", "train", "--no-run"]))?;
    let torch = torch_version(args);
    match &torch {
        Some(version) => println!("rival: PyTorch {version} by {}", args.python.display()),
        None => println!(
            "rival: none: {} has no torch; install it (pip install torch) or name another python by --python or \
             GEARSHIFT_BENCH_PYTHON. Ours alone:",
            args.python.display()
        ),
    }
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        let round = round(args, torch.is_some()).with_context(|| format!("round {number}"))?;
        println!("round {number} of {}: {}", args.rounds, round.summary());
        rounds.push(round);
    }
    println!("samples per second, {} windows of {} s each: median [min..max]", args.rounds, args.seconds);
    println!("{}", render(&rounds));
    Ok(())
}

fn torch_version(args: &BenchArgs) -> Option<String> {
    let output =
        Command::new(&args.python).args(["-c", "import torch; print(torch.__version__)"]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn round(args: &BenchArgs, torch: bool) -> anyhow::Result<Round> {
    let seconds = args.seconds.to_string();
    let mut command = cargo();
    command.args(["bench", "--quiet", "--package", "gearshift", "--bench", "train", "--", "--json"]);
    let ours: Vec<OurLine> = lines(command.args(["--seconds", &seconds]))?;
    let mut peer = Vec::new();
    if torch {
        let batches: BTreeSet<u32> = ours.iter().map(|line| line.batch).collect();
        for threads in ours.iter().map(|line| line.workers).collect::<BTreeSet<u32>>() {
            let mut command = Command::new(&args.python);
            command.current_dir(root()).args(["bench/peers/deepfm_torch.py", "--windows", "1"]);
            command.args(["--threads", &threads.to_string(), "--seconds", &seconds, "--batches"]);
            peer.extend(lines::<PeerLine>(command.args(batches.iter().map(u32::to_string)))?);
        }
    }
    Ok(Round {
        ours: ours
            .into_iter()
            .map(|line| Measured {
                shape: line.shape.unwrap_or_else(|| SHAPE.to_owned()),
                case: line.case,
                batch: line.batch,
                parallel: line.workers,
                samples_per_s: line.samples_per_s,
            })
            .collect(),
        peer: peer.into_iter().map(|line| ((line.batch, line.threads), line.samples_per_s)).collect(),
    })
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
    fn lines_that_are_not_ours_are_ignored() {
        let text = "machine: x\n{\"case\":\"w2\",\"batch\":1024,\"workers\":2,\"samples_per_s\":60000,\"extra\":1}\n{}\n";
        let found: Vec<OurLine> = parse(text);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].case.as_str(), found[0].workers), ("w2", 2));
    }
}
