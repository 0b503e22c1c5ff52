//! The live workers and the batches granted to them that are neither pushed nor lost.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_types::{BatchId, Token, WorkerId};

use crate::event::Decision;

/// One granted batch on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    /// Who trains it.
    pub(crate) worker: WorkerId,
    /// The step it counts toward.
    pub(crate) token: Token,
    /// Samples granted.
    pub(crate) samples: u32,
}

/// All leases, by batch and by worker. A worker may hold several: it asks for the next batch before its last
/// push is acknowledged.
#[derive(Debug)]
pub(crate) struct Leases {
    next_batch: BatchId,
    of_batch: BTreeMap<BatchId, Lease>,
    of_worker: BTreeMap<WorkerId, BTreeSet<BatchId>>,
}

impl Leases {
    /// No workers, no leases; the first batch will be `next_batch`.
    pub(crate) fn new(next_batch: BatchId) -> Self {
        Self { next_batch, of_batch: BTreeMap::new(), of_worker: BTreeMap::new() }
    }

    /// Leases not yet pushed or lost.
    pub(crate) fn outstanding(&self) -> usize {
        self.of_batch.len()
    }

    /// Number of live workers.
    pub(crate) fn live(&self) -> usize {
        self.of_worker.len()
    }

    /// A worker asks for a batch; it must be live.
    pub(crate) fn requested(&self, worker: WorkerId) {
        let live = self.of_worker.contains_key(&worker);
        assert!(live, "worker {worker} asked for a batch but never joined, or left");
    }

    /// A worker came.
    pub(crate) fn joined(&mut self, worker: WorkerId) {
        let before = self.of_worker.insert(worker, BTreeSet::new());
        assert!(before.is_none(), "worker {worker} joined twice");
    }

    /// A worker is gone; gives the leases that it takes with it.
    pub(crate) fn left(&mut self, worker: WorkerId) -> Vec<(BatchId, Lease)> {
        let Some(batches) = self.of_worker.remove(&worker) else {
            panic!("worker {worker} left but never joined");
        };
        let take = |batch| match self.of_batch.remove(&batch) {
            Some(lease) => (batch, lease),
            None => panic!("batch {batch} is over but still counted for worker {worker}"),
        };
        batches.into_iter().map(take).collect()
    }

    /// Grants the next batch to `worker` and says so.
    pub(crate) fn grant(
        &mut self,
        worker: WorkerId,
        token: Token,
        samples: u32,
        decisions: &mut Vec<Decision>,
    ) -> BatchId {
        let batch = self.next_batch;
        self.next_batch = BatchId(batch.0 + 1);
        let Some(batches) = self.of_worker.get_mut(&worker) else {
            panic!("batch {batch} granted to worker {worker}, which is not live");
        };
        batches.insert(batch);
        self.of_batch.insert(batch, Lease { worker, token, samples });
        decisions.push(Decision::Grant { worker, batch, token, samples });
        batch
    }

    /// The lease of `batch` is over: pushed by `worker`, failed, or lost (then `worker` is `None`).
    pub(crate) fn close(&mut self, batch: BatchId, worker: Option<WorkerId>) -> Lease {
        let Some(lease) = self.of_batch.remove(&batch) else {
            panic!("batch {batch} is not on lease: never granted, pushed before, or lost");
        };
        if let Some(worker) = worker {
            assert!(
                lease.worker == worker,
                "batch {batch} came from worker {worker} but was granted to worker {}",
                lease.worker
            );
        }
        if let Some(batches) = self.of_worker.get_mut(&lease.worker) {
            batches.remove(&batch);
        }
        lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaving_worker_takes_only_its_own_open_leases() {
        let mut leases = Leases::new(BatchId(7));
        let mut said = Vec::new();
        leases.joined(WorkerId(1));
        leases.joined(WorkerId(2));
        let first = leases.grant(WorkerId(1), Token(0), 4, &mut said);
        let second = leases.grant(WorkerId(1), Token(0), 4, &mut said);
        let third = leases.grant(WorkerId(2), Token(1), 4, &mut said);
        assert_eq!((first, second, third), (BatchId(7), BatchId(8), BatchId(9)));
        assert_eq!(leases.close(first, Some(WorkerId(1))).token, Token(0));
        let lost: Vec<_> = leases.left(WorkerId(1)).into_iter().map(|(batch, _)| batch).collect();
        assert_eq!(lost, [second]);
        assert_eq!((leases.outstanding(), leases.live()), (1, 1));
    }

    #[test]
    #[should_panic(expected = "batch 0 came from worker 2 but was granted to worker 1")]
    fn a_push_by_the_wrong_worker_breaks_the_contract() {
        let mut leases = Leases::new(BatchId(0));
        leases.joined(WorkerId(1));
        leases.joined(WorkerId(2));
        leases.grant(WorkerId(1), Token(0), 4, &mut Vec::new());
        leases.close(BatchId(0), Some(WorkerId(2)));
    }
}
