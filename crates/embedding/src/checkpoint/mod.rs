//! Checkpoint bytes of a shard: one safetensors file per server.
//!
//! A file is a u64 little-endian header length, a JSON header and the tensors without holes. For each table
//! `table.<name>.keys` U64 `[n]` (ascending, so equal states give equal bytes), `table.<name>.values` F32
//! `[n, dim]` and per optimizer slot `table.<name>.slot.<slot>` F32 `[n, dim]` or `[n, 1]`; for the server's
//! range of the dense parameters `dense.values` and `dense.slot.<slot>` F32 `[len]`. All keys come first, so
//! that every tensor is aligned and a reader knows the rows before their values. Values are kept bit by bit,
//! those that are not finite too: what was the state is the state again.

mod digest;
mod error;
mod header;
mod layout;
mod read;
mod write;

pub use digest::{Digest, ShardDigest, TableDigest};
pub use error::CheckpointError;
pub use header::{PartHeader, TensorHeader, read_header};
pub use read::{PartSummary, Restore};
pub use write::ShardSummary;
