//! Embedding tables, initialisers, optimizers for rows and dense parameters, gradient buffers, checkpoint bytes.
//!
//! [`Shard`] is one server's part of a model and the production [`Store`]; [`Table`] is one embedding table.

mod arena;
pub mod build;
mod check;
pub mod checkpoint;
mod commit;
mod dense;
mod formulas;
mod index;
pub mod optimizer;
#[cfg(test)]
mod optimizer_tests;
pub mod options;
pub mod shard;
mod simd;
mod start;
pub mod store;
mod sums;
pub mod table;
mod validate;

pub use build::BuildError;
pub use checkpoint::{CheckpointError, Restore, ShardDigest, ShardSummary};
pub use optimizer::SlotSpec;
pub use options::{Divisor, OptimizerKind, OptimizerOptions, UpdateOptions};
pub use shard::{Shard, ShardMemory};
pub use store::{Store, StoreError};
pub use table::{Table, TableMemory};
