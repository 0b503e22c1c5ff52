//! Waiting workers where each has one turn in every step.

use std::collections::BTreeMap;

use gearshift_types::WorkerId;

#[derive(Clone, Copy, Debug)]
struct Turn {
    /// The round in which it last had a turn.
    had: Option<u64>,
    /// Its place in the line while it waits.
    place: Option<u64>,
}

/// Who waits and who has had a turn in this round (one round per step).
#[derive(Debug, Default)]
pub(crate) struct Turns {
    round: u64,
    next: u64,
    workers: BTreeMap<WorkerId, Turn>,
    /// Live workers without a turn in this round, waiting or not.
    without_turn: usize,
    /// Waiting, no turn yet.
    due: BTreeMap<u64, WorkerId>,
    /// Waiting, had its turn.
    served: BTreeMap<u64, WorkerId>,
}

impl Turns {
    /// Live workers that have not had a turn in this round.
    pub(crate) fn without_turn(&self) -> usize {
        self.without_turn
    }

    /// A worker came.
    pub(crate) fn joined(&mut self, worker: WorkerId) {
        self.workers.insert(worker, Turn { had: None, place: None });
        self.without_turn += 1;
    }

    /// A worker is gone.
    pub(crate) fn left(&mut self, worker: WorkerId) {
        let Some(turn) = self.workers.remove(&worker) else { return };
        if turn.had != Some(self.round) {
            self.without_turn -= 1;
        }
        if let Some(place) = turn.place {
            self.due.remove(&place);
            self.served.remove(&place);
        }
    }

    /// A worker waits from now on.
    pub(crate) fn requested(&mut self, worker: WorkerId) {
        let place = self.next;
        let round = self.round;
        let turn = self.turn(worker);
        assert!(turn.place.is_none(), "worker {worker} asked for a batch while its last request waits");
        turn.place = Some(place);
        let served = turn.had == Some(round);
        if served { &mut self.served } else { &mut self.due }.insert(place, worker);
        self.next += 1;
    }

    /// The first waiting worker that has had no turn in this round.
    pub(crate) fn first_due(&self) -> Option<WorkerId> {
        self.due.first_key_value().map(|(_, &worker)| worker)
    }

    /// The first waiting worker.
    pub(crate) fn first(&self) -> Option<WorkerId> {
        let firsts = [self.due.first_key_value(), self.served.first_key_value()];
        firsts.into_iter().flatten().min().map(|(_, &worker)| worker)
    }

    /// A waiting worker has its turn.
    pub(crate) fn start(&mut self, worker: WorkerId) {
        let round = self.round;
        let turn = self.turn(worker);
        let first_turn = turn.had != Some(round);
        turn.had = Some(round);
        let place = turn.place.take();
        assert!(place.is_some(), "worker {worker} starts without having asked");
        if let Some(place) = place {
            self.due.remove(&place);
            self.served.remove(&place);
        }
        if first_turn {
            self.without_turn -= 1;
        }
    }

    /// A live worker's batch of this round was lost: it may have another turn.
    pub(crate) fn give_back(&mut self, worker: WorkerId) {
        let round = self.round;
        let turn = self.turn(worker);
        if turn.had != Some(round) {
            return;
        }
        turn.had = None;
        if let Some(place) = turn.place {
            self.served.remove(&place);
            self.due.insert(place, worker);
        }
        self.without_turn += 1;
    }

    /// A new step: everybody may have a turn again.
    pub(crate) fn new_round(&mut self) {
        self.round += 1;
        self.without_turn = self.workers.len();
        // Not `append`, which walks through all who are due already.
        self.due.extend(std::mem::take(&mut self.served));
    }

    fn turn(&mut self, worker: WorkerId) -> &mut Turn {
        let Some(turn) = self.workers.get_mut(&worker) else {
            panic!("worker {worker} asked for a batch but never joined, or left");
        };
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_due_again_after_a_new_round_or_a_lost_batch() {
        let mut turns = Turns::default();
        let (one, two) = (WorkerId(1), WorkerId(2));
        turns.joined(one);
        turns.joined(two);
        turns.requested(one);
        turns.start(one);
        turns.requested(one);
        assert_eq!((turns.first_due(), turns.first(), turns.without_turn()), (None, Some(one), 1));
        turns.give_back(one);
        assert_eq!((turns.first_due(), turns.without_turn()), (Some(one), 2));
        turns.start(one);
        turns.requested(two);
        turns.requested(one);
        assert_eq!((turns.first_due(), turns.first()), (Some(two), Some(two)));
        turns.left(two);
        assert_eq!((turns.first_due(), turns.first(), turns.without_turn()), (None, Some(one), 0));
        turns.new_round();
        assert_eq!((turns.first_due(), turns.without_turn()), (Some(one), 1));
    }
}
