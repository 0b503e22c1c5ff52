//! The scheduler's decision of one update.

use serde::{Deserialize, Serialize};

use crate::{BatchId, Step};

/// One gradient of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The batch whose gradient it is.
    pub batch: BatchId,
    /// Factor 0..=1 that the rule gives the gradient; 0 = dropped.
    pub weight: f32,
}

/// Makes step `step` (version `step`) into version `step + 1`: the weighted sum of the members' gradients over
/// `divisor_samples`. Every server applies the same commits in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// The version it starts from; staleness of a member = `step` - its token.
    pub step: Step,
    /// The gradients, in the order in which they are summed.
    pub members: Vec<Member>,
    /// Samples that the sum is divided by, those of dropped members included.
    pub divisor_samples: u64,
}

/// Why a gradient that arrived is in no commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscardReason {
    /// `backup_workers`: its step had been committed without it.
    Late,
}
