//! The one trait of all models.

use gearshift_types::{Gradients, IndexedBatch, ModelSpec, Rows};

/// Why a batch cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what}: expected {expected}, got {got}")]
pub struct ShapeError {
    /// What was looked at.
    pub what: String,
    /// What the model needs.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// Batch, pulled rows and dense parameters in; loss, predictions and gradients (sums over samples) out.
/// Keeps only scratch buffers between calls: the result is a function of the arguments alone, bit for bit.
pub trait Learner: Send {
    /// Tables, features and dense parameters.
    fn spec(&self) -> &ModelSpec;

    /// Forward and backward. `rows` has one entry per table, aligned with `batch.tables`; `dense` is the flat
    /// parameters. Buffers of `out` are resized and overwritten.
    ///
    /// # Errors
    /// When shapes do not fit the model.
    fn train(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        out: &mut Gradients,
    ) -> Result<(), ShapeError>;

    /// Forward only: the predicted probability of each sample into `predictions` (overwritten).
    ///
    /// # Errors
    /// When shapes do not fit the model.
    fn predict(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        predictions: &mut Vec<f32>,
    ) -> Result<(), ShapeError>;
}
