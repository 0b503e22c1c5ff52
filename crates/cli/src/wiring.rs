//! From a job file to a run: the data opened, the settings handed to the crates that need them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use gearshift_cluster::{PlannedShift, SchedulerOptions, ShiftAt as ClusterShiftAt, WorkerOptions};
use gearshift_data::DataSet;
use gearshift_runtime::{
    CheckpointOptions, Fault as RunFault, FaultAt as RunFaultAt, FaultKind as RunFaultKind, LocalJob,
};
use gearshift_types::PartId;

use crate::job::{FaultAt, FaultKind, Job, ShiftAt};

/// Opens the data of a job.
pub(crate) fn open_data(job: &Job) -> anyhow::Result<Arc<dyn DataSet>> {
    gearshift_data::open(&job.data, &job.base, job.seed).context("cannot open the data of the job")
}

/// Everything that a run needs.
pub(crate) fn local_job(
    job: &Job,
    data: Arc<dyn DataSet>,
    resume: Option<PathBuf>,
) -> anyhow::Result<LocalJob> {
    let cluster = &job.cluster;
    let faults = job.fault.iter().map(|fault| RunFault {
        worker: fault.worker,
        kind: match fault.kind {
            FaultKind::Panic => RunFaultKind::Panic,
            FaultKind::Leave => RunFaultKind::Leave,
        },
        at: match fault.at {
            FaultAt::Batch(batch) => RunFaultAt::Batch(batch),
            FaultAt::Sample(sample) => RunFaultAt::Sample(sample),
        },
        rejoin: fault.rejoin_seconds.map(Duration::from_secs_f64),
    });
    let stragglers: BTreeMap<u32, f64> =
        job.straggler.iter().map(|straggler| (straggler.worker, straggler.slow)).collect();
    Ok(LocalJob {
        name: job.name.clone(),
        seed: job.seed,
        toml: job.to_toml()?,
        model: job.model.clone(),
        update: job.optimizer.clone(),
        scheduler: scheduler_options(job, data.as_ref()),
        worker: WorkerOptions {
            unacknowledged_max: cluster.unacknowledged_pushes,
            pull_ahead: cluster.pull_ahead,
        },
        bad_line_share_max: job.data.bad_line_share_max,
        block_rows: job.data.block_rows,
        prefetch_blocks: cluster.prefetch_blocks,
        stragglers,
        faults: faults.collect(),
        checkpoints: job
            .checkpoint
            .folder
            .as_ref()
            .map(|folder| CheckpointOptions { folder: folder.clone(), keep: job.checkpoint.keep as usize }),
        resume,
        commit_log: job.output.commit_log.clone(),
        data,
    })
}

/// The scheduler's settings.
pub(crate) fn scheduler_options(job: &Job, data: &dyn DataSet) -> SchedulerOptions {
    let shifts = job.shift.iter().map(|shift| PlannedShift {
        to: shift.to,
        at: match shift.at {
            ShiftAt::Sample(sample) => ClusterShiftAt::Sample(sample),
            ShiftAt::Part(part) => ClusterShiftAt::Part(PartId(part)),
            ShiftAt::Seconds(seconds) => ClusterShiftAt::Elapsed(Duration::from_secs_f64(seconds)),
        },
    });
    SchedulerOptions {
        start: job.gear.start,
        gears: job.gear.options.clone(),
        batch: job.batch,
        shifts: shifts.collect(),
        workers: job.cluster.workers,
        servers: job.cluster.servers,
        parts: data.parts().len() as u32,
        evaluate_each_part: job.evaluate.each_part,
        final_evaluation: data.has_evaluation(),
        evaluation_batch: job.evaluate.batch,
        lease: Duration::from_secs_f64(job.cluster.lease_seconds),
        drain: Duration::from_secs_f64(job.cluster.drain_seconds),
        on_nonfinite: job.cluster.on_nonfinite,
        clip_norm: job.optimizer.clip_norm,
        checkpoints: job.checkpoint.folder.is_some(),
        checkpoint_every_samples: job.checkpoint.every_samples,
        checkpoint_every: job.checkpoint.every_minutes.map(|minutes| Duration::from_secs_f64(minutes * 60.0)),
        checkpoint_at_part_end: job.checkpoint.at_part_end,
    }
}

/// The job that a checkpoint or a commit log was made by, with overrides.
pub(crate) fn job_from_text(origin: &Path, text: &str, sets: &[String]) -> anyhow::Result<Job> {
    let name = format!("job in {}", origin.display());
    Ok(Job::parse(&name, text, Path::new(""), sets)?)
}

/// The same without looking at its data, which may have moved since.
pub(crate) fn job_unchecked(origin: &Path, text: &str) -> anyhow::Result<Job> {
    toml::from_str(text).with_context(|| format!("the job in {} cannot be read", origin.display()))
}
