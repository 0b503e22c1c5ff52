//! Checkpoints at step boundaries: a run that goes on from one is the run that was never stopped, or at least
//! trains every sample once.

use std::time::Duration;

use gearshift_cluster::{Outcome, SchedulerInput};
use gearshift_coordination::Gear;

use crate::driver::{Data, Job, Numbers, Order, Run, check_books};

fn job(seed: u64, gear: Gear) -> Job {
    let mut job = Job::new(Data::random(seed, 3, 200), gear, 3, 1 + (seed % 3) as u32);
    job.scheduler.checkpoints = true;
    job.scheduler.checkpoint_at_part_end = seed.is_multiple_of(2);
    job.scheduler.evaluate_each_part = seed.is_multiple_of(3);
    job.scheduler.final_evaluation = seed.is_multiple_of(4);
    if seed.is_multiple_of(5) { job.clipped(0.05) } else { job }
}

/// Another number of servers for every life of the job.
fn other_servers(job: &Job, numbers: &mut Numbers) -> Job {
    job.with_servers([1, 2, 3, 5][numbers.below(4)])
}

#[test]
fn synchronous_goes_on_from_any_checkpoint_bit_for_bit() {
    let mut resumed = 0;
    for seed in 0..8 {
        let mut job = job(seed, Gear::Synchronous);
        job.scheduler.checkpoint_every_samples = Some(70);
        let mut numbers = Numbers(seed);
        let mut run = Run::new(&job, Order::random(seed));
        run.finish();
        check_books(&run, "undisturbed");
        for checkpoint in &run.checkpoints {
            let job = other_servers(&job, &mut numbers);
            let mut again = Run::resume(&job, Order::random(numbers.next()), checkpoint);
            again.finish();
            let what = format!("seed {seed}, from step {}", checkpoint.position.step);
            check_books(&again, &what);
            assert_eq!(again.digest(), run.digest(), "{what}");
            assert_eq!(again.commits().len(), run.commits().len(), "{what}");
            resumed += 1;
        }
    }
    println!("{resumed} checkpoints resumed");
    assert!(resumed > 40, "only {resumed} checkpoints");
}

#[test]
fn synchronous_stopped_again_and_again_ends_where_it_would_have() {
    let mut stops = 0;
    for seed in 0..20 {
        let job = job(seed, Gear::Synchronous);
        let mut undisturbed = Run::new(&job, Order::random(seed));
        undisturbed.finish();
        let mut numbers = Numbers(seed);
        let mut run = Run::new(&job, Order::random(seed));
        loop {
            let moves = 1 + numbers.below(600);
            run.advance_by(moves);
            if run.outcome.is_none() {
                run.scheduler_takes(SchedulerInput::StopRequested);
            }
            if run.finish() == Outcome::Completed {
                break;
            }
            assert_eq!(run.outcome, Some(Outcome::Stopped));
            stops += 1;
            let job = other_servers(&job, &mut numbers);
            run = match run.checkpoints.last() {
                Some(last) => Run::resume(&job, Order::random(numbers.next()), last),
                None => Run::new(&job, Order::random(numbers.next())),
            };
        }
        check_books(&run, &format!("seed {seed}"));
        assert_eq!(run.digest(), undisturbed.digest(), "seed {seed}");
    }
    println!("{stops} stops");
    assert!(stops > 40, "only {stops} stops");
}

/// Kills, rejoins and shifts at random until the job is over.
fn troubled(run: &mut Run, numbers: &mut Numbers, shifts: bool) {
    run.finish_with(|run| {
        if numbers.one_in(200) {
            let worker = numbers.below(run.workers.len()) as u32;
            run.kill(worker, numbers);
        }
        if shifts && numbers.one_in(150) {
            run.shift(Gear::ALL[numbers.below(6)]);
        }
        let dead = run.dead();
        if !dead.is_empty() && (numbers.one_in(50) || run.channels.is_empty()) {
            run.rejoin(dead[0]);
        }
        if numbers.one_in(40) {
            run.pass(Duration::from_millis(5));
        }
    });
}

#[test]
fn every_gear_goes_on_with_every_sample_once() {
    let (mut lost, mut resumed) = (0, 0);
    for gear in Gear::ALL {
        for seed in 0..8 {
            let mut job = job(seed, gear);
            job.scheduler.checkpoint_every_samples = Some(40);
            job.poison_one_in = 15;
            let mut numbers = Numbers(seed);
            let mut run = Run::new(&job, Order::random(seed));
            troubled(&mut run, &mut numbers, seed.is_multiple_of(2));
            check_books(&run, "first run");
            // What came after the checkpoint is lost and trained again, twice over.
            for _ in 0..2 {
                let chosen = numbers.below(run.checkpoints.len());
                let checkpoint = run.checkpoints[chosen].clone();
                lost += run.commits().len() - checkpoint.position.step.0 as usize;
                let job = other_servers(&job, &mut numbers);
                run = Run::resume(&job, Order::random(numbers.next()), &checkpoint);
                assert_eq!(run.commits().len() as u64, checkpoint.position.step.0);
                troubled(&mut run, &mut numbers, seed.is_multiple_of(2));
                check_books(&run, &format!("{gear}, seed {seed}, from step {}", checkpoint.position.step));
                resumed += 1;
            }
        }
    }
    println!("{resumed} resumed, {lost} commits lost and made again");
    assert!(lost > 500, "only {lost} commits were lost");
}

#[test]
fn a_part_ends_with_its_checkpoint_even_while_another_is_written() {
    for seed in 0..20 {
        let mut job = job(seed, Gear::Synchronous);
        job.scheduler.checkpoint_at_part_end = true;
        job.scheduler.checkpoint_every_samples = Some(30);
        let mut run = Run::new(&job, Order::random(seed));
        run.finish();
        check_books(&run, "part ends");
        let at_ends = run.checkpoints.iter().filter(|taken| {
            taken.position.finished_blocks == 0
                && taken.position.resolved.is_empty()
                && taken.position.part.0 > 0
        });
        let parts: Vec<u32> = at_ends.map(|taken| taken.position.part.0).collect();
        assert_eq!(parts, [1, 2, 3], "seed {seed}");
    }
}

#[test]
fn checkpoints_by_time_come_between_commits() {
    let mut job = job(1, Gear::Gba);
    job.scheduler.checkpoint_every = Some(Duration::from_secs(1));
    let mut run = Run::new(&job, Order::random(1));
    let mut moves = 0;
    run.finish_with(|run| {
        moves += 1;
        if moves % 100 == 0 {
            run.pass(Duration::from_millis(600));
        }
    });
    check_books(&run, "by time");
    let steps: Vec<u64> = run.checkpoints.iter().map(|checkpoint| checkpoint.position.step.0).collect();
    assert!(steps.len() > 3 && steps.is_sorted(), "{steps:?}");
    let mut again = Run::resume(&job, Order::random(2), &run.checkpoints[steps.len() / 2]);
    again.finish();
    check_books(&again, "from a checkpoint by time");
    assert_eq!(again.newest().position.step, again.scheduler.step());
}
