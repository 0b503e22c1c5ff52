//! Builds all roles of a job, from nothing or from a checkpoint.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crossbeam_channel::{Receiver, Sender, bounded};
use gearshift_cluster::{Scheduler, Server, ServerInput, WorkerInput};
use gearshift_embedding::Shard;
use gearshift_types::{ModelSpec, PartitionMap, ServerId, WorkerEpoch, WorkerId};

use super::RunError;
use super::drive::ToDriver;
use super::server_thread::ServerThread;
use super::worker_thread::{WorkerThread, learner_source};
use crate::blocks::BlockCache;
use crate::checkpoint::{Checkpoint, CheckpointFolder};
use crate::feeder::{Feeder, FeederCommand, FeederNews};
use crate::job::LocalJob;
use crate::report::WorkerPhases;

/// Messages that may wait for a role: far more than can be under way, so that nobody waits in a circle.
const INBOX: usize = 1024;

/// More of them per worker.
const INBOX_PER_WORKER: usize = 16;

/// A worker's inbox as others see it.
pub(super) type ToWorkerThread = Sender<(WorkerEpoch, WorkerInput)>;

/// All roles, ready to start.
pub(super) struct Roles {
    pub(super) spec: Arc<ModelSpec>,
    pub(super) scheduler: Scheduler,
    pub(super) first_step: u64,
    /// The checkpoint gone on from; its own folder, even if the job names the folder above.
    pub(super) resumed_from: Option<String>,
    pub(super) workers: Vec<WorkerThread>,
    pub(super) servers: Vec<ServerThread>,
    /// Taken when its thread starts.
    pub(super) feeder: Option<Feeder>,
    pub(super) cache: Arc<BlockCache>,
    /// With fewer open rows than this the feeder must go on, whatever it holds.
    pub(super) rows_needed: u64,
    pub(super) over: Arc<AtomicBool>,
    pub(super) granted: Arc<AtomicU64>,
    pub(super) inbox: Receiver<ToDriver>,
    pub(super) news: Receiver<FeederNews>,
    pub(super) to_workers: Vec<ToWorkerThread>,
    pub(super) to_servers: Vec<Sender<ServerInput>>,
    pub(super) to_feeder: Sender<FeederCommand>,
    pub(super) checkpoints: Option<CheckpointFolder>,
}

/// The shards of a job, new or from the checkpoint that it goes on from.
fn shards(
    job: &LocalJob,
    spec: &Arc<ModelSpec>,
    resumed: Option<&Checkpoint>,
) -> Result<Vec<Shard>, RunError> {
    let map = PartitionMap::new(job.scheduler.servers);
    let mut shards = Vec::new();
    for server in (0..map.servers()).map(ServerId) {
        let spec = Arc::clone(spec);
        shards.push(match resumed {
            None => Shard::new(spec, &job.update, map, server, job.seed)?,
            Some(checkpoint) => checkpoint.restore(spec, &job.update, map, server, job.seed)?,
        });
    }
    Ok(shards)
}

/// Open rows with which every rule can go on.
fn rows_needed(job: &LocalJob) -> u64 {
    let batch = job.scheduler.batch;
    let of_steps = 2 * u64::from(batch.global);
    let per_worker = u64::from(batch.local.max(batch.global / job.scheduler.workers.max(1)));
    let under_way = 4 * per_worker * u64::from(job.scheduler.workers);
    let k_batches = u64::from(job.scheduler.gears.k_batches.unwrap_or(0)) * u64::from(batch.local);
    of_steps + under_way + k_batches
}

/// Rows that the feeder may hold: what the job says, and never less than the rules need to go on.
fn rows_ahead(job: &LocalJob) -> u64 {
    let evaluation = 2 * u64::from(job.scheduler.evaluation_batch);
    let wanted = u64::from(job.prefetch_blocks) * u64::from(job.block_rows);
    rows_needed(job) + evaluation + wanted
}

fn feeder(
    job: &LocalJob,
    cache: &Arc<BlockCache>,
    commands: Receiver<FeederCommand>,
    news: Sender<FeederNews>,
) -> Feeder {
    Feeder {
        data: Arc::clone(&job.data),
        cache: Arc::clone(cache),
        rows_max: rows_ahead(job),
        bad_line_share_max: job.bad_line_share_max,
        commands,
        news,
    }
}

pub(super) fn assemble(job: &LocalJob) -> Result<Roles, RunError> {
    let schema = job.data.schema();
    let model = gearshift_model::build(&job.model, &schema.features, &schema.tables, schema.dense.len())?;
    let spec = Arc::new(model.spec().clone());
    let map = PartitionMap::new(job.scheduler.servers);
    let folder = job.checkpoints.as_ref();
    let folder = folder.map(|options| CheckpointFolder::create(&options.folder, options.keep)).transpose()?;
    let resumed = job.resume.as_deref().map(Checkpoint::open).transpose()?;
    let shards = shards(job, &spec, resumed.as_ref())?;
    let checkpoints = folder.map(|folder| folder.begin(resumed.as_ref())).transpose()?;
    let resumed_from = resumed.as_ref().map(|checkpoint| checkpoint.path().display().to_string());
    let resume = resumed.map(|checkpoint| checkpoint.manifest().position.clone());
    let (first_step, trained) =
        resume.as_ref().map_or((0, 0), |position| (position.step.0, position.samples.resolved()));

    let (workers, servers) = (job.scheduler.workers as usize, map.servers() as usize);
    let room = INBOX + INBOX_PER_WORKER * workers;
    let (to_driver, inbox) = bounded(room * 2);
    let (to_news, news) = bounded(64);
    let (to_feeder, commands) = bounded(16);
    let (to_workers, worker_inboxes): (Vec<_>, Vec<_>) = (0..workers).map(|_| bounded(room)).unzip();
    let (to_servers, server_inboxes): (Vec<_>, Vec<_>) = (0..servers).map(|_| bounded(room)).unzip();
    let cache = Arc::new(BlockCache::default());
    let (over, granted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(trained)));

    let server_threads = shards.into_iter().zip(server_inboxes).map(|(shard, inbox)| ServerThread {
        id: shard.server(),
        server: Server::new(shard.server(), shard, job.scheduler.clip_norm.is_some()),
        inbox,
        scheduler: to_driver.clone(),
        workers: to_workers.clone(),
        checkpoints: checkpoints.as_ref().map(|folder| folder.path().to_owned()),
    });
    let learner = learner_source(job.model.clone(), schema.clone());
    let worker_threads = (0..).map(WorkerId).zip(worker_inboxes).map(|(id, inbox)| WorkerThread {
        id,
        learner: Arc::clone(&learner),
        spec: Arc::clone(&spec),
        map,
        options: job.worker,
        slow: job.stragglers.get(&id.0).copied().unwrap_or(1.0),
        faults: job.faults.iter().filter(|fault| fault.worker == id.0).copied().collect(),
        cache: Arc::clone(&cache),
        inbox,
        scheduler: to_driver.clone(),
        servers: to_servers.clone(),
        over: Arc::clone(&over),
        granted: Arc::clone(&granted),
        batches: 0,
        phases: WorkerPhases::default(),
    });
    Ok(Roles {
        scheduler: Scheduler::new(job.scheduler.clone(), resume),
        first_step,
        resumed_from,
        workers: worker_threads.collect(),
        servers: server_threads.collect(),
        feeder: Some(feeder(job, &cache, commands, to_news)),
        spec,
        cache,
        rows_needed: rows_needed(job),
        over,
        granted,
        inbox,
        news,
        to_workers,
        to_servers,
        to_feeder,
        checkpoints,
    })
}
