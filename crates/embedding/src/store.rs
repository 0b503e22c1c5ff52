//! What a server needs of its shard; an empty implementation lets the simulator run without arithmetic.

use gearshift_types::{BatchId, Commit, Key, PullReply, PullRequest, Push, Step, TableId};

/// Why a store refused something.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// A gradient that is not finite in a row.
    #[error(
        "batch {batch}: gradient of table {table}, key {key} is not finite ({value}); the push is refused"
    )]
    NonFiniteRow {
        /// The batch.
        batch: BatchId,
        /// The table, by name.
        table: String,
        /// The key.
        key: Key,
        /// The value found.
        value: f32,
    },
    /// A gradient that is not finite in the dense parameters.
    #[error("batch {batch}: gradient of dense tensor {tensor} is not finite ({value}); the push is refused")]
    NonFiniteDense {
        /// The batch.
        batch: BatchId,
        /// The tensor, by name.
        tensor: String,
        /// The value found.
        value: f32,
    },
    /// A request that does not fit the shard's tables or dense range.
    #[error("{what}: expected {expected}, got {got}; worker and server do not run the same job")]
    Shape {
        /// What was looked at.
        what: String,
        /// What the shard has.
        expected: String,
        /// What came.
        got: String,
    },
    /// A table that the shard does not have.
    #[error("table {table:?} is not among the {tables} tables of this shard")]
    UnknownTable {
        /// The table.
        table: TableId,
        /// How many there are.
        tables: usize,
    },
    /// Finite gradients whose weighted sum overflows.
    #[error(
        "commit of step {step}: the summed gradient of {what} is not finite ({value}); nothing is applied"
    )]
    NonFiniteSum {
        /// The step.
        step: Step,
        /// Table and key, or dense tensor.
        what: String,
        /// The value found.
        value: f32,
    },
    /// A commit names a batch that is not held.
    #[error("commit of step {step} names batch {batch}, which this shard does not hold")]
    NotHeld {
        /// The step.
        step: Step,
        /// The batch.
        batch: BatchId,
    },
    /// A commit out of order.
    #[error("commit of step {got} came when step {expected} was due")]
    OutOfOrder {
        /// The version of the shard.
        expected: Step,
        /// The commit's step.
        got: Step,
    },
}

/// Lookup, hold, apply.
pub trait Store: Send {
    /// Number of commits applied.
    fn version(&self) -> Step;

    /// Rows and dense range as of [`Store::version`]. Creates no rows: the start of a row that does not exist is
    /// computed from (seed, table, key).
    ///
    /// # Errors
    /// When the request does not fit the shard.
    fn pull(&mut self, request: &PullRequest) -> Result<PullReply, StoreError>;

    /// Holds a gradient until its commit or release. A refused gradient is not held.
    ///
    /// # Errors
    /// When it does not fit the shard or is not finite.
    fn hold(&mut self, push: Push) -> Result<(), StoreError>;

    /// Forgets a held gradient (lost lease, discard). Whether it was held.
    fn release(&mut self, batch: BatchId) -> bool;

    /// For clipping by global norm: the squared L2 norm of the commit's mean gradient, per partition owned
    /// (partition, sum), so that the total does not depend on the number of servers.
    ///
    /// # Errors
    /// As [`Store::apply`].
    fn squared_norms(&mut self, commit: &Commit) -> Result<Vec<(u32, f64)>, StoreError>;

    /// Sums the members with weight > 0 in the order of the commit, divides, multiplies by `scale` (1 unless
    /// clipped), runs the optimizers, forgets the members. With all weights 0 only the version moves.
    ///
    /// # Errors
    /// When the commit is out of order or a member with weight > 0 is not held; nothing has changed then.
    fn apply(&mut self, commit: &Commit, scale: f32) -> Result<(), StoreError>;
}
