//! Waiting workers, and who of them may start next.

use std::collections::BTreeMap;

use gearshift_types::WorkerId;

/// The line in which workers wait for a batch. A gear that lets everybody start uses [`Arrivals`].
pub(crate) trait Line: Send {
    /// A worker came.
    fn joined(&mut self, worker: WorkerId);
    /// A worker is gone.
    fn left(&mut self, worker: WorkerId);
    /// A worker waits from now on.
    fn requested(&mut self, worker: WorkerId);
    /// Whether any worker may start now.
    fn is_open(&self) -> bool;
    /// Takes the first worker that may start out of the line; it starts a batch.
    fn start_next(&mut self) -> Option<WorkerId>;
    /// A worker's batch was pushed or failed.
    fn finished(&mut self, worker: WorkerId);
    /// A batch of a worker was lost while the worker lives.
    fn lost(&mut self, worker: WorkerId);
}

/// Waiting workers in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    next: u64,
    line: BTreeMap<u64, WorkerId>,
    place_of: BTreeMap<WorkerId, u64>,
}

impl Line for Arrivals {
    fn joined(&mut self, _: WorkerId) {}

    fn left(&mut self, worker: WorkerId) {
        if let Some(place) = self.place_of.remove(&worker) {
            self.line.remove(&place);
        }
    }

    fn requested(&mut self, worker: WorkerId) {
        let before = self.place_of.insert(worker, self.next);
        assert!(before.is_none(), "worker {worker} asked for a batch while its last request waits");
        self.line.insert(self.next, worker);
        self.next += 1;
    }

    fn is_open(&self) -> bool {
        !self.line.is_empty()
    }

    fn start_next(&mut self) -> Option<WorkerId> {
        let (_, worker) = self.line.pop_first()?;
        self.place_of.remove(&worker);
        Some(worker)
    }

    fn finished(&mut self, _: WorkerId) {}

    fn lost(&mut self, _: WorkerId) {}
}
