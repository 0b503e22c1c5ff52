//! The arithmetic of a commit: weighted sums in commit order, norms, updates.
//!
//! A table that only one member touches is updated from that member's gradients directly; the results are the
//! same bit for bit, since a sum starts as `coefficient * gradient` of its first member.

use std::collections::BTreeMap;

use gearshift_types::{BatchId, Commit, DENSE_CHUNK, ModelSpec, PartitionMap, Push, TableGradients, TableId};

use crate::formulas::squared_norm;
use crate::options::Divisor;
use crate::shard::Shard;
use crate::simd::{self, Kernel};
use crate::store::StoreError;
use crate::sums::{TableSums, first_non_finite};
use crate::table::RowSums;

/// Sums of the commit at hand, kept from [`crate::Store::squared_norms`] to [`crate::Store::apply`].
#[derive(Debug)]
pub(crate) struct Summed {
    /// The commit summed; `None` when the sums are out of date.
    of: Option<Commit>,
    tables: Vec<TableSums>,
    dense: Vec<f32>,
}

impl Summed {
    pub(crate) fn new(tables: usize) -> Self {
        Self { of: None, tables: (0..tables).map(|_| TableSums::default()).collect(), dense: Vec::new() }
    }

    /// The gradient of `batch` is gone or another one.
    pub(crate) fn forget(&mut self, batch: BatchId) {
        if self.of.as_ref().is_some_and(|commit| commit.members.iter().any(|m| m.batch == batch)) {
            self.of = None;
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.dense.capacity() * 4 + self.tables.iter().map(TableSums::bytes).sum::<usize>()
    }
}

/// Members with weight > 0, in commit order.
fn live<'a>(held: &'a BTreeMap<BatchId, Push>, commit: &Commit) -> Vec<(&'a Push, f32)> {
    let members = commit.members.iter().filter(|member| member.weight > 0.0);
    members.filter_map(|member| Some((held.get(&member.batch)?, member.weight))).collect()
}

/// The live members' gradients of one table, each with its coefficient.
fn of_table<'a>(live: &[(&'a Push, f32)], table: usize, divisor: Divisor) -> Vec<(&'a TableGradients, f32)> {
    let mut members = Vec::new();
    for &(push, weight) in live {
        let found = push.tables.iter().find(|gradients| usize::from(gradients.table.0) == table);
        let coefficient = match divisor {
            Divisor::Global => weight,
            Divisor::IdBatches => (f64::from(weight) / f64::from(push.samples)) as f32,
        };
        members.extend(found.filter(|found| !found.keys.is_empty()).map(|found| (found, coefficient)));
    }
    members
}

/// The mean gradient of a table from its only member or from the sums.
fn row_sums<'a>(
    members: &[(&'a TableGradients, f32)],
    sums: &'a TableSums,
    divisor: Divisor,
    factor: f32,
) -> Option<RowSums<'a>> {
    match members {
        [] => None,
        &[(only, coefficient)] => Some(RowSums {
            keys: &only.keys,
            rows: None,
            sums: &only.values,
            coefficient,
            factor,
            counts: None,
        }),
        _ => Some(RowSums {
            keys: sums.keys(),
            rows: Some(sums.rows()),
            sums: sums.values(),
            coefficient: 1.0,
            factor,
            counts: (divisor == Divisor::IdBatches).then_some(sums.counts()),
        }),
    }
}

/// Factors of row sums and of dense sums.
fn factors(divisor: Divisor, commit: &Commit, scale: f32) -> (f32, f32) {
    let global = (f64::from(scale) / commit.divisor_samples as f64) as f32;
    match divisor {
        Divisor::Global => (global, global),
        Divisor::IdBatches => (scale, global),
    }
}

impl Shard {
    /// Sums what more than one member touches. Changes no row; fails when a sum is not finite.
    pub(crate) fn sum(&mut self, commit: &Commit) -> Result<(), StoreError> {
        if self.summed.of.as_ref() == Some(commit) {
            return Ok(());
        }
        self.summed.of = None;
        let live = live(&self.held, commit);
        for (id, (table, sums)) in self.tables.iter_mut().zip(&mut self.summed.tables).enumerate() {
            sums.clear();
            let members = of_table(&live, id, self.divisor);
            if members.len() < 2 {
                continue;
            }
            for (gradients, coefficient) in members {
                sums.add(table, &gradients.keys, &gradients.values, coefficient);
            }
            if let Some((key, value)) = sums.non_finite(table.dim()) {
                let what = format!("table {}, key {key}", table.name());
                return Err(StoreError::NonFiniteSum { step: commit.step, what, value });
            }
        }
        if live.len() > 1 {
            simd::run(SumDense { live: &live, sums: &mut self.summed.dense });
            if let Some(at) = first_non_finite(&self.summed.dense) {
                let (what, value) = (format!("dense tensor {}", self.tensor_at(at)), self.summed.dense[at]);
                return Err(StoreError::NonFiniteSum { step: commit.step, what, value });
            }
        }
        self.summed.of = Some(commit.clone());
        Ok(())
    }

    /// Squared norms of the summed commit, one entry per owned partition.
    pub(crate) fn norms(&self, commit: &Commit) -> Vec<(u32, f64)> {
        let owned = self.map.partitions_of(self.server);
        let mut norms: Vec<(u32, f64)> = owned.clone().map(|partition| (partition, 0.0)).collect();
        let live = live(&self.held, commit);
        if live.is_empty() {
            return norms;
        }
        let (row_factor, dense_factor) = factors(self.divisor, commit, 1.0);
        for (id, table) in self.tables.iter().enumerate() {
            let members = of_table(&live, id, self.divisor);
            let Some(sums) = row_sums(&members, &self.summed.tables[id], self.divisor, row_factor) else {
                continue;
            };
            let table_id = TableId(id as u16);
            for (i, (&key, row)) in sums.keys.iter().zip(sums.sums.chunks_exact(table.dim())).enumerate() {
                let partition = PartitionMap::partition_of_key(table_id, key);
                norms[(partition - owned.start) as usize].1 +=
                    squared_norm(row, sums.coefficient, sums.factor_of(i));
            }
        }
        let (sums, coefficient) = self.dense_sums(&live);
        let first = self.dense.range().start / DENSE_CHUNK;
        let chunks = chunks_of(&self.spec);
        for (i, chunk) in sums.chunks(DENSE_CHUNK).enumerate() {
            let partition = PartitionMap::partition_of_chunk(first + i, chunks);
            norms[(partition - owned.start) as usize].1 += squared_norm(chunk, coefficient, dense_factor);
        }
        norms
    }

    /// Updates rows and dense parameters from the sums. With no live member nothing moves.
    pub(crate) fn update(&mut self, commit: &Commit, scale: f32) {
        assert!(self.summed.of.as_ref() == Some(commit), "updates only from sums of the same commit");
        // Rows created below are not in the sums' row numbers.
        self.summed.of = None;
        let live = live(&self.held, commit);
        if live.is_empty() {
            return;
        }
        let (row_factor, dense_factor) = factors(self.divisor, commit, scale);
        for (id, table) in self.tables.iter_mut().enumerate() {
            let members = of_table(&live, id, self.divisor);
            if let Some(sums) = row_sums(&members, &self.summed.tables[id], self.divisor, row_factor) {
                table.update_rows(commit.step, sums);
            }
        }
        let (sums, coefficient) = match live.as_slice() {
            &[(only, weight)] => (only.dense.as_slice(), weight),
            _ => (self.summed.dense.as_slice(), 1.0),
        };
        self.dense.update(commit.step, sums, coefficient, dense_factor);
    }

    fn dense_sums<'a>(&'a self, live: &[(&'a Push, f32)]) -> (&'a [f32], f32) {
        match live {
            &[(only, weight)] => (&only.dense, weight),
            _ => (&self.summed.dense, 1.0),
        }
    }
}

/// Number of chunks of all dense parameters of a model.
pub(crate) fn chunks_of(spec: &ModelSpec) -> usize {
    spec.dense_len().div_ceil(DENSE_CHUNK)
}

/// Weighted sum of dense gradients, a chunk at a time so that it stays in the cache.
struct SumDense<'a> {
    live: &'a [(&'a Push, f32)],
    sums: &'a mut Vec<f32>,
}

impl Kernel for SumDense<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Some(((first, weight), others)) = self.live.split_first() else { return };
        self.sums.clear();
        self.sums.extend(first.dense.iter().map(|value| weight * value));
        for (number, sums) in self.sums.chunks_mut(DENSE_CHUNK).enumerate() {
            for (push, weight) in others {
                for (sum, value) in sums.iter_mut().zip(&push.dense[number * DENSE_CHUNK..]) {
                    *sum += weight * value;
                }
            }
        }
    }
}
