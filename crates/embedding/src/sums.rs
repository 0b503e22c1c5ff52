//! The weighted sum of several members' row gradients, in commit order, found through the rows themselves.
//!
//! Each row has a scratch word, the mark: the position of its sum. A mark is believed only if that sum names
//! the row, so marks of earlier commits need no clearing. Rows that do not exist yet are found through a small
//! index; nothing is created before the whole commit is known to be good.

use gearshift_types::Key;

use crate::arena::HEADER_WORDS;
use crate::index::{Index, NONE, tag_of};
use crate::simd::{self, Kernel};
use crate::table::{Scout, Table};

/// Sums of one table's rows.
#[derive(Debug, Default)]
pub(crate) struct TableSums {
    keys: Vec<Key>,
    rows: Vec<u32>,
    values: Vec<f32>,
    counts: Vec<u32>,
    fresh: Index,
}

impl TableSums {
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
        self.values.clear();
        self.counts.clear();
        self.fresh.clear();
    }

    /// Adds `coefficient * values` (`[keys, dim]`, distinct keys) of the next member.
    pub(crate) fn add(&mut self, table: &mut Table, keys: &[Key], values: &[f32], coefficient: f32) {
        simd::run(Add { sums: self, table, keys, values, coefficient });
    }

    /// Where the sum of `key` lies, which has row `row` ([`NONE`] when it does not exist). [`NONE`] when it has no
    /// sum yet; then the next sum is noted as its.
    #[inline(always)]
    fn position(&mut self, table: &mut Table, key: Key, row: u32) -> u32 {
        if row == NONE {
            let tag = tag_of(key);
            let found = self.fresh.find(tag, |position| self.keys[position as usize] == key);
            if found == NONE {
                self.fresh.insert(tag, self.keys.len() as u32);
            }
            return found;
        }
        let mark = table.mark_mut(row);
        if self.rows.get(*mark as usize) == Some(&row) {
            return *mark;
        }
        *mark = self.rows.len() as u32;
        NONE
    }

    /// The key and value of a sum that overflowed.
    pub(crate) fn non_finite(&self, dim: usize) -> Option<(Key, f32)> {
        let at = first_non_finite(&self.values)?;
        Some((self.keys[at / dim], self.values[at]))
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.keys
    }

    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    /// For each row the members that hold it.
    pub(crate) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.capacity() * 8
            + (self.rows.capacity() + self.values.capacity() + self.counts.capacity()) * 4
            + self.fresh.bytes()
    }
}

/// The loop of [`TableSums::add`].
struct Add<'a> {
    sums: &'a mut TableSums,
    table: &'a mut Table,
    keys: &'a [Key],
    values: &'a [f32],
    coefficient: f32,
}

impl Kernel for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { sums, table, keys, values, coefficient } = self;
        let dim = table.dim();
        let mut scout = Scout::new(keys, HEADER_WORDS);
        let mut gradients = values.chunks_exact(dim);
        while let Some((block, rows)) = scout.next(table) {
            for ((&key, &candidate), gradient) in block.iter().zip(rows).zip(gradients.by_ref()) {
                let row = table.confirm(key, candidate);
                let position = sums.position(table, key, row);
                if position == NONE {
                    sums.keys.push(key);
                    sums.rows.push(row);
                    sums.counts.push(1);
                    sums.values.extend(gradient.iter().map(|value| coefficient * value));
                } else {
                    sums.counts[position as usize] += 1;
                    let sum = &mut sums.values[position as usize * dim..][..dim];
                    let (blocks, rest) = sum.as_chunks_mut::<8>();
                    let (gradient_blocks, gradient_rest) = gradient.as_chunks::<8>();
                    for (sum, gradient) in blocks.iter_mut().zip(gradient_blocks) {
                        *sum = std::array::from_fn(|i| sum[i] + coefficient * gradient[i]);
                    }
                    for (sum, value) in rest.iter_mut().zip(gradient_rest) {
                        *sum += coefficient * value;
                    }
                }
            }
        }
    }
}

/// Position of the first value that is infinite or not a number.
pub(crate) fn first_non_finite(values: &[f32]) -> Option<usize> {
    simd::run(FirstNonFinite(values))
}

struct FirstNonFinite<'a>(&'a [f32]);

impl Kernel for FirstNonFinite<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        const EXPONENT: u32 = 0x7F80_0000;
        // Whole blocks first: without an early exit inside, the test runs on vectors.
        let (blocks, rest) = self.0.as_chunks::<64>();
        let bad = |value: &f32| u32::from(value.to_bits() & EXPONENT == EXPONENT);
        for (number, block) in blocks.iter().enumerate() {
            if block.iter().map(bad).sum::<u32>() != 0 {
                return Some(number * 64 + block.iter().position(|value| !value.is_finite()).unwrap_or(0));
            }
        }
        rest.iter().position(|value| !value.is_finite()).map(|at| blocks.len() * 64 + at)
    }
}

#[cfg(test)]
mod tests {
    use super::first_non_finite;

    #[test]
    fn finds_the_first_bad_value_anywhere() {
        for len in [1, 63, 64, 65, 200] {
            let mut values = vec![f32::MAX; len];
            assert_eq!(first_non_finite(&values), None);
            for at in 0..len {
                values[at] = if at % 2 == 0 { f32::NAN } else { f32::NEG_INFINITY };
                assert_eq!(first_non_finite(&values), Some(at), "{len}");
                values[at] = -0.0;
            }
        }
    }
}
