//! The job file's `[optimizer]`: how rows and dense parameters are updated.

use serde::{Deserialize, Serialize};

/// Which update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimizerKind {
    /// Plain gradient descent.
    Sgd,
    /// Adagrad, one accumulator per value.
    Adagrad,
    /// Adagrad with one accumulator per row (per tensor chunk it is not defined: refused for dense).
    RowWiseAdagrad,
    /// Adam, bias correction by step, lazy rows.
    Adam,
    /// FTRL-proximal.
    Ftrl,
}

/// One optimizer and its settings; each kind reads its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizerOptions {
    /// Which update.
    pub kind: OptimizerKind,
    /// Learning rate.
    pub rate: f32,
    /// Adagrad: start of the accumulator. Tiny: row gradients are about 1/G in size.
    pub initial_accumulator: f32,
    /// Adagrad, Adam: added to the root.
    pub epsilon: f32,
    /// Adam: decay of the first moment.
    pub beta1: f32,
    /// Adam: decay of the second moment.
    pub beta2: f32,
    /// FTRL: the beta of its rate schedule.
    pub ftrl_beta: f32,
    /// FTRL: L1 strength.
    pub l1: f32,
    /// FTRL: L2 strength.
    pub l2: f32,
    /// L2 weight decay added to the gradient of every touched value.
    pub weight_decay: f32,
    /// Clips each value of the mean gradient to -c..=c.
    pub clip_value: Option<f32>,
}

impl Default for OptimizerOptions {
    fn default() -> Self {
        Self {
            kind: OptimizerKind::Adagrad,
            rate: 0.05,
            initial_accumulator: 1e-8,
            epsilon: 1e-8,
            beta1: 0.9,
            beta2: 0.999,
            ftrl_beta: 1.0,
            l1: 0.0,
            l2: 0.0,
            weight_decay: 0.0,
            clip_value: None,
        }
    }
}

/// What a row's summed gradient is divided by, the same in every gear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Divisor {
    /// The samples of the global batch: equals synchronous training exactly.
    #[default]
    Global,
    /// Batch means summed and divided by the number of member batches that hold the ID; an ablation.
    IdBatches,
}

/// The `[optimizer]` table of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpdateOptions {
    /// For rows.
    pub sparse: OptimizerOptions,
    /// For dense parameters.
    pub dense: OptimizerOptions,
    /// The divisor of row gradients.
    pub divisor: Divisor,
    /// Scales the whole mean gradient of a commit down to this L2 norm (rows and dense together).
    pub clip_norm: Option<f32>,
}
