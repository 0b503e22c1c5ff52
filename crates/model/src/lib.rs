//! Layers with explicit backward, models, losses, metrics. Knows no table and no network.

pub mod build;
pub mod deepfm;
pub mod layers;
pub mod learner;
pub mod metrics;
pub mod options;
mod simd;

pub use build::{ModelOptionsError, build};
pub use learner::{Learner, ShapeError};
pub use metrics::{Metrics, MetricsError, OnlineMetrics};
pub use options::{ModelKind, ModelOptions};
