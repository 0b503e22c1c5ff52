//! replay: the commit log, replayed in one thread on one shard, gives the rows and dense parameters that the servers
//! hold at the end, slots included, bit for bit.
//!
//! The whole log is known at the end, so no old parameters need keeping: at each version the parameters are handed to
//! the members that pulled at that version, and a gradient is computed once all of a batch's are there.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use gearshift_cluster::{LogEntry, LogMember, clip_scale};
use gearshift_embedding::{Shard, ShardDigest, Store};
use gearshift_model::Learner;
use gearshift_types::{
    BatchId, Commit, Gradients, IndexedBatch, Key, Member, PartitionMap, PullRequest, Push, Rows, ServerId,
    Step, TableGradients, TableKeys, Time,
};

use super::Check;
use super::books::Books;
use crate::moment::Moment;
use crate::search::{Scenario, TinyWorld};
use crate::world::World;

pub(super) struct Replay {
    told: Rc<Scenario>,
}

impl Replay {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told }
    }
}

/// A batch whose parameters are being gathered.
struct Gathering {
    batch: IndexedBatch,
    rows: Vec<Rows>,
    dense: Vec<f32>,
    missing: usize,
}

/// A replay under way.
struct Run {
    world: TinyWorld,
    learner: Box<dyn Learner>,
    shard: Shard,
    map: PartitionMap,
    gathering: BTreeMap<BatchId, Gathering>,
}

fn replay(told: &Scenario, log: &[LogEntry]) -> Result<ShardDigest, String> {
    let commits: Vec<(Step, u64, &[LogMember])> = log
        .iter()
        .filter_map(|entry| match entry {
            LogEntry::Commit { step, divisor_samples, members } => {
                Some((*step, *divisor_samples, members.as_slice()))
            }
            LogEntry::Engaged { .. } => None,
        })
        .collect();
    let mut pulls: BTreeMap<Step, Vec<(&LogMember, ServerId)>> = BTreeMap::new();
    for (_, _, members) in &commits {
        for member in members.iter().filter(|member| member.weight > 0.0) {
            for (server, &version) in (0..).map(ServerId).zip(&member.versions) {
                pulls.entry(version).or_default().push((member, server));
            }
        }
    }
    let mut world = TinyWorld::new(told, 1)?;
    world.poison_one_in = 0;
    let shard = world.store(ServerId(0), None)?;
    let learner = world.learner()?;
    let map = PartitionMap::new(told.setup.scheduler.servers);
    let mut run = Run { world, learner, shard, map, gathering: BTreeMap::new() };
    for (step, divisor_samples, members) in commits {
        for (member, server) in pulls.remove(&step).into_iter().flatten() {
            run.pull(member, server)?;
        }
        run.commit(told.setup.scheduler.clip_norm, step, divisor_samples, members)?;
    }
    Ok(run.shard.digest())
}

impl Run {
    /// What one server's parameters were at the version that the shard has now. With the last ones the gradient is
    /// computed.
    fn pull(&mut self, member: &LogMember, server: ServerId) -> Result<(), String> {
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
        let tables = gathering.batch.tables.iter().zip(&shares);
        let tables =
            tables.map(|(table, (keys, _))| TableKeys { table: table.table, keys: keys.as_slice().into() });
        let request = PullRequest { tables: tables.collect(), dense_known: None };
        let reply = self.shard.pull(&request).map_err(|error| error.to_string())?;
        for ((into, from), (_, places)) in gathering.rows.iter_mut().zip(&reply.rows).zip(&shares) {
            for (row, &place) in from.values.chunks_exact(into.dim).zip(places) {
                into.values[place * into.dim..][..into.dim].copy_from_slice(row);
            }
        }
        let range = self.map.dense_range_of(server, self.world.dense_len());
        if let Some(dense) = reply.dense {
            gathering.dense[range.clone()].copy_from_slice(&dense[range]);
        }
        gathering.missing -= 1;
        if gathering.missing == 0 {
            return self.compute(member.batch, gathering);
        }
        self.gathering.insert(member.batch, gathering);
        Ok(())
    }

    fn begin(&mut self, member: &LogMember) -> Result<Gathering, String> {
        let batch = self.world.load(&member.ranges)?;
        let tables = batch.tables.iter().zip(&self.learner.spec().tables);
        let rows = tables.map(|(keys, table)| {
            let dim = table.dim();
            Rows { dim, values: vec![0.0; keys.keys.len() * dim] }
        });
        let rows = rows.collect();
        let dense = vec![0.0; self.world.dense_len()];
        Ok(Gathering { batch, rows, dense, missing: member.versions.len() })
    }

    fn compute(&mut self, batch: BatchId, gathering: Gathering) -> Result<(), String> {
        let Gathering { batch: samples, rows, dense, .. } = gathering;
        let mut gradients = Gradients::default();
        self.learner.train(&samples, &rows, &dense, &mut gradients).map_err(|error| error.to_string())?;
        let tables = samples.tables.iter().zip(gradients.rows);
        let tables = tables.map(|(table, values)| TableGradients {
            table: table.table,
            keys: Arc::clone(&table.keys),
            values,
        });
        let tables = tables.collect();
        let push = Push { batch, samples: gradients.samples, dense: gradients.dense, tables };
        self.shard.hold(push).map_err(|error| error.to_string())
    }

    fn commit(
        &mut self,
        clip_norm: Option<f32>,
        step: Step,
        divisor_samples: u64,
        members: &[LogMember],
    ) -> Result<(), String> {
        let members = members.iter().map(|member| Member { batch: member.batch, weight: member.weight });
        let commit = Commit { step, divisor_samples, members: members.collect() };
        let scale = match clip_norm {
            None => 1.0,
            Some(limit) => {
                let norms = self.shard.squared_norms(&commit).map_err(|error| error.to_string())?;
                clip_scale(&norms.into_iter().collect(), limit)
            }
        };
        self.shard.apply(&commit, scale).map_err(|error| error.to_string())
    }
}

impl Check for Replay {
    const NAME: &'static str = "replay";

    fn check(&mut self, _books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let Moment::Over { log, digest } = moment else { return Ok(()) };
        let replayed = replay(&self.told, log)?;
        if *digest != Some(&replayed) {
            return Err(format!("the log replayed gives {replayed:?}, the servers hold {digest:?}"));
        }
        Ok(())
    }
}
