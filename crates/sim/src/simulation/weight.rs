//! What messages weigh, in rows and bytes: as they are, or as a workload says where they carry nothing.

use gearshift_cluster::{ServerInput, ToServer, WorkerInput};
use gearshift_types::{PullReply, PullRequest, Push};

use super::network::MESSAGE_BYTES;
use crate::cluster::Workload;

/// Rows and bytes of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Weight {
    pub(crate) const SMALL: Self = Self { rows: 0, bytes: MESSAGE_BYTES };

    fn new(rows: u64, bytes: u64) -> Self {
        Self { rows, bytes: bytes + MESSAGE_BYTES }
    }
}

/// The share of one of `servers` servers in a workload's batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) workload: Workload,
    pub(crate) samples: u32,
    pub(crate) servers: u32,
}

impl Share {
    fn rows(self) -> u64 {
        let rows = self.workload.rows_per_sample * f64::from(self.samples);
        (rows / f64::from(self.servers)) as u64
    }

    fn row_bytes(self) -> u64 {
        4 * u64::from(self.workload.row_floats)
    }

    pub(crate) fn dense_bytes(self) -> u64 {
        4 * self.workload.dense_floats / u64::from(self.servers)
    }
}

pub(crate) fn of_pull(request: &PullRequest, share: Option<Share>) -> Weight {
    let rows =
        share.map_or_else(|| request.tables.iter().map(|table| table.keys.len() as u64).sum(), Share::rows);
    Weight::new(rows, 8 * rows)
}

pub(crate) fn of_push(push: &Push, share: Option<Share>) -> Weight {
    if let Some(share) = share {
        return Weight::new(share.rows(), share.rows() * (8 + share.row_bytes()) + share.dense_bytes());
    }
    let rows = push.tables.iter().map(|table| table.keys.len() as u64).sum();
    let floats: usize = push.tables.iter().map(|table| table.values.len()).sum();
    Weight::new(rows, 8 * rows + 4 * (floats + push.dense.len()) as u64)
}

pub(crate) fn of_reply(reply: &PullReply, share: Option<Share>) -> Weight {
    if let Some(share) = share {
        return Weight::new(share.rows(), share.rows() * share.row_bytes() + share.dense_bytes());
    }
    let rows = reply.rows.iter().map(|rows| (rows.values.len() / rows.dim.max(1)) as u64).sum();
    let floats: usize = reply.rows.iter().map(|rows| rows.values.len()).sum();
    let dense = reply.dense.as_ref().map_or(0, |dense| dense.len());
    Weight::new(rows, 4 * (floats + dense) as u64)
}

/// A message to a server.
pub(crate) fn of_server_input(input: &ServerInput, share: Option<Share>) -> Weight {
    match input {
        ServerInput::Pull { request, .. } => of_pull(request, share),
        ServerInput::Push { push, .. } => of_push(push, share),
        ServerInput::Scheduler(ToServer::Commit(commit)) => Weight::new(0, 12 * commit.members.len() as u64),
        ServerInput::Scheduler(_) => Weight::SMALL,
    }
}

/// A message to a worker.
pub(crate) fn of_worker_input(input: &WorkerInput, share: Option<Share>) -> Weight {
    match input {
        WorkerInput::Rows { reply, .. } => of_reply(reply, share),
        _ => Weight::SMALL,
    }
}
