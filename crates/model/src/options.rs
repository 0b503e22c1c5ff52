//! The job file's `[model]`.

use serde::{Deserialize, Serialize};

/// Which model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Factorization machine and multilayer perceptron over the same embeddings (arXiv 1703.04247).
    #[default]
    #[serde(rename = "deepfm")]
    DeepFm,
}

/// Settings of all models; each reads its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelOptions {
    /// Which model.
    pub kind: ModelKind,
    /// Length of an embedding.
    pub embedding_dim: usize,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// Standard deviation of the normal distribution that embeddings start from.
    pub embedding_std: f32,
}

impl Default for ModelOptions {
    fn default() -> Self {
        Self { kind: ModelKind::DeepFm, embedding_dim: 8, hidden: vec![64, 32], embedding_std: 0.01 }
    }
}
