//! Replays a commit log in one thread: the same rows and dense parameters, bit for bit.
//!
//! A run is a function of its commit log: which samples made a gradient, which version each server's parameters
//! had when they were pulled, and which gradients made which update with which weight.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use gearshift_cluster::{LogEntry, LogMember, clip_scale};
use gearshift_data::{BlockParser, BlockReader, DataSet, Indexer};
use gearshift_embedding::{Shard, Store, StoreError, UpdateOptions};
use gearshift_model::{Learner, ModelOptions};
use gearshift_types::{
    BatchId, Commit, Gradients, IndexedBatch, Key, Member, ModelSpec, PartId, PartitionMap, PullReply,
    PullRequest, Push, Rows, ServerId, Step, TableGradients, TableKeys,
};
use serde::{Deserialize, Serialize};

use crate::blocks::BlockCache;
use crate::checkpoint::Checkpoint;
use crate::local::RunError;

/// The version of the commit log's format.
pub const FORMAT_VERSION: u32 = 1;

/// How often blocks that no commit needs any more are looked for.
const FORGET_EVERY_COMMITS: u64 = 64;

/// The first line of a commit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogHeader {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Name of the job.
    pub job_name: String,
    /// The job file as it ran, in TOML.
    pub job: String,
    /// Number of servers; versions at pull are given for each.
    pub servers: u32,
    /// The checkpoint that the run went on from.
    pub resumed_from: Option<String>,
}

/// What every version of the header has; another one may have other fields.
#[derive(Deserialize)]
struct Version {
    format_version: u32,
}

/// The first line of any version.
#[derive(Deserialize)]
struct Versioned {
    header: Version,
}

/// One line of a commit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLine {
    /// The first one.
    Header(LogHeader),
    /// All others.
    Entry(LogEntry),
}

/// A commit log in memory.
#[derive(Clone, Debug)]
pub struct CommitLog {
    /// Its first line.
    pub header: LogHeader,
    /// All others.
    pub entries: Vec<LogEntry>,
}

impl CommitLog {
    /// Reads a log.
    ///
    /// # Errors
    /// When it cannot be read; the line is named.
    pub fn read(path: &Path) -> Result<Self, RunError> {
        let error = |message: String| RunError::CommitLog { path: path.display().to_string(), message };
        let file = File::open(path).map_err(|reason| error(reason.to_string()))?;
        let mut header = None;
        let mut entries = Vec::new();
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let line = line.map_err(|reason| error(format!("line {number}: {reason}")))?;
            if number == 1
                && let Ok(Versioned { header: Version { format_version: got } }) = serde_json::from_str(&line)
                && got != FORMAT_VERSION
            {
                return Err(error(format!("format version: expected {FORMAT_VERSION}, got {got}")));
            }
            match serde_json::from_str(&line) {
                Ok(LogLine::Header(found)) if number == 1 => header = Some(found),
                Ok(LogLine::Entry(entry)) if header.is_some() => entries.push(entry),
                Ok(_) => {
                    return Err(error(format!("line {number}: expected the header first, and only there")));
                }
                Err(reason) => return Err(error(format!("line {number}: {reason}"))),
            }
        }
        let header = header.ok_or_else(|| error("is empty: expected a header line".to_owned()))?;
        Ok(Self { header, entries })
    }
}

/// What a replay needs of the job.
pub struct ReplayJob {
    /// The data.
    pub data: Arc<dyn DataSet>,
    /// The model.
    pub model: ModelOptions,
    /// The optimizers.
    pub update: UpdateOptions,
    /// The job's seed.
    pub seed: u64,
}

/// A batch whose parameters are being gathered from the versions that its worker saw.
struct Gathering {
    batch: IndexedBatch,
    rows: Vec<Rows>,
    dense: Vec<f32>,
    missing: usize,
}

/// Reads blocks in order and keeps those that are still needed.
struct Blocks {
    data: Arc<dyn DataSet>,
    parser: Arc<dyn BlockParser>,
    reader: Option<(PartId, Box<dyn BlockReader>)>,
    cache: BlockCache,
    /// For each block the last commit that uses it.
    last_use: BTreeMap<(PartId, u32), u64>,
}

/// Replays a log. `progress` is told commits done and commits in all. Returns the resulting shard.
///
/// # Errors
/// When log, data and job do not belong together.
pub fn replay(
    job: &ReplayJob,
    log: &CommitLog,
    mut progress: impl FnMut(u64, u64),
) -> Result<Shard, RunError> {
    let schema = job.data.schema();
    let learner = gearshift_model::build(&job.model, &schema.features, &schema.tables, schema.dense.len())?;
    let spec = Arc::new(learner.spec().clone());
    let shard = match &log.header.resumed_from {
        None => Shard::new(Arc::clone(&spec), &job.update, PartitionMap::new(1), ServerId(0), job.seed)?,
        Some(path) => Checkpoint::open(Path::new(path))?.restore(
            Arc::clone(&spec),
            &job.update,
            PartitionMap::new(1),
            ServerId(0),
            job.seed,
        )?,
    };
    let commits: Vec<(Step, u64, &[LogMember])> = log
        .entries
        .iter()
        .filter_map(|entry| match entry {
            LogEntry::Commit { step, divisor_samples, members } => {
                Some((*step, *divisor_samples, members.as_slice()))
            }
            LogEntry::Engaged { .. } => None,
        })
        .collect();
    let mut replay = Replay {
        map: PartitionMap::new(log.header.servers),
        blocks: Blocks::new(job, &commits),
        clip_norm: job.update.clip_norm,
        indexer: Indexer::new(),
        gathering: BTreeMap::new(),
        learner,
        spec,
        shard,
    };
    let pulls = pulls_by_version(&commits);
    let total = commits.len() as u64;
    for (done, &(step, divisor_samples, members)) in (1..).zip(&commits) {
        for &(member, server) in pulls.get(&step).into_iter().flatten() {
            replay.pull(member, server)?;
        }
        replay.commit(step, divisor_samples, members)?;
        if done % FORGET_EVERY_COMMITS == 0 {
            replay.blocks.forget(done);
        }
        progress(done, total);
    }
    Ok(replay.shard)
}

/// Which parameters were pulled at which version, by members that count.
fn pulls_by_version<'a>(
    commits: &[(Step, u64, &'a [LogMember])],
) -> BTreeMap<Step, Vec<(&'a LogMember, ServerId)>> {
    let mut pulls: BTreeMap<Step, Vec<(&LogMember, ServerId)>> = BTreeMap::new();
    for (_, _, members) in commits {
        for member in members.iter().filter(|member| member.weight > 0.0) {
            for (server, &version) in (0..).map(ServerId).zip(&member.versions) {
                pulls.entry(version).or_default().push((member, server));
            }
        }
    }
    pulls
}

/// A replay under way.
struct Replay {
    spec: Arc<ModelSpec>,
    learner: Box<dyn Learner>,
    shard: Shard,
    map: PartitionMap,
    blocks: Blocks,
    indexer: Indexer,
    clip_norm: Option<f32>,
    gathering: BTreeMap<BatchId, Gathering>,
}

fn store_error(error: StoreError) -> RunError {
    RunError::Role(format!("replay: {error}"))
}

impl Replay {
    /// Takes what one server's parameters were, at the version that the shard has now. With the last one the
    /// gradient is computed.
    fn pull(&mut self, member: &LogMember, server: ServerId) -> Result<(), RunError> {
        let mut gathering = match self.gathering.remove(&member.batch) {
            Some(gathering) => gathering,
            None => self.begin(member)?,
        };
        let share = |table: &TableKeys| -> (Vec<Key>, Vec<usize>) {
            let keys = table.keys.iter().copied().enumerate();
            let own = keys.filter(|(_, key)| self.map.server_of_key(table.table, *key) == server);
            own.map(|(place, key)| (key, place)).unzip()
        };
        let shares: Vec<_> = gathering.batch.tables.iter().map(share).collect();
        let tables = gathering
            .batch
            .tables
            .iter()
            .zip(&shares)
            .map(|(table, (keys, _))| TableKeys { table: table.table, keys: keys.as_slice().into() });
        let request = PullRequest { tables: tables.collect(), dense_known: None };
        let PullReply { rows, dense, .. } = self.shard.pull(&request).map_err(store_error)?;
        for ((into, from), (_, places)) in gathering.rows.iter_mut().zip(&rows).zip(&shares) {
            let dim = into.dim;
            for (row, &place) in from.values.chunks_exact(dim).zip(places) {
                into.values[place * dim..][..dim].copy_from_slice(row);
            }
        }
        let range = self.map.dense_range_of(server, self.spec.dense_len());
        if let Some(dense) = dense {
            gathering.dense[range.clone()].copy_from_slice(&dense[range]);
        }
        gathering.missing -= 1;
        if gathering.missing == 0 {
            self.compute(member.batch, gathering)
        } else {
            self.gathering.insert(member.batch, gathering);
            Ok(())
        }
    }

    fn begin(&mut self, member: &LogMember) -> Result<Gathering, RunError> {
        let batch = self.blocks.rows(member)?;
        let batch = self.indexer.index(&batch, &self.spec.features, self.spec.tables.len());
        let rows = batch.tables.iter().zip(&self.spec.tables).map(|(keys, table)| {
            let dim = table.dim();
            Rows { dim, values: vec![0.0; keys.keys.len() * dim] }
        });
        Ok(Gathering {
            rows: rows.collect(),
            batch,
            dense: vec![0.0; self.spec.dense_len()],
            missing: member.versions.len(),
        })
    }

    fn compute(&mut self, batch: BatchId, gathering: Gathering) -> Result<(), RunError> {
        let Gathering { batch: samples, rows, dense, .. } = gathering;
        let mut gradients = Gradients::default();
        let computed = self.learner.train(&samples, &rows, &dense, &mut gradients);
        computed.map_err(|error| RunError::Role(format!("replay, batch {batch}: {error}")))?;
        let tables = samples.tables.iter().zip(gradients.rows).map(|(table, values)| TableGradients {
            table: table.table,
            keys: Arc::clone(&table.keys),
            values,
        });
        let tables = tables.collect();
        let push = Push { batch, samples: gradients.samples, dense: gradients.dense, tables };
        self.shard.hold(push).map_err(store_error)
    }

    fn commit(&mut self, step: Step, divisor_samples: u64, members: &[LogMember]) -> Result<(), RunError> {
        let members = members.iter().map(|member| Member { batch: member.batch, weight: member.weight });
        let commit = Commit { step, divisor_samples, members: members.collect() };
        let scale = match self.clip_norm {
            None => 1.0,
            Some(limit) => {
                let norms = self.shard.squared_norms(&commit).map_err(store_error)?;
                clip_scale(&norms.into_iter().collect(), limit)
            }
        };
        self.shard.apply(&commit, scale).map_err(store_error)
    }
}

impl Blocks {
    fn new(job: &ReplayJob, commits: &[(Step, u64, &[LogMember])]) -> Self {
        let mut last_use = BTreeMap::new();
        for (number, (_, _, members)) in (1..).zip(commits) {
            for member in members.iter().filter(|member| member.weight > 0.0) {
                for range in &member.ranges {
                    last_use.insert((range.part, range.block), number);
                }
            }
        }
        Self {
            data: Arc::clone(&job.data),
            parser: job.data.parser(),
            reader: None,
            cache: BlockCache::default(),
            last_use,
        }
    }

    fn rows(&mut self, member: &LogMember) -> Result<gearshift_types::Batch, RunError> {
        loop {
            match self.cache.rows(&member.ranges) {
                Ok(batch) => return Ok(batch),
                Err(missing) => {
                    let part = member.ranges.iter().map(|range| range.part).max().unwrap_or_default();
                    if !self.read_one(part)? {
                        let batch = member.batch;
                        let text = format!("replay, batch {batch}: {missing}; is it the data of this log?");
                        return Err(RunError::Role(text));
                    }
                }
            }
        }
    }

    /// Reads the next block of a part. False at its end.
    fn read_one(&mut self, part: PartId) -> Result<bool, RunError> {
        if self.reader.as_ref().is_none_or(|(open, _)| *open != part) {
            self.reader = Some((part, self.data.open(part)?));
        }
        let Some((_, reader)) = self.reader.as_mut() else { return Ok(false) };
        let Some(raw) = reader.next_block()? else { return Ok(false) };
        if self.last_use.contains_key(&(raw.part, raw.block)) {
            let parsed = self.parser.parse(&raw)?;
            self.cache.insert(raw.part, raw.block, Arc::new(parsed.batch));
        }
        Ok(true)
    }

    fn forget(&mut self, commit: u64) {
        let cache = &self.cache;
        self.last_use.retain(|&(part, block), last| {
            if *last <= commit {
                cache.remove(part, block);
            }
            *last > commit
        });
    }
}
