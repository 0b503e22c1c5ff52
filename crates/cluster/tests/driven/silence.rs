//! A worker that is silent for longer than its lease is taken as dead; if it is not, it finds out and comes back
//! as a new life.

use std::time::Duration;

use gearshift_cluster::{LogEntry, Notice, Outcome, SchedulerInput};
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, Step, WorkerEpoch, WorkerId};

use crate::driver::run::Place;
use crate::driver::{Data, Job, Order, Run, check_books};

/// A run in which worker 0 has gone silent with a batch to compute and been taken as dead.
fn silent(gear: Gear, seed: u64) -> (Run, BatchId) {
    let mut job = Job::new(Data::random(seed, 2, 400), gear, 3, 2);
    job.scheduler.lease = Duration::from_secs(10);
    let mut run = Run::new(&job, Order::random(seed));
    let busy = |run: &Run| {
        run.scheduler.step() >= Step(2) && run.workers[&0].machine.as_ref().unwrap().can_compute()
    };
    assert!(run.run_until(busy));
    let batch = run.workers[&0].machine.as_ref().unwrap().next_batch().unwrap();
    let life = run.workers.get_mut(&0).unwrap();
    (life.silent, life.stalled) = (true, true);
    for _ in 0..3 {
        assert_eq!(run.scheduler.live_workers(), 3);
        run.advance_by(20);
        run.pass(Duration::from_secs(4));
    }
    assert_eq!(run.scheduler.live_workers(), 2, "{gear}, seed {seed}");
    (run, batch)
}

fn members_of(run: &Run, worker: WorkerId) -> Vec<BatchId> {
    let members = run.log.iter().flat_map(|entry| match entry {
        LogEntry::Commit { members, .. } => members.as_slice(),
        LogEntry::Engaged { .. } => &[],
    });
    members.filter(|member| member.worker == worker).map(|member| member.batch).collect()
}

#[test]
fn its_samples_are_trained_by_others_and_it_comes_back() {
    for gear in Gear::ALL {
        for (seed, word_is_lost) in [(0, false), (1, true), (2, true), (3, false), (4, true)] {
            let what = format!("{gear}, seed {seed}");
            let (mut run, batch) = silent(gear, seed);
            if word_is_lost {
                run.channels.remove(&(Place::Scheduler, Place::Worker(0, 0)));
            }
            // It goes on as if nothing had happened, with a push in its old epoch.
            run.compute(0);
            let life = run.workers.get_mut(&0).unwrap();
            (life.silent, life.stalled) = (false, false);
            run.finish_with(|run| {
                if run.now.0 % 64_000_000 == 0 {
                    run.pass(Duration::from_millis(1));
                }
            });
            check_books(&run, &what);
            assert_eq!(run.workers[&0].epoch, 1, "{what}: it never found out");
            let figures = &run.scheduler.figures().workers[&WorkerId(0)];
            assert_eq!(figures.deaths, 1, "{what}");
            assert!(figures.lost > 0, "{what}");
            let trained = members_of(&run, WorkerId(0));
            assert!(!trained.contains(&batch), "{what}: the old push counts");
            assert!(trained.iter().any(|&other| other > batch), "{what}: it trains nothing in its new life");
        }
    }
}

#[test]
fn an_old_life_is_told_whatever_it_says() {
    let (mut run, batch) = silent(Gear::Gba, 7);
    let (worker, epoch) = (WorkerId(0), WorkerEpoch(0));
    let word = (Place::Scheduler, Place::Worker(0, 0));
    run.channels.remove(&word);
    for input in [
        SchedulerInput::Seen { worker, epoch },
        SchedulerInput::Requested { worker, epoch },
        SchedulerInput::Pushed { worker, epoch, batch, report: Default::default() },
        SchedulerInput::GradientRefused { worker, epoch, batch, reason: "late".to_owned() },
        SchedulerInput::Evaluated { worker, epoch, task: 0, labels: vec![], predictions: vec![] },
    ] {
        let before = *run.scheduler.samples();
        run.scheduler_takes(input.clone());
        assert_eq!(run.channels.remove(&word).map(|channel| channel.len()), Some(1), "{input:?}");
        assert_eq!(*run.scheduler.samples(), before, "{input:?}");
    }
}

#[test]
fn a_job_without_workers_ends_with_an_error_after_the_lease() {
    let (mut run, _) = silent(Gear::Synchronous, 3);
    for worker in 0..3 {
        run.kill(worker, &mut crate::driver::Numbers(1));
    }
    while run.advance() {}
    assert_eq!(run.scheduler.live_workers(), 0);
    run.pass(Duration::from_secs(9));
    assert_eq!(run.outcome, None);
    run.pass(Duration::from_secs(2));
    let Some(Outcome::Failed(text)) = &run.outcome else { panic!("{:?}", run.outcome) };
    assert!(text.contains("waited 10s for a worker"), "{text}");
}

#[test]
fn a_worker_that_dies_before_all_have_joined_does_not_hold_up_the_others() {
    for gear in Gear::ALL {
        let mut job = Job::new(Data::random(4, 2, 100), gear, 3, 2);
        job.scheduler.lease = Duration::from_secs(10);
        let mut run = Run::new(&job, Order::random(4));
        run.kill(1, &mut crate::driver::Numbers(1));
        run.channels.retain(|(from, _), _| *from != Place::Worker(1, 0));
        while run.advance() {}
        assert_eq!((run.scheduler.live_workers(), run.scheduler.samples().read), (2, 0), "{gear}");
        run.pass(Duration::from_secs(9));
        assert!(!run.advance(), "{gear}: started before the lease was over");
        run.pass(Duration::from_secs(2));
        let said =
            |notice: &Notice| matches!(notice, Notice::Warning(text) if text.contains("2 of 3 workers"));
        assert!(run.notices.iter().any(said), "{gear}: {:?}", run.notices);
        run.finish();
        check_books(&run, &gear.to_string());
    }
}
