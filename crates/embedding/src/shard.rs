//! One server's part of a model: the rows of its partitions and its range of the dense parameters.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gearshift_types::{
    BatchId, Commit, ModelSpec, PartitionMap, PullReply, PullRequest, Push, Rows, ServerId, Step, TableId,
};

use crate::build::{BuildError, check_build};
use crate::commit::Summed;
use crate::dense::DenseRange;
use crate::options::{Divisor, UpdateOptions};
use crate::store::{Store, StoreError};
use crate::table::{Table, TableMemory};

/// Rows, dense parameters and the gradients held until their commit.
///
/// The state is a function of the spec, the options, the seed and the commits applied: no pull and no gradient
/// that was released changes it, and rows and dense parameters are the same bit for bit for any number of
/// servers.
#[derive(Debug)]
pub struct Shard {
    pub(crate) spec: Arc<ModelSpec>,
    pub(crate) map: PartitionMap,
    pub(crate) server: ServerId,
    pub(crate) divisor: Divisor,
    pub(crate) version: Step,
    pub(crate) tables: Vec<Table>,
    pub(crate) dense: DenseRange,
    pub(crate) held: BTreeMap<BatchId, Push>,
    held_bytes: usize,
    pub(crate) summed: Summed,
}

/// Where a shard's bytes go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardMemory {
    /// Per table, in the order of the spec.
    pub tables: Vec<TableMemory>,
    /// Dense values, slots and the copy handed out.
    pub dense: usize,
    /// Gradients held.
    pub held: usize,
    /// Sums of the last commits, kept to be used again.
    pub scratch: usize,
}

impl Shard {
    /// The shard of `server` in `map`, as it starts: no rows, dense parameters at their start values.
    ///
    /// # Errors
    /// When the spec or the options make no sense; all problems of the options are listed.
    pub fn new(
        spec: Arc<ModelSpec>,
        options: &UpdateOptions,
        map: PartitionMap,
        server: ServerId,
        seed: u64,
    ) -> Result<Self, BuildError> {
        check_build(&spec, options, map, server)?;
        let tables: Vec<Table> =
            spec.tables.iter().map(|table| Table::new(table, &options.sparse, seed)).collect();
        let range = map.dense_range_of(server, spec.dense_len());
        let dense = DenseRange::new(&spec, range, &options.dense, seed);
        let summed = Summed::new(tables.len());
        let (held, held_bytes) = (BTreeMap::new(), 0);
        let (divisor, version) = (options.divisor, Step(0));
        Ok(Self { spec, map, server, divisor, version, tables, dense, held, held_bytes, summed })
    }

    /// What the model's parameters look like.
    #[must_use]
    pub fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }

    /// The server whose shard it is.
    #[must_use]
    pub fn server(&self) -> ServerId {
        self.server
    }

    /// The map it was built with.
    #[must_use]
    pub fn map(&self) -> PartitionMap {
        self.map
    }

    /// The tables, in the order of the spec.
    #[must_use]
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Its range of the flat dense parameters.
    #[must_use]
    pub fn dense_range(&self) -> Range<usize> {
        self.dense.range()
    }

    /// The dense parameters of [`Self::dense_range`].
    #[must_use]
    pub fn dense(&self) -> &[f32] {
        self.dense.values()
    }

    /// Number of gradients held.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Bytes of the gradients held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Where its bytes go.
    #[must_use]
    pub fn memory(&self) -> ShardMemory {
        ShardMemory {
            tables: self.tables.iter().map(Table::memory).collect(),
            dense: self.dense.bytes(),
            held: self.held_bytes,
            scratch: self.summed.bytes(),
        }
    }

    pub(crate) fn table_name(&self, table: TableId) -> &str {
        &self.spec.tables[usize::from(table.0)].name
    }
}

impl Store for Shard {
    fn version(&self) -> Step {
        self.version
    }

    fn pull(&mut self, request: &PullRequest) -> Result<PullReply, StoreError> {
        for entry in &request.tables {
            self.check_keys(entry.table, &entry.keys)?;
        }
        let rows = request.tables.iter().map(|entry| {
            let table = &self.tables[usize::from(entry.table.0)];
            let mut values = Vec::new();
            table.gather(&entry.keys, &mut values);
            Rows { dim: table.dim(), values }
        });
        let rows = rows.collect();
        let known = request.dense_known == Some(self.version);
        let dense = (!known).then(|| self.dense.shared(self.version));
        Ok(PullReply { version: self.version, rows, dense })
    }

    /// A batch that is held already is replaced: a push sent twice is held once.
    fn hold(&mut self, push: Push) -> Result<(), StoreError> {
        self.check_push(&push)?;
        let batch = push.batch;
        self.release(batch);
        self.held_bytes += bytes_of(&push);
        self.held.insert(batch, push);
        Ok(())
    }

    fn release(&mut self, batch: BatchId) -> bool {
        let Some(push) = self.held.remove(&batch) else { return false };
        self.held_bytes -= bytes_of(&push);
        self.summed.forget(batch);
        true
    }

    fn squared_norms(&mut self, commit: &Commit) -> Result<Vec<(u32, f64)>, StoreError> {
        self.check_commit(commit, 1.0)?;
        self.sum(commit)?;
        Ok(self.norms(commit))
    }

    fn apply(&mut self, commit: &Commit, scale: f32) -> Result<(), StoreError> {
        self.check_commit(commit, scale)?;
        self.sum(commit)?;
        self.update(commit, scale);
        self.version = self.version.next();
        for member in &commit.members {
            self.release(member.batch);
        }
        Ok(())
    }
}

/// Bytes that a held gradient takes.
fn bytes_of(push: &Push) -> usize {
    let rows = push.tables.iter().map(|table| table.keys.len() * 8 + table.values.capacity() * 4);
    size_of::<Push>() + push.dense.capacity() * 4 + rows.sum::<usize>()
}
