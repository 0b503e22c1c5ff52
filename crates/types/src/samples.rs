//! Which samples: ranges of rows in the blocks of a part.

use serde::{Deserialize, Serialize};

/// A part of the training data (often a day), by position in the job's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartId(pub u32);

/// Rows `start..end` of one block of a part. Rows are counted after bad lines have been left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowRange {
    /// The part.
    pub part: PartId,
    /// The block within the part, in data order.
    pub block: u32,
    /// First row.
    pub start: u32,
    /// One past the last row.
    pub end: u32,
}

impl RowRange {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.end - self.start
    }
}
