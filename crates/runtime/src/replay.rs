//! Commit logs on disk, and their replay over a job's data ([`gearshift_cluster::replay`] does the arithmetic).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use gearshift_cluster::replay::commits;
use gearshift_cluster::{LogEntry, LogMember, Replay, ReplayError, ReplaySource};
use gearshift_data::{BlockParser, BlockReader, DataSet, Indexer};
use gearshift_embedding::{Shard, UpdateOptions};
use gearshift_model::ModelOptions;
use gearshift_types::{IndexedBatch, ModelSpec, PartId, PartitionMap, ServerId, Step};
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
pub fn replay(job: &ReplayJob, log: &CommitLog, progress: impl FnMut(u64, u64)) -> Result<Shard, RunError> {
    let schema = job.data.schema();
    let learner = gearshift_model::build(&job.model, &schema.features, &schema.tables, schema.dense.len())?;
    let spec = Arc::new(learner.spec().clone());
    let (map, server) = (PartitionMap::new(1), ServerId(0));
    let shard = match &log.header.resumed_from {
        None => Shard::new(Arc::clone(&spec), &job.update, map, server, job.seed)?,
        Some(path) => {
            let checkpoint = Checkpoint::open(Path::new(path))?;
            checkpoint.restore(Arc::clone(&spec), &job.update, map, server, job.seed)?
        }
    };
    let commits = commits(&log.entries);
    let source = Source { blocks: Blocks::new(job, &commits), indexer: Indexer::new(), spec, progress };
    let replay =
        Replay { source, learner, shard, servers: log.header.servers, clip_norm: job.update.clip_norm };
    replay.run(&commits).map_err(|error| match error {
        ReplayError::Samples(error) => error,
        other => RunError::Role(other.to_string()),
    })
}

/// The samples of a log, from the data.
struct Source<P> {
    blocks: Blocks,
    indexer: Indexer,
    spec: Arc<ModelSpec>,
    progress: P,
}

impl<P: FnMut(u64, u64)> ReplaySource for Source<P> {
    type Error = RunError;

    fn samples(&mut self, member: &LogMember) -> Result<IndexedBatch, RunError> {
        let batch = self.blocks.rows(member)?;
        Ok(self.indexer.index(&batch, &self.spec.features, self.spec.tables.len()))
    }

    fn committed(&mut self, done: u64, of: u64) {
        if done.is_multiple_of(FORGET_EVERY_COMMITS) {
            self.blocks.forget(done);
        }
        (self.progress)(done, of);
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
