//! Every sample meets its fate once: in every gear and shift, in any order of messages, with workers that die
//! and come back, gradients that are refused, and parts that fit no batch.

use std::time::Duration;

use gearshift_cluster::Notice;
use gearshift_coordination::Gear;

use crate::driver::{Data, Job, Numbers, Order, Run, check_books};

/// What goes wrong, once in so many moves.
#[derive(Clone, Copy)]
struct Trouble {
    kill: usize,
    shift: usize,
    /// Workers that compute nothing for a while, and some of them say nothing either.
    stall: usize,
}

/// How many seeds; `GEARSHIFT_SEEDS=20` looks twenty times as hard.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let times = std::env::var("GEARSHIFT_SEEDS").ok().and_then(|times| times.parse().ok());
    0..count * times.unwrap_or(1)
}

/// Runs to the end with trouble; all shifts go back and forth between two gears.
fn troubled(job: &Job, seed: u64, trouble: &Trouble, other: Gear) -> Run {
    let mut numbers = Numbers(seed ^ 0x7E57);
    let mut run = Run::new(job, Order::random(seed));
    run.workers.get_mut(&0).unwrap().slow = 1 + numbers.below(8);
    let gears = [job.scheduler.start, other];
    let mut passes = 0;
    run.finish_with(|run| {
        if numbers.one_in(trouble.kill) {
            let worker = numbers.below(run.workers.len()) as u32;
            run.kill(worker, &mut numbers);
        }
        if numbers.one_in(trouble.shift) {
            run.shift(gears[numbers.below(2)]);
        }
        if numbers.one_in(trouble.stall) {
            let life =
                run.workers.get_mut(&(numbers.below(run.job.scheduler.workers as usize) as u32)).unwrap();
            (life.stalled, life.silent) = (true, numbers.one_in(2));
        }
        let stuck = |run: &Run| run.outcome.is_none() && run.channels.is_empty() && run.ready().is_empty();
        while trouble.stall > 0 && run.dead().is_empty() && (stuck(run) || numbers.one_in(100)) {
            run.pass(Duration::from_secs(3));
            passes += 1;
            assert!(passes < 10_000, "nobody moves, however long it takes: {}", run.describe());
            if numbers.one_in(3) {
                run.workers.values_mut().for_each(|life| (life.stalled, life.silent) = (false, false));
            }
        }
        let dead = run.dead();
        if !dead.is_empty() && (numbers.one_in(60) || run.channels.is_empty()) {
            run.rejoin(dead[numbers.below(dead.len())]);
        }
        if numbers.one_in(40) {
            run.pass(Duration::from_millis(5));
        }
    });
    run
}

fn job(seed: u64, gear: Gear) -> Job {
    let mut job = Job::new(Data::random(seed, 2, 150), gear, 1 + (seed % 4) as u32, 1 + (seed % 3) as u32);
    job.scheduler.evaluate_each_part = seed.is_multiple_of(3);
    job.scheduler.final_evaluation = seed.is_multiple_of(2);
    job.worker.pull_ahead = seed.is_multiple_of(5);
    job.poison_one_in = if seed.is_multiple_of(2) { 9 } else { 0 };
    job.scheduler.lease = Duration::from_secs(10);
    job.scheduler.drain = Duration::from_secs(4);
    if seed.is_multiple_of(7) { job.clipped(0.05) } else { job }
}

#[test]
fn every_gear_with_kills_rejoins_and_refused_gradients() {
    let (mut held_max, mut failed, mut again) = (0, 0, 0);
    for gear in Gear::ALL {
        for seed in seeds(30) {
            let trouble = Trouble { kill: 120, shift: 0, stall: 0 };
            let run = troubled(&job(seed, gear), seed, &trouble, gear);
            check_books(&run, &format!("{gear}, seed {seed}"));
            held_max = held_max.max(run.held_max);
            failed += run.scheduler.samples().failed;
            again += run.scheduler.samples().granted_again;
        }
    }
    println!("held at most {held_max} gradients; {failed} samples failed, {again} granted again");
    assert!(failed > 500 && again > 5000, "too little trouble: {failed} failed, {again} granted again");
    assert!(held_max < 40, "servers hold {held_max} gradients");
}

#[test]
fn every_shift_at_random_points() {
    let mut shifts = 0;
    for from in Gear::ALL {
        for to in Gear::ALL {
            for seed in seeds(6) {
                let trouble = Trouble { kill: 250, shift: 60, stall: 0 };
                let run = troubled(&job(seed, from), seed, &trouble, to);
                check_books(&run, &format!("{from} and {to}, seed {seed}"));
                shifts +=
                    run.notices.iter().filter(|notice| matches!(notice, Notice::Shifted { .. })).count();
            }
        }
    }
    println!("{shifts} shifts");
    assert!(shifts > 500, "only {shifts} shifts");
}

#[test]
fn every_shift_with_workers_that_stall_or_fall_silent() {
    let (mut expelled, mut drains_cut) = (0, 0);
    for from in Gear::ALL {
        for to in Gear::ALL {
            for seed in seeds(6) {
                let trouble = Trouble { kill: 400, shift: 80, stall: 60 };
                let run = troubled(&job(seed, from), seed, &trouble, to);
                check_books(&run, &format!("{from} and {to}, seed {seed}"));
                for notice in &run.notices {
                    match notice {
                        Notice::WorkerLeft { reason, .. } if reason.contains("not seen") => expelled += 1,
                        Notice::Warning(text) if text.contains("held up the drain") => drains_cut += 1,
                        _ => {}
                    }
                }
            }
        }
    }
    println!("{expelled} workers expelled, {drains_cut} leases ended by a drain");
    assert!(expelled > 200 && drains_cut > 50, "{expelled} expelled, {drains_cut} leases ended");
}
