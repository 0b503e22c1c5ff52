//! Throughput of one gear on a cluster, without arithmetic.

use std::time::Duration;

use gearshift_cluster::{OnNonFinite, SchedulerOptions, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};

use crate::cluster::{ClusterOptions, Trace, Workload};
use crate::empty::EmptyWorld;
use crate::report::SimReport;
use crate::simulation::{Setup, SimError, Simulation};

/// What is measured.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The gear.
    pub gear: Gear,
    /// Settings of the gears.
    pub gears: GearOptions,
    /// Samples per update and gradient.
    pub batch: BatchOptions,
    /// Number of workers.
    pub workers: u32,
    /// Number of servers.
    pub servers: u32,
    /// A worker that has not been seen for so long is dead.
    pub lease: Duration,
    /// A worker that holds up a shift longer loses its lease.
    pub drain: Duration,
    /// The workers' settings.
    pub worker: WorkerOptions,
    /// The cluster.
    pub cluster: ClusterOptions,
    /// What `cluster.speed.trace` names.
    pub trace: Option<Trace>,
    /// What batches weigh.
    pub workload: Workload,
    /// Measured until the samples of so many global batches have met their fate.
    pub steps: u64,
    /// Seed of batch times.
    pub seed: u64,
}

impl MeasureOptions {
    /// What the simulation starts from.
    #[must_use]
    pub fn setup(&self) -> Setup {
        Setup {
            scheduler: scheduler_options(self),
            worker: self.worker,
            cluster: self.cluster.clone(),
            trace: self.trace.clone(),
            seed: self.seed,
            resume: None,
            keep_log: false,
        }
    }
}

/// Runs until `steps` global batches of samples have met their fate; more are there, so that the measurement ends
/// in full swing.
///
/// # Errors
/// When the settings are refused by the gear, or nothing moves any more.
pub fn measure(options: &MeasureOptions) -> Result<SimReport, SimError> {
    let wanted = options.steps * u64::from(options.batch.global);
    let spare = u64::from(options.workers) * u64::from(options.batch.local.max(1)) * 4;
    let world = EmptyWorld::new(wanted + 4 * u64::from(options.batch.global) + spare, options.workload);
    let mut simulation = Simulation::new(options.setup(), world)?;
    while simulation.scheduler().samples().resolved() < wanted && simulation.outcome().is_none() {
        if !simulation.advance()? {
            return Err(SimError::Stuck { now: simulation.now(), text: simulation.describe() });
        }
    }
    if let Some(gearshift_cluster::Outcome::Failed(reason)) = simulation.outcome() {
        return Err(SimError::World(reason.clone()));
    }
    let report = simulation.report();
    if report.seconds > 0.0 {
        return Ok(report);
    }
    let text = "no virtual time has passed: batches take less than a nanosecond; raise speed.sample_us or speed.batch_us";
    Err(SimError::World(text.to_owned()))
}

fn scheduler_options(options: &MeasureOptions) -> SchedulerOptions {
    SchedulerOptions {
        start: options.gear,
        gears: options.gears.clone(),
        batch: options.batch,
        shifts: Vec::new(),
        workers: options.workers,
        servers: options.servers,
        parts: 1,
        evaluate_each_part: false,
        final_evaluation: false,
        evaluation_batch: 1,
        lease: options.lease,
        drain: options.drain,
        on_nonfinite: OnNonFinite::Drop,
        clip_norm: None,
        checkpoints: false,
        checkpoint_every_samples: None,
        checkpoint_every: None,
        checkpoint_at_part_end: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::SpeedOptions;

    fn options(sample_us: f64) -> MeasureOptions {
        let speed = SpeedOptions { sample_us, ..SpeedOptions::default() };
        MeasureOptions {
            gear: Gear::Gba,
            gears: GearOptions::default(),
            batch: BatchOptions { global: 64, local: 8 },
            workers: 2,
            servers: 1,
            lease: Duration::from_secs(60),
            drain: Duration::from_secs(30),
            worker: WorkerOptions { unacknowledged_max: 2, pull_ahead: false },
            cluster: ClusterOptions { speed, ..ClusterOptions::default() },
            trace: None,
            workload: Workload::default(),
            steps: 4,
            seed: 1,
        }
    }

    #[test]
    fn batches_that_take_no_time_have_no_throughput() {
        assert!(measure(&options(1.0)).is_ok_and(|report| report.seconds > 0.0));
        let refused = measure(&options(1e-9));
        assert!(matches!(&refused, Err(SimError::World(text)) if text.contains("sample_us")), "{refused:?}");
    }
}
