//! Why a checkpoint is refused: one variant per way to be wrong.

use crate::build::BuildError;

/// A checkpoint that cannot be restored. `part` is the name its caller gave to the file.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The shard itself cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Reading failed.
    #[error("{part}: {source}")]
    Io {
        /// File.
        part: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The bytes are fewer or more than they say.
    #[error("{part}: {what}: expected {expected} bytes, got {got}")]
    Length {
        /// File.
        part: String,
        /// What was measured.
        what: &'static str,
        /// Bytes expected.
        expected: u64,
        /// Bytes found.
        got: u64,
    },
    /// The header is no safetensors header: no JSON, overlapping tensors, holes, sizes that overflow.
    #[error("{part}: header: {reason}")]
    Header {
        /// File.
        part: String,
        /// What is wrong.
        reason: String,
    },
    /// An entry of the header's metadata.
    #[error("{part}: metadata {entry:?}: expected {expected}, got {got}")]
    Metadata {
        /// File.
        part: String,
        /// Entry.
        entry: &'static str,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Slots of another optimizer.
    #[error(
        "{part}: {of} has the optimizer slots [{got}], the job's optimizer has [{expected}]; \
         restore with the optimizer that wrote the checkpoint"
    )]
    Slots {
        /// File.
        part: String,
        /// Table or dense parameters.
        of: String,
        /// Slots of the job.
        expected: String,
        /// Slots in the file.
        got: String,
    },
    /// A tensor that is missing, unknown, or of another type or shape.
    #[error("{part}: tensor {tensor:?}: expected {expected}, got {got}")]
    Tensor {
        /// File.
        part: String,
        /// Tensor.
        tensor: String,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// A key out of order, twice, or of another server.
    #[error("{part}: tensor {tensor:?}: key {key:#018x} at position {position} {problem}")]
    Key {
        /// File.
        part: String,
        /// Tensor.
        tensor: String,
        /// Position in the tensor.
        position: u64,
        /// The key.
        key: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Files of some servers are missing.
    #[error("checkpoint parts: expected the files of servers {expected}, got those of {got}")]
    Coverage {
        /// Servers whose partitions are needed.
        expected: String,
        /// Servers whose files were read.
        got: String,
    },
    /// A part failed before; nothing can be made of the rest.
    #[error("an earlier part of this checkpoint was refused")]
    Refused,
}
