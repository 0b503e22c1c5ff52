//! A shift changes who decides and nothing else: parameters, slots, steps and data position stay.

use std::collections::BTreeMap;
use std::time::Duration;

use gearshift_cluster::{LogEntry, Notice, PlannedShift, ShiftAt};
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, PartId, Step};

use crate::driver::{Data, Job, Numbers, Order, Run, check_books};

fn shifted(run: &Run) -> Vec<(Gear, Gear, Step, u64)> {
    let shifted = run.notices.iter().filter_map(|notice| match *notice {
        Notice::Shifted { from, to, step, samples, .. } => Some((from, to, step, samples)),
        _ => None,
    });
    shifted.collect()
}

#[test]
fn the_state_at_a_shift_is_that_of_the_run_that_never_shifts() {
    let mut job = Job::new(Data::new(8, &[&[90, 300, 11, 500]]), Gear::Synchronous, 3, 2);
    let mut undisturbed = Run::new(&job, Order::LockStep);
    undisturbed.digests = Some(BTreeMap::new());
    undisturbed.finish();
    let digests = undisturbed.digests.unwrap();
    job.worker.pull_ahead = true;
    for to in Gear::ALL.into_iter().filter(|&to| to != Gear::Synchronous) {
        for seed in 0..8 {
            let what = format!("to {to}, seed {seed}");
            let mut numbers = Numbers(seed);
            let mut run = Run::new(&job, Order::random(seed));
            run.digests = Some(BTreeMap::new());
            let moves = 20 + numbers.below(900);
            run.advance_by(moves);
            let requested = run.scheduler.step();
            run.shift(to);
            run.finish();
            check_books(&run, &what);
            let [(Gear::Synchronous, reached, step, samples)] = shifted(&run)[..] else {
                panic!("{what}: shifts {:?}", shifted(&run));
            };
            assert_eq!(reached, to, "{what}");
            assert!(step == requested || step == requested.next(), "{what}: from {requested} to {step}");
            assert_eq!(samples, step.0 * 32, "{what}: all full steps, nothing lost");
            let expected = digests.get(&step);
            assert_eq!(run.digests.as_ref().unwrap().get(&step), expected, "{what}: digest at {step}");
            assert!(
                run.log.contains(&LogEntry::Engaged { gear: to, step }),
                "{what}: k0 is the step reached"
            );
        }
    }
}

#[test]
fn shifting_to_and_fro_in_lock_step_is_the_run_that_never_shifts() {
    let job = Job::new(Data::new(9, &[&[90, 300, 122], &[64, 448]]), Gear::Synchronous, 4, 2);
    let mut undisturbed = Run::new(&job, Order::LockStep);
    undisturbed.finish();
    let mut shifts = 0;
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        let mut run = Run::new(&job, Order::LockStep);
        run.finish_with(|run| {
            if numbers.one_in(150) {
                run.shift([Gear::Gba, Gear::Synchronous, Gear::KBatch][numbers.below(3)]);
            }
        });
        check_books(&run, &format!("seed {seed}"));
        shifts += shifted(&run).len();
        assert_eq!(run.digest(), undisturbed.digest(), "seed {seed}");
    }
    assert!(shifts > 60, "only {shifts} shifts");
}

#[test]
fn planned_shifts_come_when_due() {
    let mut job = Job::new(Data::new(9, &[&[200, 200], &[300]]), Gear::Synchronous, 3, 1);
    job.scheduler.shifts = vec![
        PlannedShift { at: ShiftAt::Sample(100), to: Gear::Gba },
        PlannedShift { at: ShiftAt::Part(PartId(1)), to: Gear::Asynchronous },
    ];
    for seed in 0..10 {
        let mut run = Run::new(&job, Order::random(seed));
        run.finish();
        check_books(&run, "planned");
        let shifts = shifted(&run);
        assert_eq!(shifts.len(), 2, "{shifts:?}");
        // Due at the commit of step 3; by then the next step may be under way.
        let (to, Step(step), samples) = (shifts[0].1, shifts[0].2, shifts[0].3);
        assert_eq!((to, samples), (Gear::Gba, step * 32));
        assert!(step == 4 || step == 5, "at step {step}");
        assert_eq!((shifts[1].1, shifts[1].3), (Gear::Asynchronous, 400));
    }
}

#[test]
fn a_shift_asked_for_before_the_last_one_has_granted_counts() {
    let job = Job::new(Data::new(9, &[&[200, 200]]), Gear::Asynchronous, 2, 1);
    let mut run = Run::new(&job, Order::random(1));
    assert!(run.run_until(|run| run.scheduler.step() == Step(3)));
    for worker in 0..2 {
        run.kill(worker, &mut Numbers(1));
    }
    while run.advance() {}
    run.shift(Gear::Gba);
    assert_eq!(run.scheduler.gear(), Gear::Gba, "nothing is on its way");
    run.shift(Gear::KBatch);
    run.rejoin(0);
    run.finish();
    check_books(&run, "two shifts");
    assert_eq!(run.scheduler.gear(), Gear::KBatch, "{:?}", run.notices);
    assert_eq!(shifted(&run).len(), 1);
}

#[test]
fn a_straggler_that_holds_up_a_drain_loses_its_lease() {
    for from in Gear::ALL {
        let to = if from == Gear::Gba { Gear::Synchronous } else { Gear::Gba };
        for seed in 0..6 {
            let what = format!("{from}, seed {seed}");
            let mut job = Job::new(Data::random(seed, 1, 500), from, 3, 2);
            job.scheduler.drain = Duration::from_secs(5);
            let mut run = Run::new(&job, Order::random(seed));
            let straggles = |run: &Run| {
                run.scheduler.step() >= Step(3) && run.workers[&0].machine.as_ref().unwrap().can_compute()
            };
            assert!(run.run_until(straggles), "{what}");
            let batch: BatchId = run.workers[&0].machine.as_ref().unwrap().next_batch().unwrap();
            run.workers.get_mut(&0).unwrap().stalled = true;
            run.shift(to);
            while run.advance() {}
            assert_eq!(run.scheduler.gear(), from, "{what}: drained with a batch on its way");
            run.pass(Duration::from_secs(4));
            while run.advance() {}
            assert_eq!(run.scheduler.gear(), from, "{what}: too early");
            run.pass(Duration::from_secs(2));
            while run.advance() && run.outcome.is_none() && run.scheduler.gear() == from {}
            assert_eq!(run.scheduler.gear(), to, "{what}: {}", run.describe());
            run.workers.get_mut(&0).unwrap().stalled = false;
            run.finish();
            check_books(&run, &what);
            assert!(run.scheduler.samples().granted_again > 0, "{what}");
            assert_eq!(run.scheduler.figures().workers[&gearshift_types::WorkerId(0)].deaths, 0, "{what}");
            let late = |entry: &LogEntry| match entry {
                LogEntry::Commit { members, .. } => members.iter().any(|member| member.batch == batch),
                LogEntry::Engaged { .. } => false,
            };
            assert!(!run.log.iter().any(late), "{what}: batch {batch} is in a commit");
            assert!(run.released.contains(&batch), "{what}");
        }
    }
}

#[test]
fn a_drain_shorter_than_a_batch_ends_all_the_same() {
    for from in Gear::ALL {
        let to = if from == Gear::Gba { Gear::Synchronous } else { Gear::Gba };
        let mut job = Job::new(Data::random(2, 1, 300), from, 1, 2);
        job.scheduler.drain = Duration::from_secs(5);
        job.worker.unacknowledged_max = 1;
        let mut run = Run::new(&job, Order::random(2));
        let computes = |run: &Run| run.workers[&0].machine.as_ref().unwrap().can_compute();
        assert!(run.run_until(|run| run.scheduler.step() >= Step(3) && computes(run)), "{from}");
        run.shift(to);
        // Every batch takes 12 s, whoever it is granted to.
        let mut batches = 0;
        while run.scheduler.gear() == from {
            batches += 1;
            assert!(batches < 20, "{from}: the drain never ends; {}", run.describe());
            run.workers.get_mut(&0).unwrap().stalled = true;
            for _ in 0..4 {
                run.pass(Duration::from_secs(3));
                while run.advance() {}
            }
            run.workers.get_mut(&0).unwrap().stalled = false;
            run.compute(0);
            assert!(run.run_until(|run| computes(run) || run.scheduler.gear() == to), "{from}");
        }
        run.finish();
        check_books(&run, &from.to_string());
    }
}
