//! The nouns of Gearshift: identifiers, batches, rows, gradients, commits. No algorithms.
//!
//! Every other crate speaks in these types; this one depends on none of them. Words are those of
//! docs/GLOSSARY.md.

pub mod batch;
pub mod commit;
pub mod exchange;
pub mod gradients;
pub mod ids;
pub mod partition;
pub mod samples;
pub mod schema;
pub mod time;

pub use batch::{Batch, IndexedBatch, IndexedFeature, Jagged, TableKeys};
pub use commit::{Commit, DiscardReason, Member};
pub use exchange::{PullReply, PullRequest, Push, Rows, TableGradients};
pub use gradients::Gradients;
pub use ids::{BatchId, Key, ServerId, Step, TableId, Token, WorkerEpoch, WorkerId};
pub use partition::{DENSE_CHUNK, PARTITIONS, PartitionMap};
pub use samples::{PartId, RowRange};
pub use schema::{DenseTensor, FeatureSpec, Init, ModelSpec, Pooling, TableSpec};
pub use time::Time;
