//! From a job to what the simulation trains.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use gearshift_cluster::WorkerOptions;
use gearshift_data::DataSet;
use gearshift_sim::cluster::Trace;
use gearshift_sim::compare::Stage;
use gearshift_sim::parts::PartCache;

use crate::job::Job;
use crate::job::read::read;
use crate::wiring;

/// Rows of a part that are held in memory at most.
const PART_ROWS_MAX: u64 = 1 << 25;

/// Opened data by seed.
#[derive(Default)]
pub(crate) struct DataBySeed(Mutex<BTreeMap<u64, Opened>>);

type Opened = (Arc<dyn DataSet>, Arc<PartCache>);

impl DataBySeed {
    /// What a simulation of `job` under `seed` needs.
    ///
    /// # Errors
    /// When data or trace cannot be read.
    pub(crate) fn stage(&self, job: &Job, seed: u64) -> anyhow::Result<Stage> {
        let (data, parts) = self.open(job, seed)?;
        Ok(Stage {
            parts,
            model: job.model.clone(),
            update: job.optimizer.clone(),
            scheduler: wiring::scheduler_options(job, data.as_ref()),
            worker: WorkerOptions {
                unacknowledged_max: job.cluster.unacknowledged_pushes,
                pull_ahead: job.cluster.pull_ahead,
            },
            cluster: job.compare.cluster(),
            trace: trace(job)?.map(|(_, trace)| trace),
            seed,
            evaluation_batch: job.evaluate.batch,
            data,
        })
    }

    /// Branches of a comparison share the data of its job.
    fn open(&self, job: &Job, seed: u64) -> anyhow::Result<Opened> {
        let mut opened = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened.get(&seed) {
            return Ok(opened.clone());
        }
        let data =
            gearshift_data::open(&job.data, &job.base, seed).context("cannot open the data of the job")?;
        let parts = PartCache::new(Arc::clone(&data), job.data.bad_line_share_max, PART_ROWS_MAX);
        let fresh = (data, Arc::new(parts));
        opened.insert(seed, fresh.clone());
        Ok(fresh)
    }
}

/// Text and content of the trace that a job's speed names.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn trace(job: &Job) -> anyhow::Result<Option<(String, Trace)>> {
    let Some(path) = &job.compare.speed.trace else { return Ok(None) };
    let path = Path::new(".").join(&job.base).join(path);
    let named = || format!("compare.speed.trace: {}", path.display());
    let text = read(&path, "trace").map_err(|error| anyhow::anyhow!("{}: {error}", named()))?;
    let trace = Trace::parse(&text).with_context(named)?;
    Ok(Some((text, trace)))
}
