//! Readers, generator, hashing, batching: the only input file IO.
//!
//! [`open`] turns the job file's `[data]` into a [`DataSet`]: its reader delivers raw blocks in data order, its parser
//! turns any block into a batch of rows, on any thread. [`gather`] draws a local batch from blocks, an [`Indexer`]
//! makes its keys unique.

mod criteo;
mod delimited;
mod generator;
pub mod hash;
mod index;
mod numbers;
mod open;
pub mod options;
mod random;
mod rows;
mod schema;
mod shuffle;
pub mod source;
mod text;

pub use generator::{teacher_auc, write_criteo_tsv};
pub use index::Indexer;
pub use open::{check, open};
pub use options::DataOptions;
pub use rows::{append, gather, slice};
pub use shuffle::shuffle;
pub use source::{
    BadLine, BlockParser, BlockReader, DataError, DataSet, EVALUATION_PART, Parsed, RawBlock, Schema,
};
pub use text::bad::BadLineLimit;
