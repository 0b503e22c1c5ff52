//! Waiting workers under a bound on how far they may run ahead of the slowest.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_types::WorkerId;

use crate::arrivals::Line;

#[derive(Clone, Copy, Debug)]
struct Clock {
    finished: u64,
    running: u64,
    place: Option<u64>,
}

impl Clock {
    /// What the clock will show when all running batches are finished. A worker asks for its next batch before
    /// its last push is acknowledged; counting that one keeps the bound true for every batch that runs.
    fn when_done(&self) -> u64 {
        self.finished + self.running
    }
}

/// Workers in order of arrival, those that are too far ahead set aside until the slowest has caught up.
#[derive(Debug)]
pub(crate) struct Clocks {
    bound_clocks: u64,
    next: u64,
    clocks: BTreeMap<WorkerId, Clock>,
    /// Live workers by clock; the first key is the slowest clock.
    workers_at: BTreeMap<u64, usize>,
    ready: BTreeMap<u64, WorkerId>,
    /// (clock when done, place, worker).
    blocked: BTreeSet<(u64, u64, WorkerId)>,
}

impl Clocks {
    /// A worker may start while its clock is at most the slowest plus `bound_clocks`.
    pub(crate) fn new(bound_clocks: u32) -> Self {
        Self {
            bound_clocks: u64::from(bound_clocks),
            next: 0,
            clocks: BTreeMap::new(),
            workers_at: BTreeMap::new(),
            ready: BTreeMap::new(),
            blocked: BTreeSet::new(),
        }
    }

    fn slowest(&self) -> u64 {
        self.workers_at.first_key_value().map_or(0, |(&clock, _)| clock)
    }

    /// The largest clock that may start.
    fn limit(&self) -> u64 {
        self.slowest() + self.bound_clocks
    }

    fn clock(&self, worker: WorkerId) -> Clock {
        self.clocks[&worker]
    }

    fn leave_clock(&mut self, clock: u64) {
        if let Some(workers) = self.workers_at.get_mut(&clock) {
            *workers -= 1;
            if *workers == 0 {
                self.workers_at.remove(&clock);
            }
        }
    }

    /// Puts a waiting worker where it belongs.
    fn enqueue(&mut self, worker: WorkerId, when_done: u64, place: u64) {
        if when_done <= self.limit() {
            self.ready.insert(place, worker);
        } else {
            self.blocked.insert((when_done, place, worker));
        }
    }

    fn dequeue(&mut self, worker: WorkerId, clock: Clock) {
        if let Some(place) = clock.place
            && self.ready.remove(&place).is_none()
        {
            self.blocked.remove(&(clock.when_done(), place, worker));
        }
    }

    /// Lets those go that the slowest clock no longer holds back.
    fn unblock(&mut self) {
        let limit = self.limit();
        while let Some(&(when_done, place, worker)) = self.blocked.first()
            && when_done <= limit
        {
            self.blocked.pop_first();
            self.ready.insert(place, worker);
        }
    }
}

impl Line for Clocks {
    /// A worker that joins starts at the slowest clock: it holds nobody back that was not held back before.
    fn joined(&mut self, worker: WorkerId) {
        let finished = self.slowest();
        self.clocks.insert(worker, Clock { finished, running: 0, place: None });
        *self.workers_at.entry(finished).or_default() += 1;
    }

    fn left(&mut self, worker: WorkerId) {
        let Some(clock) = self.clocks.remove(&worker) else { return };
        self.dequeue(worker, clock);
        self.leave_clock(clock.finished);
        self.unblock();
    }

    fn requested(&mut self, worker: WorkerId) {
        let mut clock = self.clock(worker);
        assert!(clock.place.is_none(), "worker {worker} asked for a batch while its last request waits");
        let place = self.next;
        self.next += 1;
        clock.place = Some(place);
        self.clocks.insert(worker, clock);
        self.enqueue(worker, clock.when_done(), place);
    }

    fn is_open(&self) -> bool {
        !self.ready.is_empty()
    }

    fn start_next(&mut self) -> Option<WorkerId> {
        let (_, worker) = self.ready.pop_first()?;
        let clock = self.clocks.get_mut(&worker)?;
        clock.place = None;
        clock.running += 1;
        Some(worker)
    }

    fn finished(&mut self, worker: WorkerId) {
        let mut clock = self.clock(worker);
        self.leave_clock(clock.finished);
        clock.finished += 1;
        clock.running -= 1;
        self.clocks.insert(worker, clock);
        *self.workers_at.entry(clock.finished).or_default() += 1;
        self.unblock();
    }

    /// A lost batch does not advance the clock, and the worker is less far ahead than it seemed.
    fn lost(&mut self, worker: WorkerId) {
        let mut clock = self.clock(worker);
        self.dequeue(worker, clock);
        clock.running -= 1;
        self.clocks.insert(worker, clock);
        if let Some(place) = clock.place {
            self.enqueue(worker, clock.when_done(), place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_worker_goes_when_the_slowest_catches_up_or_leaves() {
        let mut clocks = Clocks::new(1);
        let (fast, slow) = (WorkerId(1), WorkerId(2));
        clocks.joined(fast);
        clocks.joined(slow);
        for _ in 0..2 {
            clocks.requested(fast);
            assert_eq!(clocks.start_next(), Some(fast));
            clocks.finished(fast);
        }
        clocks.requested(fast);
        assert_eq!(clocks.start_next(), None, "clock 2 > slowest 0 + bound 1");
        clocks.requested(slow);
        assert_eq!(clocks.start_next(), Some(slow));
        clocks.lost(slow);
        assert_eq!(clocks.start_next(), None, "a lost batch does not advance the slowest");
        clocks.requested(slow);
        assert_eq!(clocks.start_next(), Some(slow));
        clocks.finished(slow);
        assert_eq!(clocks.start_next(), Some(fast));
        clocks.finished(fast);
        clocks.requested(fast);
        assert_eq!(clocks.start_next(), None);
        clocks.left(slow);
        assert_eq!(clocks.start_next(), Some(fast));
    }

    #[test]
    fn unacknowledged_batches_count() {
        let mut clocks = Clocks::new(0);
        clocks.joined(WorkerId(1));
        clocks.requested(WorkerId(1));
        assert_eq!(clocks.start_next(), Some(WorkerId(1)));
        clocks.requested(WorkerId(1));
        assert_eq!(clocks.start_next(), None);
        clocks.finished(WorkerId(1));
        assert_eq!(clocks.start_next(), Some(WorkerId(1)));
    }
}
