//! What happens to a rule and what it decides. Events in, decisions out.

use gearshift_types::{BatchId, Commit, DiscardReason, Step, Token, WorkerId};

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A worker can take tokens from now on. It holds none.
    WorkerJoined {
        /// Who.
        worker: WorkerId,
    },
    /// A worker is gone (death, lease end, leave). All batches granted to it and not yet pushed are lost; what
    /// it has pushed stays.
    WorkerLeft {
        /// Who.
        worker: WorkerId,
    },
    /// A worker is ready to start a batch. It waits, at most one request at a time, until a grant comes.
    TokenRequested {
        /// Who.
        worker: WorkerId,
    },
    /// All servers hold the gradient of a batch.
    GradientPushed {
        /// Who.
        worker: WorkerId,
        /// Which batch.
        batch: BatchId,
        /// Samples in it; at most those granted.
        samples: u32,
        /// Updates that the parameters had seen when they were pulled.
        version: Step,
    },
    /// The gradient of a batch was refused (not finite). Its place in the step is used up, with weight 0.
    GradientFailed {
        /// Who.
        worker: WorkerId,
        /// Which batch.
        batch: BatchId,
    },
    /// The lease of one granted batch ended; its samples are to be granted again, its worker stays.
    LeaseEnded {
        /// Which batch.
        batch: BatchId,
    },
    /// More samples can be granted. The rule takes off what it grants and puts back what is lost.
    SamplesAvailable {
        /// How many more.
        samples: u64,
    },
    /// No more samples will come under this rule: grant what is left, commit the remainder with its own
    /// number of samples as divisor, say `Drained`.
    DataExhausted,
    /// Grant up to the next full global batch and no further, commit it, say `Drained`.
    ShiftRequested,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The worker trains `samples` samples.
    Grant {
        /// Who.
        worker: WorkerId,
        /// The new batch; numbered in grant order.
        batch: BatchId,
        /// The step it counts toward.
        token: Token,
        /// How many samples.
        samples: u32,
    },
    /// Make an update. Every pushed batch is in exactly one commit or one discard.
    Commit(Commit),
    /// Leave a pushed batch out for good.
    Discard {
        /// Which batch.
        batch: BatchId,
        /// Why.
        reason: DiscardReason,
    },
    /// Nothing is granted or held any more, and nothing will be granted. Said once, last.
    Drained,
}
