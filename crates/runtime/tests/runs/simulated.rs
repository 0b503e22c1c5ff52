//! A run in real time and one in virtual time are the same run where time does not matter: the synchronous gear ends
//! with the same bits; in every gear each sample meets the same fate.

use std::path::Path;
use std::sync::Arc;

use gearshift_coordination::Gear;
use gearshift_embedding::{ShardDigest, Store};
use gearshift_runtime::LocalJob;
use gearshift_sim::cluster::{ClusterOptions, Slow};
use gearshift_sim::parts::PartCache;
use gearshift_sim::{Setup, Simulation, TrainingWorld};

use crate::support::{clip, complete, digests, generated, job};

/// The job in virtual time, its last worker five times as slow as the others.
fn simulate(job: &LocalJob) -> Simulation<TrainingWorld> {
    let parts = Arc::new(PartCache::new(Arc::clone(&job.data), 0.0, 1 << 20));
    let servers = job.scheduler.servers;
    let world =
        TrainingWorld::new(job.data.schema(), parts, &job.model, &job.update, servers, job.seed).unwrap();
    let mut cluster = ClusterOptions::default();
    cluster.speed.slow = vec![Slow { workers: 1, factor: 5.0 }];
    cluster.network.latency_us = 200.0;
    cluster.network.latency_jitter_us = 300.0;
    let setup = Setup {
        scheduler: job.scheduler.clone(),
        worker: job.worker,
        cluster,
        trace: None,
        seed: 11,
        resume: None,
        keep_log: false,
    };
    let mut simulation = Simulation::new(setup, world).unwrap();
    simulation.run().unwrap();
    simulation
}

fn simulated_digests(simulation: &Simulation<TrainingWorld>) -> (Vec<(String, u64, String)>, String) {
    let mut sum = ShardDigest::default();
    for server in simulation.servers() {
        assert_eq!(server.store().version(), simulation.scheduler().step());
        sum.add(&server.store().digest());
    }
    let tables = sum.tables.iter();
    let tables = tables.map(|table| (table.name.clone(), table.rows, table.digest.to_string())).collect();
    (tables, sum.dense.to_string())
}

#[test]
fn synchronous_parameters_are_the_same_bits() {
    for norm in [None, Some(0.05)] {
        let mut real = job(&generated(2, 1000), Path::new(""));
        real.stragglers.insert(3, 2.0);
        if let Some(norm) = norm {
            clip(&mut real, norm);
        }
        let simulation = simulate(&real);
        let report = complete(real);
        assert_eq!(simulated_digests(&simulation), digests(&report));
        assert_eq!(*simulation.scheduler().samples(), report.samples);
    }
}

#[test]
fn samples_meet_the_same_fate_in_every_gear() {
    for gear in Gear::ALL {
        let mut real = job(&generated(2, 1024), Path::new(""));
        real.scheduler.start = gear;
        let simulation = simulate(&real);
        let (virtual_samples, virtual_step) =
            (*simulation.scheduler().samples(), simulation.scheduler().step());
        let report = complete(real);
        assert!(virtual_samples.adds_up(), "{gear}: {virtual_samples:?}");
        assert_eq!(virtual_samples.read, report.samples.read, "{gear}");
        if !matches!(gear, Gear::BackupWorkers) {
            // Which gradients come late is a matter of time; how many samples make an update is not.
            assert_eq!(virtual_step.0, report.step, "{gear}");
        }
    }
}
