//! Samples per second of a whole training run in one process, at the shape of `bench/peers/deepfm_torch.py`.
//!
//! `cargo bench -p gearshift --bench train [-- --help]`. Everything that a run does is inside the window: reading
//! blocks, tokens, pulls, forward and backward, pushes, commits, the updates of rows and dense parameters, staleness
//! and online figures. Only making the samples is not. A window starts when every batch has been trained once, so
//! that no row is created in it. The matrix products that the same batches need run right before and after it, on
//! as many threads as there are workers: the roofline.
#![allow(clippy::print_stdout, reason = "a benchmark")]

mod w1;

use std::time::Instant;

use anyhow::{Context, bail};
use clap::Parser;
use gearshift_cluster::{Notice, Outcome};
use gearshift_coordination::Gear;
use gearshift_runtime::local::{Control, Observer, Progress};
use gearshift_runtime::report::{PartReport, RunReport};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Training windows of a whole job in one process.
#[derive(Parser)]
struct Args {
    /// Print one JSON object a window.
    #[arg(long)]
    json: bool,
    /// Length of a window.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Windows per case; those of different cases take turns.
    #[arg(long, default_value_t = 1)]
    windows: u32,
    /// Samples of a worker's batch.
    #[arg(long, value_delimiter = ',', default_value = "1024,4096")]
    batches: Vec<u32>,
    /// Numbers of workers.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<u32>,
    /// Gears. Samples per update: batch (asynchronous), batch x workers (synchronous), twice that (gba).
    #[arg(long, value_delimiter = ',', default_value = "synchronous,gba")]
    gears: Vec<Gear>,
    /// Run on the first so many processors; without it on all.
    #[arg(long)]
    cores: Option<usize>,
    /// Print where each thread's time went.
    #[arg(long)]
    phases: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) gear: Gear,
    pub(crate) batch: u32,
    pub(crate) workers: u32,
}

/// One window.
#[derive(Clone, Debug, Serialize)]
struct Line {
    case: &'static str,
    shape: &'static str,
    batch: u32,
    workers: u32,
    /// Samples per update.
    update: u32,
    /// Processors that it was held to.
    cores: Option<usize>,
    samples_per_s: f64,
    /// By the CPU time of all threads.
    samples_per_cpu_s: f64,
    /// CPU time over wall time.
    cores_used: f64,
    /// The matrix products alone, on as many threads as workers.
    roofline_samples_per_s: f64,
    roofline_samples_per_cpu_s: f64,
    roofline_gflop_per_cpu_s: f64,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if let Some(cores) = args.cores {
        hold_to(cores)?;
    }
    for _ in 0..args.windows {
        for &batch in &args.batches {
            let data = w1::Data::new(batch as usize);
            for &workers in &args.workers {
                for &gear in &args.gears {
                    let case = Case { gear, batch, workers };
                    let (line, report) = window(case, &data, &args)?;
                    show(&args, &line, &report)?;
                }
            }
        }
    }
    Ok(())
}

fn window(case: Case, data: &w1::Data, args: &Args) -> anyhow::Result<(Line, RunReport)> {
    let job = w1::job(case, data);
    let (control, inbox) = Control::new();
    let mut roofline = w1::roofline(case, 0.1 * args.seconds);
    let mut watch = Watch::new(control, data.samples(), args.seconds);
    let report = gearshift_runtime::run(&job, &inbox, &mut watch)?;
    if report.outcome != Outcome::Stopped {
        bail!("{case:?}: expected a run stopped after its window, got {:?}", report.outcome);
    }
    let after = w1::roofline(case, 0.1 * args.seconds);
    roofline.add(after);
    let (samples, wall, cpu) = watch.result.with_context(|| format!("{case:?}: no window"))?;
    let line = Line {
        case: case.gear.name(),
        shape: w1::SHAPE,
        batch: case.batch,
        workers: case.workers,
        update: job.scheduler.batch.global.min(match case.gear {
            Gear::Asynchronous => case.batch,
            _ => u32::MAX,
        }),
        cores: args.cores,
        samples_per_s: samples as f64 / wall,
        samples_per_cpu_s: samples as f64 / cpu,
        cores_used: cpu / wall,
        roofline_samples_per_s: roofline.samples / roofline.wall,
        roofline_samples_per_cpu_s: roofline.samples / roofline.cpu,
        roofline_gflop_per_cpu_s: roofline.flop / roofline.cpu / 1e9,
    };
    Ok((line, report))
}

fn show(args: &Args, line: &Line, report: &RunReport) -> anyhow::Result<()> {
    if args.json {
        println!("{}", serde_json::to_string(line)?);
    } else {
        println!(
            "{:11} batch {:5}, workers {}, update {:6}: {:6.0} samples/s, {:6.0} per CPU second on {:.2} cores; products \
             alone {:6.0} per CPU second ({:.0} GFLOP/s): {:.1} %",
            line.case,
            line.batch,
            line.workers,
            line.update,
            line.samples_per_s,
            line.samples_per_cpu_s,
            line.cores_used,
            line.roofline_samples_per_cpu_s,
            line.roofline_gflop_per_cpu_s,
            100.0 * line.samples_per_cpu_s / line.roofline_samples_per_cpu_s
        );
    }
    if args.phases {
        println!("  of {:.1} s: {:?}", report.seconds, report.worker_phases);
        println!("  {:?}", report.server_phases);
    }
    Ok(())
}

/// Wall and CPU time, seconds.
#[derive(Clone, Copy)]
struct Reading {
    wall: Instant,
    cpu: f64,
    samples: u64,
}

/// Opens the window after the warm-up, closes it and stops the run; both at the end of a batch.
struct Watch {
    control: Control,
    warm_up: u64,
    seconds: f64,
    samples: u64,
    start: Option<Reading>,
    /// Samples, wall and CPU seconds.
    result: Option<(u64, f64, f64)>,
}

impl Watch {
    fn new(control: Control, warm_up: u64, seconds: f64) -> Self {
        Self { control, warm_up, seconds, samples: 0, start: None, result: None }
    }

    fn trained(&mut self, samples: u32) {
        self.samples += u64::from(samples);
        let now = Reading { wall: Instant::now(), cpu: cpu_of_process(), samples: self.samples };
        match self.start {
            None if self.samples >= self.warm_up => self.start = Some(now),
            Some(start) if self.result.is_none() => {
                let wall = (now.wall - start.wall).as_secs_f64();
                if wall >= self.seconds {
                    self.result = Some((now.samples - start.samples, wall, now.cpu - start.cpu));
                    self.control.stop();
                }
            }
            _ => {}
        }
    }
}

impl Observer for Watch {
    fn notice(&mut self, notice: &Notice) {
        if let Notice::Trained { report, .. } = notice {
            self.trained(report.samples);
        }
    }

    fn progress(&mut self, _progress: &Progress) {}

    fn part(&mut self, _part: &PartReport) {}
}

fn seconds_of(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn cpu_of_process() -> f64 {
    seconds_of(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread.
pub(crate) fn cpu_of_thread() -> f64 {
    seconds_of(ClockId::ThreadCPUTime)
}

/// Holds this thread, and those that it starts, to the first `cores` processors.
#[cfg(target_os = "linux")]
fn hold_to(cores: usize) -> anyhow::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    (0..cores).for_each(|core| set.set(core));
    rustix::thread::sched_setaffinity(None, &set).with_context(|| format!("--cores {cores}"))
}

#[cfg(not(target_os = "linux"))]
fn hold_to(cores: usize) -> anyhow::Result<()> {
    bail!("--cores {cores}: only on Linux")
}
