//! The benchmark's samples, job and roofline.
//!
//! 26 tables of 100,000 IDs (Zipf 1.05), 13 dense features, dim 16 and a first-order weight, hidden 400-400-400,
//! Adagrad on rows, Adam on dense parameters; sixteen batches that are cycled through, as the peer does.

mod data;
mod products;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gearshift_cluster::{OnNonFinite, SchedulerOptions, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_embedding::{OptimizerKind, OptimizerOptions, UpdateOptions};
use gearshift_model::{ModelKind, ModelOptions};
use gearshift_runtime::LocalJob;

use crate::Case;

pub(crate) use data::Data;
pub(crate) use products::roofline;

pub(crate) const SHAPE: &str = "26 x 100k, dim 16, 400-400-400";

const FIELDS: usize = 26;
const IDS: usize = 100_000;
const DENSE: usize = 13;
const DIM: usize = 16;
const HIDDEN: [usize; 3] = [400, 400, 400];
const ZIPF: f64 = 1.05;
const BATCHES: usize = 16;

/// The run: stopped from outside.
pub(crate) fn job(case: Case, data: &Data) -> LocalJob {
    let Case { gear, batch, workers } = case;
    let global = batch * workers * if gear == Gear::Synchronous { 1 } else { 2 };
    let hour = Duration::from_secs(3600);
    LocalJob {
        name: "bench".to_owned(),
        seed: 1,
        toml: String::new(),
        data: Arc::new(data.clone()),
        model: ModelOptions {
            kind: ModelKind::DeepFm,
            embedding_dim: DIM,
            hidden: HIDDEN.to_vec(),
            embedding_std: 0.01,
        },
        update: UpdateOptions {
            sparse: OptimizerOptions { kind: OptimizerKind::Adagrad, rate: 0.05, ..Default::default() },
            dense: OptimizerOptions { kind: OptimizerKind::Adam, rate: 1e-3, ..Default::default() },
            ..Default::default()
        },
        scheduler: SchedulerOptions {
            start: gear,
            gears: GearOptions::default(),
            batch: BatchOptions { global, local: batch },
            shifts: Vec::new(),
            workers,
            servers: 1,
            parts: 1,
            evaluate_each_part: false,
            final_evaluation: false,
            evaluation_batch: batch,
            lease: hour,
            drain: hour,
            on_nonfinite: OnNonFinite::Stop,
            clip_norm: None,
            checkpoints: false,
            checkpoint_every_samples: None,
            checkpoint_every: None,
            checkpoint_at_part_end: false,
        },
        worker: WorkerOptions::default(),
        bad_line_share_max: 0.0,
        block_rows: batch,
        prefetch_blocks: 4,
        stragglers: BTreeMap::new(),
        faults: Vec::new(),
        checkpoints: None,
        resume: None,
        commit_log: None,
    }
}
