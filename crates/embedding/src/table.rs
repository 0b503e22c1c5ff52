//! One embedding table: rows by key, created by the first update that touches them.
//!
//! Every batch of keys goes through the same three passes over blocks: ask for the index lines, read the index
//! and ask for the row lines, then use the rows. So the cache misses of a block overlap.

use gearshift_types::{Key, Step, TableSpec};

use crate::arena::{Arena, HEADER_WORDS, floats_of, floats_of_mut, key_of};
use crate::formulas::{Mean, RowRule};
use crate::index::{Index, NONE, tag_of};
use crate::optimizer::{Optimizer, RowVisitor, SlotSpec};
use crate::options::OptimizerOptions;
use crate::simd::{self, Kernel};
use crate::start::RowStart;

/// Keys whose cache misses overlap.
const BLOCK: usize = 32;

/// Where a table's bytes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableMemory {
    /// Rows held.
    pub rows: usize,
    /// Bytes of vectors.
    pub vectors: usize,
    /// Bytes of optimizer slots.
    pub slots: usize,
    /// All other bytes allocated: keys, index, room to grow.
    pub overhead: usize,
}

/// Rows of `[vector | optimizer slots]` keyed by 64-bit keys.
#[derive(Debug)]
pub struct Table {
    name: String,
    dim: usize,
    start: RowStart,
    optimizer: Optimizer,
    index: Index,
    arena: Arena,
}

/// Summed gradients of distinct rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSums<'a> {
    pub(crate) keys: &'a [Key],
    /// Row numbers where they are known already ([`NONE`] for rows that do not exist).
    pub(crate) rows: Option<&'a [u32]>,
    /// `[keys, dim]`.
    pub(crate) sums: &'a [f32],
    pub(crate) coefficient: f32,
    pub(crate) factor: f32,
    /// A further divisor per row.
    pub(crate) counts: Option<&'a [u32]>,
}

impl RowSums<'_> {
    /// The factor of row `i`.
    #[inline(always)]
    pub(crate) fn factor_of(&self, i: usize) -> f32 {
        match self.counts {
            None => self.factor,
            Some(counts) => self.factor / counts[i] as f32,
        }
    }
}

impl Table {
    /// An empty table. Start values depend on `seed`, the table's name and the key alone.
    #[must_use]
    pub fn new(spec: &TableSpec, optimizer: &OptimizerOptions, seed: u64) -> Self {
        let dim = spec.dim();
        Self {
            name: spec.name.clone(),
            dim,
            start: RowStart::new(seed, spec),
            optimizer: Optimizer::new(optimizer),
            index: Index::default(),
            arena: Arena::new(dim + optimizer.kind.slot_floats(dim)),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Length of a vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.arena.rows()
    }

    /// The optimizer's slots.
    #[must_use]
    pub fn slots(&self) -> &'static [SlotSpec] {
        self.optimizer.kind().slots()
    }

    /// Floats of a row: vector and slots.
    pub(crate) fn floats(&self) -> usize {
        self.dim + self.optimizer.kind().slot_floats(self.dim)
    }

    /// Where its bytes go.
    #[must_use]
    pub fn memory(&self) -> TableMemory {
        let rows = self.arena.rows();
        let vectors = rows * self.dim * 4;
        let slots = rows * self.floats() * 4 - vectors;
        let all = size_of::<Self>() + self.arena.bytes() + self.index.bytes();
        TableMemory { rows, vectors, slots, overhead: all - vectors - slots }
    }

    /// Appends the vectors of `keys` to `values`, `[keys, dim]` row-major. A row that does not exist is given
    /// with its start value and not created.
    pub fn gather(&self, keys: &[Key], values: &mut Vec<f32>) {
        values.reserve_exact(keys.len() * self.dim);
        let mut scout = Scout::new(keys, HEADER_WORDS + self.dim);
        while let Some((block, rows)) = scout.next(self) {
            for (&key, &candidate) in block.iter().zip(rows) {
                let row = self.confirm(key, candidate);
                if row == NONE {
                    let at = values.len();
                    values.resize(at + self.dim, 0.0);
                    self.start.write(key, &mut values[at..]);
                } else {
                    values.extend_from_slice(&floats_of(self.arena.row(row))[..self.dim]);
                }
            }
        }
    }

    /// The vector and slots of `key`, slot after slot behind the vector; `None` when the row does not exist.
    #[must_use]
    pub fn row(&self, key: Key) -> Option<&[f32]> {
        let row = self.find(key);
        (row != NONE).then(|| floats_of(self.arena.row(row)))
    }

    /// Runs the optimizer on the rows of `keys` (distinct) at `step`, creating those that do not exist. `sums`
    /// is `[keys, dim]`; the mean gradient is `sums * coefficient * factor`.
    pub fn update(&mut self, step: Step, keys: &[Key], sums: &[f32], coefficient: f32, factor: f32) {
        assert_eq!(sums.len(), keys.len() * self.dim, "gradients of table {}", self.name);
        self.update_rows(step, RowSums { keys, rows: None, sums, coefficient, factor, counts: None });
    }

    pub(crate) fn update_rows(&mut self, step: Step, sums: RowSums<'_>) {
        let optimizer = self.optimizer.clone();
        optimizer.visit(step, UpdateVisitor { table: self, sums });
    }

    /// The row of `key` or [`NONE`].
    #[inline]
    pub(crate) fn find(&self, key: Key) -> u32 {
        self.index.find(tag_of(key), |row| self.arena.key(row) == key)
    }

    /// The row of `key`, given the first candidate of its tag.
    #[inline(always)]
    pub(crate) fn confirm(&self, key: Key, candidate: u32) -> u32 {
        if candidate == NONE || self.arena.key(candidate) == key { candidate } else { self.find(key) }
    }

    /// Adds a row with its start values.
    #[inline(never)]
    pub(crate) fn create(&mut self, key: Key) -> u32 {
        let row = self.create_zeroed(key);
        let dim = self.dim;
        let (vector, slots) = floats_of_mut(self.arena.row_mut(row)).split_at_mut(dim);
        self.start.write(key, vector);
        self.optimizer.start_slots(vector, slots);
        row
    }

    /// Adds a row of zeros, to be filled from a checkpoint.
    pub(crate) fn create_zeroed(&mut self, key: Key) -> u32 {
        let row = self.arena.push(key);
        self.index.insert(tag_of(key), row);
        row
    }

    /// The scratch word of a row.
    #[inline(always)]
    pub(crate) fn mark_mut(&mut self, row: u32) -> &mut u32 {
        &mut self.arena.row_mut(row)[0]
    }

    /// Key, vector and slots of row `row` as words, without the mark.
    pub(crate) fn words(&self, row: u32) -> &[u32] {
        &self.arena.row(row)[1..]
    }

    /// Vector and slots of row `row`.
    pub(crate) fn floats_at(&self, row: u32) -> &[f32] {
        floats_of(self.arena.row(row))
    }

    /// As [`Self::floats_at`], to change.
    pub(crate) fn floats_at_mut(&mut self, row: u32) -> &mut [f32] {
        floats_of_mut(self.arena.row_mut(row))
    }

    /// Asks for the cache lines of a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: u32) {
        self.arena.prefetch(row, self.arena.stride());
    }

    /// Row numbers in ascending order of key.
    pub(crate) fn sorted_rows(&self) -> Vec<u32> {
        let mut pairs: Vec<(Key, u32)> =
            (0..self.rows() as u32).map(|row| (key_of(self.arena.row(row)), row)).collect();
        pairs.sort_unstable();
        pairs.into_iter().map(|(_, row)| row).collect()
    }
}

/// Walks keys in blocks, with the index lines asked for one block ahead.
pub(crate) struct Scout<'a> {
    keys: &'a [Key],
    at: usize,
    words: usize,
    tags: [u32; BLOCK],
    rows: [u32; BLOCK],
}

impl<'a> Scout<'a> {
    /// Over `keys`; of each row the first `words` words will be used.
    pub(crate) fn new(keys: &'a [Key], words: usize) -> Self {
        Self { keys, at: 0, words, tags: [0; BLOCK], rows: [NONE; BLOCK] }
    }

    fn block(&self, at: usize) -> &'a [Key] {
        &self.keys[at.min(self.keys.len())..(at + BLOCK).min(self.keys.len())]
    }

    #[inline(always)]
    fn ask(&mut self, table: &Table, at: usize) {
        let block = self.block(at);
        for (tag, &key) in self.tags.iter_mut().zip(block) {
            *tag = tag_of(key);
            table.index.prefetch(*tag);
        }
    }

    /// The next block with the candidate row of each key; the rows' cache lines have been asked for.
    #[inline(always)]
    pub(crate) fn next(&mut self, table: &Table) -> Option<(&'a [Key], &[u32])> {
        let block = self.block(self.at);
        if block.is_empty() {
            return None;
        }
        if self.at == 0 {
            self.ask(table, 0);
        }
        for (row, &tag) in self.rows.iter_mut().zip(&self.tags[..block.len()]) {
            *row = table.index.candidate(tag);
            if *row != NONE {
                table.arena.prefetch(*row, self.words);
            }
        }
        self.at += BLOCK;
        self.ask(table, self.at);
        Some((block, &self.rows[..block.len()]))
    }
}

struct UpdateVisitor<'a> {
    table: &'a mut Table,
    sums: RowSums<'a>,
}

impl RowVisitor for UpdateVisitor<'_> {
    type Output = ();

    fn visit<R: RowRule>(self, rule: R) {
        simd::run(UpdateKernel { table: self.table, sums: self.sums, rule });
    }
}

struct UpdateKernel<'a, R> {
    table: &'a mut Table,
    sums: RowSums<'a>,
    rule: R,
}

impl<R: RowRule> UpdateKernel<'_, R> {
    /// Updates row `row`, created when [`NONE`], with gradient `i`.
    #[inline(always)]
    fn update(&mut self, mean: Mean, i: usize, key: Key, row: u32) {
        let row = if row == NONE { self.table.create(key) } else { row };
        let dim = self.table.dim;
        let (vector, slots) = floats_of_mut(self.table.arena.row_mut(row)).split_at_mut(dim);
        let mean = Mean { factor: self.sums.factor_of(i), ..mean };
        self.rule.update(mean, vector, slots, &self.sums.sums[i * dim..][..dim]);
    }
}

impl<R: RowRule> Kernel for UpdateKernel<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let sums = self.sums;
        let (clip, decay) = (self.table.optimizer.clip(), self.table.optimizer.decay());
        let mean = Mean { coefficient: sums.coefficient, factor: sums.factor, clip, decay };
        if let Some(rows) = sums.rows {
            for (i, (&key, &row)) in sums.keys.iter().zip(rows).enumerate() {
                if let Some(&ahead) = rows.get(i + BLOCK / 2)
                    && ahead != NONE
                {
                    self.table.prefetch(ahead);
                }
                self.update(mean, i, key, row);
            }
            return;
        }
        let mut scout = Scout::new(sums.keys, self.table.arena.stride());
        let mut i = 0;
        while let Some((block, rows)) = scout.next(self.table) {
            for (&key, &candidate) in block.iter().zip(rows) {
                let row = self.table.confirm(key, candidate);
                self.update(mean, i, key, row);
                i += 1;
            }
        }
    }
}
