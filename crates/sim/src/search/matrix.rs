//! One fault, on a job that is otherwise well: what each gear must survive.

use crate::cluster::{Fault, FaultKind, NoiseOptions};
use gearshift_coordination::Gear;

use super::scenario::Scenario;

/// A fault of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strike {
    /// Its name.
    pub name: &'static str,
    /// What.
    pub kind: FaultKind,
    /// How long, in leases; `None`: for good.
    pub leases: Option<f64>,
}

impl Strike {
    /// Everything that can go wrong once.
    pub const ALL: [Self; 11] = [
        Self { name: "a worker ends for good", kind: FaultKind::WorkerCrash, leases: None },
        Self { name: "a worker ends and is back soon", kind: FaultKind::WorkerCrash, leases: Some(0.2) },
        Self { name: "a worker ends and is back late", kind: FaultKind::WorkerCrash, leases: Some(2.0) },
        Self { name: "a worker is silent for good", kind: FaultKind::WorkerVanish, leases: None },
        Self {
            name: "a silent death, a new life within the lease",
            kind: FaultKind::WorkerVanish,
            leases: Some(0.2),
        },
        Self { name: "a short pause", kind: FaultKind::WorkerPause, leases: Some(0.5) },
        Self { name: "a pause longer than the lease", kind: FaultKind::WorkerPause, leases: Some(2.0) },
        Self { name: "a link cut shortly", kind: FaultKind::LinkCut, leases: Some(0.3) },
        Self { name: "a link cut longer than the lease", kind: FaultKind::LinkCut, leases: Some(2.0) },
        Self { name: "a server ends", kind: FaultKind::ServerCrash, leases: Some(0.5) },
        Self { name: "the scheduler ends", kind: FaultKind::SchedulerCrash, leases: Some(0.5) },
    ];
}

/// A scenario with exactly one fault, `share` of the way through, in one gear throughout.
#[must_use]
pub fn single_fault(gear: Gear, seed: u64, strike: Strike, share: f64) -> Scenario {
    let mut scenario = Scenario::new(Some(gear), seed);
    let scheduler = &mut scenario.setup.scheduler;
    scheduler.shifts.clear();
    scheduler.workers = scheduler.workers.max(2);
    scenario.hands.clear();
    scenario.poison_one_in = 0;
    let cluster = &mut scenario.setup.cluster;
    cluster.speed.noise = Some(NoiseOptions { sigma: 0.2, correlation: 0.0 });
    let batch_seconds = super::draw::batch_seconds(cluster, scheduler.batch.local);
    let batches = scenario.data.rows() as f64 / f64::from(scheduler.batch.local * scheduler.workers);
    let seconds = strike.leases.map(|leases| leases * scheduler.lease.as_secs_f64());
    let who = match strike.kind {
        FaultKind::ServerCrash => seed as u32 % scheduler.servers,
        _ => seed as u32 % scheduler.workers,
    };
    let at_seconds = share * batch_seconds * batches;
    cluster.fault = vec![Fault { at_seconds, kind: strike.kind, who, seconds }];
    scenario
}
