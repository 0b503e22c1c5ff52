//! What a learner makes of one batch.

/// Gradients of one batch as sums over its samples, so that batches of different size mix correctly.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// Number of samples.
    pub samples: u32,
    /// Sum of the samples' losses.
    pub loss_sum: f64,
    /// Sums for all dense parameters, flat.
    pub dense: Vec<f32>,
    /// Sums for rows, one buffer per table: `[unique keys, dim]` row-major.
    pub rows: Vec<Vec<f32>>,
    /// Predicted probability of each sample, before the update.
    pub predictions: Vec<f32>,
}
