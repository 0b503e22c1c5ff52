//! The shape of a model's parameters: tables, features, dense tensors, and how each starts.

use serde::{Deserialize, Serialize};

use crate::TableId;

/// How the rows of a multi-valued feature become one vector. An empty bag gives zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Sum of the rows.
    #[default]
    Sum,
    /// Mean of the rows.
    Mean,
}

/// One categorical feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureSpec {
    /// Name, as in the job file.
    pub name: String,
    /// The table that its keys belong to; features may share one.
    pub table: TableId,
    /// How several values become one vector.
    pub pooling: Pooling,
}

/// How values start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Init {
    /// All zero.
    Zero,
    /// Normal with mean 0.
    Normal {
        /// Standard deviation.
        std: f32,
    },
    /// Uniform in `-bound..bound`.
    Uniform {
        /// Half-width.
        bound: f32,
    },
}

/// One embedding table. A row's vector is a run of segments, each with its own start: DeepFM's rows are
/// `dim` embedding values followed by the first-order weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    /// Name.
    pub name: String,
    /// (length, start) of each segment.
    pub segments: Vec<(usize, Init)>,
}

impl TableSpec {
    /// Length of a row's vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.segments.iter().map(|(len, _)| len).sum()
    }
}

/// One named tensor of the dense parameters; they lie one after the other in one flat vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenseTensor {
    /// Name, such as `deep.0.weight`.
    pub name: String,
    /// Shape, row-major.
    pub shape: Vec<usize>,
    /// How it starts.
    pub init: Init,
}

impl DenseTensor {
    /// Number of floats.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Everything that servers and workers need to know of a model's parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSpec {
    /// Categorical features in the order of a batch's columns.
    pub features: Vec<FeatureSpec>,
    /// Embedding tables; [`TableId`] is a position here.
    pub tables: Vec<TableSpec>,
    /// Number of dense input features.
    pub dense_width: usize,
    /// Dense parameters.
    pub dense: Vec<DenseTensor>,
}

impl ModelSpec {
    /// Number of floats in the flat dense parameters.
    #[must_use]
    pub fn dense_len(&self) -> usize {
        self.dense.iter().map(DenseTensor::len).sum()
    }
}
