//! Virtual-time throughput of the gears, held to what can be worked out by hand.
#![allow(clippy::unwrap_used, reason = "a test stops at what must not happen")]

use std::time::Duration;

use gearshift_cluster::{Outcome, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_sim::cluster::{ClusterOptions, Fault, FaultKind, LinkOptions, Slow, Workload};
use gearshift_sim::{EmptyWorld, MeasureOptions, SimReport, Simulation, measure};
use gearshift_types::WorkerId;

fn options(gear: Gear) -> MeasureOptions {
    MeasureOptions {
        gear,
        gears: GearOptions::default(),
        batch: BatchOptions { global: 1024, local: 32 },
        workers: 8,
        servers: 1,
        lease: Duration::from_secs(60),
        drain: Duration::from_secs(60),
        worker: WorkerOptions::default(),
        cluster: ClusterOptions::default(),
        trace: None,
        workload: Workload::default(),
        steps: 400,
        seed: 1,
    }
}

fn run(options: &MeasureOptions) -> SimReport {
    measure(options).unwrap()
}

fn speed(change: impl Fn(&mut MeasureOptions)) -> f64 {
    let of = |gear| {
        let mut options = options(gear);
        change(&mut options);
        run(&options).accepted_per_second()
    };
    of(Gear::Gba) / of(Gear::Synchronous)
}

#[test]
fn without_jitter_all_gears_train_at_the_speed_of_their_workers() {
    for gear in [Gear::Synchronous, Gear::Gba, Gear::Asynchronous, Gear::KBatch, Gear::BoundedStaleness] {
        let mut options = options(gear);
        options.cluster.speed.jitter = 0.0;
        let report = run(&options);
        let expected = 8.0 / 100e-6;
        let got = report.accepted_per_second();
        assert!((got / expected - 1.0).abs() < 0.01, "{gear}: {got} of {expected}");
        assert!(report.worker_utilization > 0.99, "{gear}: {}", report.worker_utilization);
    }
}

#[test]
fn one_slow_worker_costs_gba_its_share_and_synchronous_its_factor() {
    // Synchronous runs at the slow one's pace; gba adds up the speeds: ratio (f * 7 + 1) / 8, and 1.08 for jitter.
    for factor in [3.0, 10.0] {
        let ratio = speed(|options| options.cluster.speed.slow = vec![Slow { workers: 1, factor }]);
        let ideal = (factor * 7.0 + 1.0) / 8.0;
        assert!(ratio > 0.97 * ideal && ratio < 1.12 * ideal, "{factor}: {ratio}, ideal {ideal}");
    }
    let none = speed(|_| {});
    assert!(none > 1.04 && none < 1.1, "{none}");
}

#[test]
fn a_slow_network_and_a_slow_server_cost_what_they_should() {
    let mut options = options(Gear::Asynchronous);
    options.workers = 1;
    options.cluster.speed.jitter = 0.0;
    options.worker.unacknowledged_max = 1;
    options.steps = 50;
    // A batch: 3.2 ms; request, grant, pull, rows, push, held, report: with one unacknowledged push 6 ways in line.
    options.cluster.network.latency_us = 500.0;
    let report = run(&options);
    let per_batch = report.seconds / (report.samples.applied as f64 / 32.0);
    assert!((per_batch - (3.2e-3 + 6.0 * 0.5e-3)).abs() < 0.2e-3, "{per_batch}");
    options.cluster.network.latency_us = 0.0;
    options.cluster.server.request_us = 100.0;
    let report = run(&options);
    let per_batch = report.seconds / (report.samples.applied as f64 / 32.0);
    assert!((per_batch - (3.2e-3 + 3.0 * 0.1e-3)).abs() < 0.1e-3, "{per_batch}");
    assert!((report.server_utilization - 0.3 / 3.5).abs() < 0.01, "{}", report.server_utilization);
}

#[test]
fn bandwidth_is_shared_at_the_server() {
    // 8 workers pull and push 1 MB each way per batch over a server's card of 8 Gbit/s: 1 ms per direction and batch.
    let mut options = options(Gear::Asynchronous);
    options.cluster.speed.jitter = 0.0;
    options.cluster.speed.sample_us = 1.0;
    options.workload = Workload { dense_floats: 250_000, ..Workload::default() };
    options.cluster.network.gbit = Some(8.0);
    options.steps = 50;
    let report = run(&options);
    let per_batch = report.seconds / (report.samples.applied as f64 / 32.0);
    assert!((per_batch - 1e-3).abs() < 0.1e-3, "{per_batch}");
}

#[test]
fn a_worker_behind_a_slow_link_slows_down_itself_alone() {
    // As many bytes as there, 400 kB each way: 0.32 ms on cards of 10 Gbit/s, 160 ms on the slow one of 20 Mbit/s.
    let mut options = options(Gear::Asynchronous);
    options.cluster.speed.sample_us = 10.0;
    options.workload = Workload { dense_floats: 100_000, ..Workload::default() };
    options.cluster.network.gbit = Some(10.0);
    options.steps = 200;
    options.workers = 7;
    let without = run(&options).accepted_per_second();
    options.workers = 8;
    options.cluster.network.link = vec![LinkOptions { worker: 0, latency_us: None, gbit: Some(0.02) }];
    let report = run(&options);
    let ratio = report.accepted_per_second() / without;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
    // It pushes, then asks for the next batch on the same card, then pulls.
    let batches = report.figures.workers[&WorkerId(0)].batches as f64;
    let expected = report.seconds / 0.32;
    assert!(batches > expected - 2.0 && batches <= expected, "{batches} of {expected}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let mut options = options(Gear::Gba);
    options.cluster.speed.noise = Some(Default::default());
    let first = run(&options);
    assert_eq!(first, run(&options));
    options.seed = 2;
    assert_ne!(first.seconds, run(&options).seconds);
}

#[test]
fn a_job_ends_when_its_last_commit_is_made() {
    // Ten batches of one worker, 3.2 ms each; looks at the clock and signs of life after the end do not count.
    let mut options = options(Gear::Asynchronous);
    (options.workers, options.cluster.speed.jitter) = (1, 0.0);
    let world = EmptyWorld::new(320, Workload::default());
    let mut simulation = Simulation::new(options.setup(), world).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Completed);
    assert!((simulation.report().seconds - 0.032).abs() < 1e-6, "{}", simulation.report().seconds);
}

#[test]
fn a_worker_that_stands_still_is_not_busy() {
    let mut options = options(Gear::Asynchronous);
    (options.workers, options.cluster.speed.jitter) = (1, 0.0);
    let pause = Fault { at_seconds: 0.01, kind: FaultKind::WorkerPause, who: 0, seconds: Some(0.1) };
    options.cluster.fault = vec![pause, Fault { at_seconds: 0.05, ..pause }];
    let mut simulation = Simulation::new(options.setup(), EmptyWorld::new(320, Workload::default())).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Completed);
    let report = simulation.report();
    assert!((report.seconds - 0.172).abs() < 1e-6, "{}", report.seconds);
    assert!((report.worker_utilization - 0.032 / 0.172).abs() < 1e-6, "{}", report.worker_utilization);
}
