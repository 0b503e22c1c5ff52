//! Which server holds which of a batch's keys and dense parameters: cuts pulls and pushes, joins replies.

use std::ops::Range;
use std::sync::Arc;

use gearshift_types::{
    BatchId, Gradients, IndexedBatch, Key, ModelSpec, PartitionMap, PullReply, PullRequest, Push, Rows,
    ServerId, Step, TableGradients, TableKeys,
};

use super::SharedFloats;

/// The keys of one table that one server holds.
#[derive(Debug)]
struct TableShare {
    keys: Arc<[Key]>,
    /// Their places among the table's unique keys; empty when that is all of them.
    places: Vec<u32>,
}

/// For each server, its share of each table.
#[derive(Debug)]
pub(crate) struct Route {
    shares: Vec<Vec<TableShare>>,
    map: PartitionMap,
}

impl Route {
    pub(crate) fn new(batch: &IndexedBatch, map: PartitionMap) -> Self {
        let servers = map.servers() as usize;
        let mut shares: Vec<Vec<TableShare>> = (0..servers).map(|_| Vec::new()).collect();
        for table in &batch.tables {
            if servers == 1 {
                shares[0].push(TableShare { keys: Arc::clone(&table.keys), places: Vec::new() });
                continue;
            }
            let mut cut: Vec<(Vec<Key>, Vec<u32>)> = vec![Default::default(); servers];
            for (place, &key) in table.keys.iter().enumerate() {
                let (keys, places) = &mut cut[map.server_of_key(table.table, key).0 as usize];
                keys.push(key);
                places.push(place as u32);
            }
            for (share, (keys, places)) in shares.iter_mut().zip(cut) {
                share.push(TableShare { keys: keys.into(), places });
            }
        }
        Self { shares, map }
    }

    /// What to ask of one server.
    pub(crate) fn request(
        &self,
        batch: &IndexedBatch,
        server: ServerId,
        dense_known: Option<Step>,
    ) -> PullRequest {
        let shares = self.shares[server.0 as usize].iter();
        let tables = shares
            .zip(&batch.tables)
            .map(|(share, table)| TableKeys { table: table.table, keys: Arc::clone(&share.keys) });
        PullRequest { tables: tables.collect(), dense_known }
    }

    /// Rows in the order of the batch's unique keys.
    pub(crate) fn assemble(
        &self,
        batch: &IndexedBatch,
        spec: &ModelSpec,
        replies: &mut [PullReply],
    ) -> Vec<Rows> {
        if let [reply] = replies {
            return std::mem::take(&mut reply.rows);
        }
        let mut joined = Vec::with_capacity(batch.tables.len());
        for (index, table) in batch.tables.iter().enumerate() {
            let dim = spec.tables[table.table.0 as usize].dim();
            let mut values = vec![0.0; table.keys.len() * dim];
            for (reply, share) in replies.iter().zip(&self.shares) {
                for (row, &place) in reply.rows[index].values.chunks_exact(dim).zip(&share[index].places) {
                    values[place as usize * dim..][..dim].copy_from_slice(row);
                }
            }
            joined.push(Rows { dim, values });
        }
        joined
    }

    /// One push per server.
    pub(crate) fn pushes(
        &self,
        batch: BatchId,
        samples: &IndexedBatch,
        spec: &ModelSpec,
        gradients: Gradients,
    ) -> Vec<(ServerId, Push)> {
        let count = gradients.samples;
        let dense_len = gradients.dense.len();
        if self.map.servers() == 1 {
            let tables = samples.tables.iter().zip(gradients.rows).map(|(table, values)| TableGradients {
                table: table.table,
                keys: Arc::clone(&table.keys),
                values,
            });
            let push = Push { batch, samples: count, dense: gradients.dense, tables: tables.collect() };
            return vec![(ServerId(0), push)];
        }
        let servers = (0..self.map.servers()).map(ServerId).zip(&self.shares);
        servers
            .map(|(server, shares)| {
                let dense = gradients.dense[self.map.dense_range_of(server, dense_len)].to_vec();
                let tables = shares.iter().zip(&samples.tables).zip(&gradients.rows);
                let tables = tables.map(|((share, table), values)| {
                    let dim = spec.tables[table.table.0 as usize].dim();
                    let mut own = Vec::with_capacity(share.places.len() * dim);
                    for &place in &share.places {
                        own.extend_from_slice(&values[place as usize * dim..][..dim]);
                    }
                    TableGradients { table: table.table, keys: Arc::clone(&share.keys), values: own }
                });
                (server, Push { batch, samples: count, dense, tables: tables.collect() })
            })
            .collect()
    }
}

/// The worker's copy of the dense parameters, with the version of each server's range.
#[derive(Debug)]
pub(super) struct DenseCopy {
    ranges: Vec<Range<usize>>,
    known: Vec<Option<Step>>,
    /// With one server its own buffer is used as it is.
    shared: Option<SharedFloats>,
    joined: Vec<f32>,
}

impl DenseCopy {
    pub(super) fn new(map: PartitionMap, len: usize) -> Self {
        let ranges: Vec<Range<usize>> =
            (0..map.servers()).map(|server| map.dense_range_of(ServerId(server), len)).collect();
        let joined = if ranges.len() == 1 { Vec::new() } else { vec![0.0; len] };
        Self { known: vec![None; ranges.len()], ranges, shared: None, joined }
    }

    /// The version of each server's range in the copy.
    pub(super) fn known(&self) -> &[Option<Step>] {
        &self.known
    }

    /// Takes over the ranges that came with the replies of a batch that is about to be computed.
    pub(super) fn update(&mut self, replies: &[PullReply]) {
        for ((range, known), reply) in self.ranges.iter().zip(&mut self.known).zip(replies) {
            *known = Some(reply.version);
            match &reply.dense {
                Some(dense) if self.ranges.len() == 1 => self.shared = Some(Arc::clone(dense)),
                Some(dense) => self.joined[range.clone()].copy_from_slice(dense),
                None => {}
            }
        }
    }

    pub(super) fn values(&self) -> &[f32] {
        self.shared.as_deref().unwrap_or(&self.joined)
    }
}
