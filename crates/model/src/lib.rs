//! Layers with explicit backward, models, losses, metrics. Knows no table and no network.

pub mod learner;
pub mod options;

pub use learner::{Learner, ShapeError};
pub use options::{ModelKind, ModelOptions};
