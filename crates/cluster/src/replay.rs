//! Replays a commit log in one thread on one shard: the same rows and dense parameters, bit for bit.
//!
//! A run is a function of its commit log: which samples made a gradient, which version each server's parameters
//! had when they were pulled, and which gradients made which update with which weight. The whole log is known, so no
//! old parameters need keeping: at each version they are handed to the members that pulled at that version.

use std::collections::BTreeMap;

use gearshift_embedding::{Shard, Store, StoreError};
use gearshift_model::{Learner, ShapeError};
use gearshift_types::{
    BatchId, Commit, Gradients, IndexedBatch, Member, PartitionMap, PullReply, ServerId, Step,
};

use crate::messages::{LogEntry, LogMember};
use crate::scheduler::clip_scale;
use crate::worker::route::Route;

/// Where the samples of a replay come from.
pub trait ReplaySource {
    /// Why they cannot be had.
    type Error;

    /// The samples of a batch.
    ///
    /// # Errors
    /// When they are not there.
    fn samples(&mut self, member: &LogMember) -> Result<IndexedBatch, Self::Error>;

    /// So many commits of so many are done.
    fn committed(&mut self, done: u64, of: u64) {
        let _ = (done, of);
    }
}

/// Why a replay cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError<E> {
    /// The samples of a batch cannot be had.
    #[error("{0}")]
    Samples(E),
    /// A batch says versions of another number of servers.
    #[error("replay, batch {batch}: expected versions of {expected} servers, got {got}")]
    Versions {
        /// The batch.
        batch: BatchId,
        /// Servers of the run.
        expected: u32,
        /// Versions that came.
        got: usize,
    },
    /// A batch does not fit the model.
    #[error("replay, batch {batch}: {error}")]
    Model {
        /// The batch.
        batch: BatchId,
        /// What does not fit.
        error: ShapeError,
    },
    /// A commit does not fit the shard.
    #[error("replay: {0}")]
    Store(#[from] StoreError),
}

/// A commit of the log: the version it starts from, its divisor, its members.
type LoggedCommit<'a> = (Step, u64, &'a [LogMember]);

/// The commits of a log, in order.
#[must_use]
pub fn commits(log: &[LogEntry]) -> Vec<LoggedCommit<'_>> {
    let commit = |entry| match entry {
        &LogEntry::Commit { step, divisor_samples, ref members } => {
            Some((step, divisor_samples, members.as_slice()))
        }
        LogEntry::Engaged { .. } => None,
    };
    log.iter().filter_map(commit).collect()
}

/// A replay that has not begun.
pub struct Replay<S> {
    /// Where the samples come from.
    pub source: S,
    /// The model.
    pub learner: Box<dyn Learner>,
    /// All parameters, as they were before the first commit; a map of one server.
    pub shard: Shard,
    /// Servers of the run; versions at pull are given for each.
    pub servers: u32,
    /// The run's limit of the norm of a mean gradient.
    pub clip_norm: Option<f32>,
}

impl<S: ReplaySource> Replay<S> {
    /// Replays the commits of a log. Returns the resulting shard.
    ///
    /// # Errors
    /// When log, samples and model do not belong together.
    pub fn run(self, commits: &[LoggedCommit<'_>]) -> Result<Shard, ReplayError<S::Error>> {
        let map = PartitionMap::new(self.servers);
        let mut run = Run { replay: self, map, gathering: BTreeMap::new() };
        let mut pulls = pulls_by_version(commits);
        let of = commits.len() as u64;
        for (done, &(step, divisor_samples, members)) in (1..).zip(commits) {
            for (member, server) in pulls.remove(&step).into_iter().flatten() {
                run.pull(member, server)?;
            }
            run.commit(step, divisor_samples, members)?;
            run.replay.source.committed(done, of);
        }
        Ok(run.replay.shard)
    }
}

/// Which parameters were pulled at which version, by members that count.
fn pulls_by_version<'a>(commits: &[LoggedCommit<'a>]) -> BTreeMap<Step, Vec<(&'a LogMember, ServerId)>> {
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

/// A batch whose parameters are being gathered from the versions that its worker saw.
struct Gathering {
    batch: IndexedBatch,
    route: Route,
    replies: Vec<Option<PullReply>>,
    dense: Vec<f32>,
}

/// A replay under way.
struct Run<S> {
    replay: Replay<S>,
    map: PartitionMap,
    gathering: BTreeMap<BatchId, Gathering>,
}

impl<S: ReplaySource> Run<S> {
    /// Takes what one server's parameters were, at the version that the shard has now. With the last one the
    /// gradient is computed.
    fn pull(&mut self, member: &LogMember, server: ServerId) -> Result<(), ReplayError<S::Error>> {
        let mut gathering = match self.gathering.remove(&member.batch) {
            Some(gathering) => gathering,
            None => self.begin(member)?,
        };
        let request = gathering.route.request(&gathering.batch, server, None);
        let mut reply = self.replay.shard.pull(&request)?;
        if let Some(dense) = reply.dense.take() {
            let range = self.map.dense_range_of(server, dense.len());
            gathering.dense[range.clone()].copy_from_slice(&dense[range]);
        }
        gathering.replies[server.0 as usize] = Some(reply);
        if gathering.replies.iter().all(Option::is_some) {
            return self.compute(member.batch, gathering);
        }
        self.gathering.insert(member.batch, gathering);
        Ok(())
    }

    fn begin(&mut self, member: &LogMember) -> Result<Gathering, ReplayError<S::Error>> {
        let (expected, got) = (self.map.servers(), member.versions.len());
        if got != expected as usize {
            return Err(ReplayError::Versions { batch: member.batch, expected, got });
        }
        let batch = self.replay.source.samples(member).map_err(ReplayError::Samples)?;
        let dense = vec![0.0; self.replay.learner.spec().dense_len()];
        let replies = member.versions.iter().map(|_| None).collect();
        Ok(Gathering { route: Route::new(&batch, self.map), batch, replies, dense })
    }

    fn compute(&mut self, batch: BatchId, gathering: Gathering) -> Result<(), ReplayError<S::Error>> {
        let Gathering { batch: samples, route, replies, dense } = gathering;
        let mut replies: Vec<PullReply> = replies.into_iter().flatten().collect();
        let rows = route.assemble(&samples, self.replay.learner.spec(), &mut replies);
        let mut gradients = Gradients::default();
        let computed = self.replay.learner.train(&samples, &rows, &dense, &mut gradients);
        computed.map_err(|error| ReplayError::Model { batch, error })?;
        let whole = Route::new(&samples, self.replay.shard.map());
        for (_, push) in whole.pushes(batch, &samples, self.replay.learner.spec(), gradients) {
            self.replay.shard.hold(push)?;
        }
        Ok(())
    }

    fn commit(
        &mut self,
        step: Step,
        divisor_samples: u64,
        members: &[LogMember],
    ) -> Result<(), ReplayError<S::Error>> {
        let members = members.iter().map(|member| Member { batch: member.batch, weight: member.weight });
        let commit = Commit { step, divisor_samples, members: members.collect() };
        let scale = match self.replay.clip_norm {
            None => 1.0,
            Some(limit) => {
                let norms = self.replay.shard.squared_norms(&commit)?;
                clip_scale(&norms.into_iter().collect(), limit)
            }
        };
        Ok(self.replay.shard.apply(&commit, scale)?)
    }
}
