//! Readers, generator, hashing, batching: the only input file IO.

pub mod options;
pub mod source;

pub use options::DataOptions;
pub use source::{
    BadLine, BlockParser, BlockReader, DataError, DataSet, EVALUATION_PART, Parsed, RawBlock, Schema,
};
