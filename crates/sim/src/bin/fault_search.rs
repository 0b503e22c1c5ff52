//! Searches for runs in which something does not hold: draws scenarios from seeds and runs them under all checkers.
//! `cargo xtask sim` builds and runs it.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line for developers")]
#![allow(clippy::disallowed_methods, reason = "how long runs take is for people to know")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Parser;
use gearshift_coordination::Gear;
use gearshift_sim::search::{self, Failure, Scenario, Stats, Tracer};
use indicatif::{ProgressBar, ProgressStyle};

const EXAMPLES: &str = "Examples:
  cargo xtask sim --seeds 1000                    all gears and mixed runs, on all cores
  cargo xtask sim --seeds 10000 --gear gba        one gear
  cargo xtask sim --gear gba --seed 12345         one run again
  cargo xtask sim --gear gba --seed 12345 --trace every message of it
  cargo xtask sim --planted                       which checker finds which planted bug";

/// Search for runs in which an invariant does not hold.
#[derive(Parser)]
#[command(name = "cargo xtask sim", after_help = EXAMPLES)]
struct Cli {
    /// Runs of each gear.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Start in this gear alone. Otherwise each gear in turn, and then runs that start in any.
    #[arg(long)]
    gear: Option<Gear>,
    /// One run.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Print what happens in that run.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Threads; as many as there are cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Failures after which the search ends.
    #[arg(long, default_value_t = 5)]
    failures: usize,
    /// Plant bugs and see which checker finds them.
    #[arg(long, conflicts_with_all = ["seed", "gear"])]
    planted: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.planted {
        return planted(cli.seeds);
    }
    match cli.seed {
        Some(seed) => one(cli.gear, seed, cli.trace),
        None => many(&cli),
    }
}

/// One run.
fn one(gear: Option<Gear>, seed: u64, trace: bool) -> ExitCode {
    let scenario = Rc::new(Scenario::new(gear, seed));
    let mut watchers: Vec<Box<dyn gearshift_sim::Watcher>> = Vec::new();
    if trace {
        println!("{:#?}\n{:?}", scenario.setup, scenario.hands);
        watchers.push(Box::new(Tracer(|line: &str| println!("{line}"))));
    }
    match search::run_watched(&scenario, &scenario, watchers, None) {
        Ok(stats) => {
            println!("nothing found: {stats:?}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Many runs, shared out over threads.
fn many(cli: &Cli) -> ExitCode {
    let gears: Vec<Option<Gear>> = match cli.gear {
        Some(gear) => vec![Some(gear)],
        None => Gear::ALL.into_iter().map(Some).chain([None]).collect(),
    };
    let threads = cli.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let total = cli.seeds * gears.len() as u64;
    let bar = bar(total);
    let next = AtomicU64::new(0);
    let mut tables: BTreeMap<u64, (Stats, Duration)> = BTreeMap::new();
    let mut failures: Vec<Failure> = Vec::new();
    // What a panic says is in its failure.
    std::panic::set_hook(Box::new(|_| {}));
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads.max(1) {
            let (sender, next, gears) = (sender.clone(), &next, &gears);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        return;
                    }
                    let (gear, seed) = (number / cli.seeds, cli.from + number % cli.seeds);
                    let began = std::time::Instant::now();
                    let outcome = search::run(&Rc::new(Scenario::new(gears[gear as usize], seed)));
                    if sender.send((gear, outcome, began.elapsed())).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (gear, outcome, took) in receiver {
            bar.inc(1);
            match outcome {
                Ok(stats) => {
                    let entry = tables.entry(gear).or_default();
                    entry.0.add(&stats);
                    entry.1 += took;
                }
                Err(failure) => {
                    bar.suspend(|| println!("{failure}\n"));
                    failures.push(failure);
                    if failures.len() >= cli.failures {
                        next.store(total, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    bar.finish_and_clear();
    let names: Vec<&str> = gears.iter().map(|gear| gear.map_or("any", Gear::name)).collect();
    print_table(&names, &tables);
    if failures.is_empty() {
        println!("\nnothing found in {total} runs");
        return ExitCode::SUCCESS;
    }
    println!("\n{} failures:", failures.len());
    for failure in &failures {
        println!("  {:10} {}", failure.checker, failure.command());
    }
    ExitCode::FAILURE
}

fn bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = "{wide_bar} {pos} of {len} runs, {per_sec}, done in {eta}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn print_table(names: &[&str], tables: &BTreeMap<u64, (Stats, Duration)>) {
    let kinds: Vec<&str> = tables.values().flat_map(|(stats, _)| stats.faults.keys().copied()).collect();
    let kinds: std::collections::BTreeSet<&str> = kinds.into_iter().collect();
    print!(
        "{:18}{:>8}{:>10}{:>10}{:>8}{:>12}",
        "gear", "runs", "virtual h", "commits", "shifts", "roll-backs"
    );
    kinds.iter().for_each(|kind| print!("{:>w$}", kind, w = kind.len() + 2));
    println!("{:>9}{:>10}", "CPU s", "ms / run");
    for (gear, (stats, took)) in tables {
        let hours = stats.seconds / 3600.0;
        let (runs, commits, shifts) = (stats.runs, stats.commits, stats.shifts);
        let name = names.get(*gear as usize).copied().unwrap_or_default();
        print!("{name:18}{runs:>8}{hours:>10.2}{commits:>10}{shifts:>8}{:>12}", stats.roll_backs);
        for kind in &kinds {
            print!("{:>w$}", stats.faults.get(kind).copied().unwrap_or(0), w = kind.len() + 2);
        }
        let seconds = took.as_secs_f64();
        println!("{seconds:>9.1}{:>10.2}", 1e3 * seconds / runs.max(1) as f64);
    }
}

/// Which checker finds which planted bug.
fn planted(seeds: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let mut right = true;
    println!("{:48}{:12}{:12}{:>6}", "bug", "expected", "found by", "seeds");
    for plant in search::planted::all() {
        let found = plant.find(seeds);
        let (by, needed) = match &found {
            Some(found) => (found.failure.checker.as_str(), found.seeds.to_string()),
            None => ("nobody", format!("> {seeds}")),
        };
        println!("{:48}{:12}{by:12}{needed:>6}", plant.bug, plant.checker);
        if by != plant.checker {
            right = false;
            found.into_iter().for_each(|found| println!("    {}", found.failure.message));
        }
    }
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
