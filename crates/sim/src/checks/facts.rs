//! What the scheduler's messages mean, one fact after the other, each with how things stood before it.

use gearshift_cluster::LogMember;
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, PartId, RowRange, Token, WorkerEpoch, WorkerId};

/// A granted batch that has not met its fate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Granted {
    pub(crate) batch: BatchId,
    pub(crate) worker: WorkerId,
    pub(crate) epoch: WorkerEpoch,
    pub(crate) token: Token,
    pub(crate) ranges: Vec<RowRange>,
    pub(crate) state: State,
}

/// How far a granted batch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Pushed,
    Failed,
}

impl Granted {
    pub(crate) fn samples(&self) -> u64 {
        samples(&self.ranges)
    }
}

/// Rows in ranges.
pub(crate) fn samples(ranges: &[RowRange]) -> u64 {
    ranges.iter().map(|range| u64::from(range.rows())).sum()
}

/// Something that the scheduler has taken in or decided.
#[derive(Clone, Debug)]
pub(crate) enum Fact {
    /// A part opens for training.
    PartStarted,
    /// A rule takes over.
    Engaged(Gear),
    /// The rule in force is asked to come to its end.
    Drains,
    /// The part has no more blocks.
    Exhausted,
    /// A life of a worker counts from now on.
    Joined(WorkerId),
    /// It counts no more.
    Left(WorkerId),
    /// A worker waits for a batch.
    Waits(WorkerId),
    /// A batch is granted.
    Granted(Granted),
    /// Its lease ended.
    Lost(Granted),
    /// All servers hold its gradient.
    Pushed(Granted),
    /// Its gradient was refused.
    Failed(Granted),
    /// It came too late.
    Discarded(Granted),
    /// An update. With what is known of each member.
    Committed {
        /// The version it starts from.
        step: u64,
        /// The divisor.
        divisor: u64,
        /// The members.
        members: Vec<(LogMember, Option<Granted>)>,
    },
    /// All samples of a part have met their fate.
    PartTrained(PartId),
}

/// How things stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The gear in force.
    pub(crate) gear: Option<Gear>,
    /// Updates decided.
    pub(crate) step: u64,
    /// Samples that can be granted.
    pub(crate) pool: u64,
    /// Batches that are being computed.
    pub(crate) running: usize,
    /// Gradients (or their failures) that wait for their commit.
    pub(crate) held: usize,
    /// Workers that count.
    pub(crate) live: usize,
    /// Whether the rule in force was asked to come to its end.
    pub(crate) draining: bool,
    /// Whether the part has no more blocks.
    pub(crate) exhausted: bool,
}

impl Standing {
    /// Whether a batch of `size` samples, or a shorter last one, can be granted.
    pub(crate) fn can_grant(&self, size: u64) -> bool {
        self.pool >= size || (self.exhausted && self.pool > 0)
    }
}

/// A fact, and how things stood before it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) before: Standing,
    pub(crate) fact: Fact,
}
