//! What a worker and a server hand each other: pulls and pushes of rows and of a range of dense parameters.

use std::sync::Arc;

use crate::{BatchId, Key, Step, TableId, TableKeys};

/// Asks one server for rows and for its range of the dense parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PullRequest {
    /// Unique keys per table, all of them held by that server.
    pub tables: Vec<TableKeys>,
    /// Version of the dense range that the worker already has; an equal version is not sent again.
    pub dense_known: Option<Step>,
}

/// Rows of one table, `[keys, dim]` row-major in the order of the request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Length of one vector.
    pub dim: usize,
    /// The vectors (without optimizer slots).
    pub values: Vec<f32>,
}

/// The answer to a [`PullRequest`].
#[derive(Clone, Debug, PartialEq)]
pub struct PullReply {
    /// Number of updates the server had applied.
    pub version: Step,
    /// One entry per requested table.
    pub rows: Vec<Rows>,
    /// The server's range of the dense parameters; `None` when the worker has this version.
    pub dense: Option<Arc<[f32]>>,
}

/// Gradients of one table's rows: sums over the samples of a batch.
#[derive(Clone, Debug, PartialEq)]
pub struct TableGradients {
    /// The table.
    pub table: TableId,
    /// Unique keys.
    pub keys: Arc<[Key]>,
    /// `[keys, dim]` row-major sums.
    pub values: Vec<f32>,
}

/// The gradient of one batch, as far as one server holds the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// The batch.
    pub batch: BatchId,
    /// Samples summed over.
    pub samples: u32,
    /// Sums for the server's range of the dense parameters.
    pub dense: Vec<f32>,
    /// Sums for rows.
    pub tables: Vec<TableGradients>,
}
