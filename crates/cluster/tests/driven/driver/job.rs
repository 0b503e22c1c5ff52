//! What a test runs: data, settings, sizes.

use std::sync::Arc;
use std::time::Duration;

use gearshift_cluster::{OnNonFinite, SchedulerOptions, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_embedding::{OptimizerKind, OptimizerOptions, UpdateOptions};

use super::data::Data;

#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) data: Arc<Data>,
    pub(crate) scheduler: SchedulerOptions,
    pub(crate) update: UpdateOptions,
    pub(crate) worker: WorkerOptions,
    /// One gradient in so many is not finite; 0 = none.
    pub(crate) poison_one_in: usize,
}

impl Job {
    /// A job on `data` in `gear` with G = 32, B = 8, Adagrad.
    pub(crate) fn new(data: Data, gear: Gear, workers: u32, servers: u32) -> Self {
        let scheduler = SchedulerOptions {
            start: gear,
            gears: GearOptions::default(),
            batch: BatchOptions { global: 32, local: 8 },
            shifts: Vec::new(),
            workers,
            servers,
            parts: data.parts(),
            evaluate_each_part: false,
            final_evaluation: false,
            evaluation_batch: 7,
            lease: Duration::from_secs(1000),
            drain: Duration::from_secs(1000),
            on_nonfinite: OnNonFinite::Drop,
            clip_norm: None,
            checkpoints: false,
            checkpoint_every_samples: None,
            checkpoint_every: None,
            checkpoint_at_part_end: false,
        };
        let update = optimizer(OptimizerKind::Adagrad);
        Self { data: Arc::new(data), scheduler, update, worker: WorkerOptions::default(), poison_one_in: 0 }
    }

    pub(crate) fn with_servers(&self, servers: u32) -> Self {
        let mut job = self.clone();
        job.scheduler.servers = servers;
        job
    }

    pub(crate) fn clipped(&self, norm: f32) -> Self {
        let mut job = self.clone();
        job.scheduler.clip_norm = Some(norm);
        job.update.clip_norm = Some(norm);
        job
    }
}

/// The same optimizer for rows and dense parameters, at a rate at which it moves them well.
pub(crate) fn optimizer(kind: OptimizerKind) -> UpdateOptions {
    let rate = match kind {
        OptimizerKind::Sgd => 0.5,
        OptimizerKind::Adam => 0.003,
        _ => 0.05,
    };
    let options = OptimizerOptions { kind, rate, ..OptimizerOptions::default() };
    UpdateOptions { sparse: options.clone(), dense: options, ..UpdateOptions::default() }
}
