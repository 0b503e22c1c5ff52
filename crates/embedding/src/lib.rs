//! Embedding tables, initialisers, optimizers for rows and dense parameters, gradient buffers, checkpoint bytes.

pub mod options;
pub mod store;

pub use options::{Divisor, OptimizerKind, OptimizerOptions, UpdateOptions};
pub use store::{Store, StoreError};
