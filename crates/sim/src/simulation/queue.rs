//! The queue of what is going to happen, in the order of time; what happens at the same time happens in the order
//! in which it was caused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gearshift_cluster::{SchedulerInput, ServerInput, WorkerInput};
use gearshift_types::{Time, WorkerEpoch};

/// A host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Scheduler,
    Server(u32),
    Worker(u32),
}

/// Something to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// A message of so many bytes stands before the receiver's card; what happens once it has passed it.
    Reached { from: Place, to: Place, bytes: u64, then: Box<Event> },
    /// A message arrives at the scheduler. With the life of the worker that sent it, if it was one.
    ToScheduler(SchedulerInput, Option<(u32, WorkerEpoch)>),
    /// A message arrives at a server.
    ToServer(u32, ServerInput, Option<(u32, WorkerEpoch)>),
    /// A message arrives at a life of a worker.
    ToWorker(u32, WorkerEpoch, WorkerInput),
    /// The scheduler has time for its next message.
    SchedulerReady,
    /// A server has time for its next message.
    ServerReady(u32),
    /// A computation is done, unless it was put off meanwhile.
    Computed { worker: u32, epoch: WorkerEpoch, number: u64 },
    /// A worker says that it lives.
    Heartbeat(u32, WorkerEpoch),
    /// The scheduler looks at its clock.
    Tick,
    /// A fault of the plan.
    Fault(usize),
    /// A worker starts anew.
    Restart(u32),
    /// A worker that stood still goes on.
    GoOn(u32, WorkerEpoch),
    /// Everything goes on from the last checkpoint.
    RollBack,
}

/// Events by time. The heap holds small entries; the events lie in slots that are used again.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Time, u64, u32)>>,
    slots: Vec<Option<Event>>,
    free: Vec<u32>,
    number: u64,
}

impl Queue {
    pub(crate) fn push(&mut self, at: Time, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.slots[slot as usize] = Some(event);
        self.heap.push(Reverse((at, self.number, slot)));
        self.number += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<(Time, Event)> {
        let Reverse((at, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        self.slots[slot as usize].take().map(|event| (at, event))
    }

    /// Forgets all but what `keep` says.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Event) -> bool) {
        let mut kept = Vec::new();
        while let Some((at, event)) = self.pop() {
            if keep(&event) {
                kept.push((at, event));
            }
        }
        for (at, event) in kept {
            self.push(at, event);
        }
    }
}
