//! Samples: as read ([`Batch`]) and as a worker trains on them ([`IndexedBatch`], keys made unique per table).

use std::ops::Range;
use std::sync::Arc;

use crate::{Key, TableId};

/// Values of one feature for consecutive samples: all values one after the other, cut by offsets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jagged {
    /// All values, sample after sample.
    pub values: Vec<Key>,
    /// `samples + 1` offsets into `values`; `None` when every sample has exactly one value.
    pub offsets: Option<Vec<u32>>,
}

impl Jagged {
    /// The range of `values` that belongs to `sample`.
    #[must_use]
    pub fn range(&self, sample: usize) -> Range<usize> {
        match &self.offsets {
            None => sample..sample + 1,
            Some(offsets) => offsets[sample] as usize..offsets[sample + 1] as usize,
        }
    }
}

/// Samples as read from data, in columns. A block of a file and a local batch have the same form.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Labels, 0 or 1, one per sample.
    pub labels: Vec<f32>,
    /// Dense features, `[samples, dense_width]` row-major.
    pub dense: Vec<f32>,
    /// Number of dense features.
    pub dense_width: usize,
    /// Categorical features in the order of [`crate::ModelSpec::features`].
    pub features: Vec<Jagged>,
}

impl Batch {
    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.labels.len()
    }
}

/// The unique keys of one table in a batch, in order of first occurrence. Shared, never copied, on its way
/// from pull to push.
#[derive(Clone, Debug, PartialEq)]
pub struct TableKeys {
    /// The table.
    pub table: TableId,
    /// Unique keys.
    pub keys: Arc<[Key]>,
}

/// One feature of an [`IndexedBatch`]: each value as a position in its table's unique keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexedFeature {
    /// For each value its row: a position in the keys (and pulled rows) of the feature's table.
    pub positions: Vec<u32>,
    /// `samples + 1` offsets into `positions`; `None` when every sample has exactly one value.
    pub offsets: Option<Vec<u32>>,
}

/// A batch ready to train on: keys made unique per table, so that each row is pulled and pushed once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexedBatch {
    /// Labels, 0 or 1, one per sample.
    pub labels: Vec<f32>,
    /// Dense features, `[samples, dense_width]` row-major.
    pub dense: Vec<f32>,
    /// Number of dense features.
    pub dense_width: usize,
    /// Features in the order of [`crate::ModelSpec::features`].
    pub features: Vec<IndexedFeature>,
    /// Unique keys, one entry per table in the order of [`crate::ModelSpec::tables`].
    pub tables: Vec<TableKeys>,
}

impl IndexedBatch {
    /// Number of samples.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.labels.len()
    }
}
