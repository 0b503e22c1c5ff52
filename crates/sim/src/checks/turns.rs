//! Whose turn it is in a step of the gears that go step by step, and how the synchronous gear cuts one.

use std::collections::BTreeSet;

use gearshift_types::WorkerId;

use super::facts::{Entry, Fact};

/// One synchronous step as it must be cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Samples of the step.
    pub(super) samples: u64,
    /// How many slices.
    pub(super) slices: u64,
    /// Slices granted for the first time.
    pub(super) granted: u64,
    /// Sizes of slices whose lease was lost.
    pub(super) lost: Vec<u64>,
}

impl Cut {
    /// Whether a fresh slice may have so many samples.
    pub(super) fn is_slice(&self, samples: u64) -> bool {
        let each = self.samples / self.slices.max(1);
        let longer = self.samples % self.slices.max(1);
        samples == each + u64::from(self.granted < longer)
    }
}

/// Turns of live workers.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    live: BTreeSet<WorkerId>,
    had: BTreeSet<WorkerId>,
    /// Joined after the step had begun.
    uncounted: BTreeSet<WorkerId>,
    begun: bool,
    pub(super) cut: Option<Cut>,
}

impl Turns {
    /// Takes note of a fact. `global` is G.
    pub(super) fn note(&mut self, entry: &Entry, global: u64) {
        match &entry.fact {
            Fact::Engaged(_) | Fact::Committed { .. } => {
                self.had.clear();
                self.uncounted.clear();
                self.begun = false;
                self.cut = None;
            }
            Fact::Joined(worker) => {
                self.live.insert(*worker);
                self.had.remove(worker);
                if self.begun {
                    self.uncounted.insert(*worker);
                }
            }
            Fact::Left(worker) => {
                self.live.remove(worker);
                self.had.remove(worker);
                self.uncounted.remove(worker);
            }
            Fact::Granted(granted) => {
                self.had.insert(granted.worker);
                self.begun = true;
                let samples = entry.before.pool.min(global);
                let slices = samples.min(self.live.len() as u64);
                let cut = self.cut.get_or_insert(Cut { samples, slices, granted: 0, lost: Vec::new() });
                match cut.lost.iter().position(|&lost| lost == granted.samples()) {
                    Some(lost) => drop(cut.lost.swap_remove(lost)),
                    None => cut.granted += 1,
                }
            }
            Fact::Lost(granted) => {
                if granted.token.0 == entry.before.step {
                    self.had.remove(&granted.worker);
                }
                if let Some(cut) = &mut self.cut {
                    cut.lost.push(granted.samples());
                }
            }
            _ => {}
        }
    }

    pub(super) fn has_had(&self, worker: WorkerId) -> bool {
        self.had.contains(&worker)
    }

    /// Live workers that have not had a turn.
    pub(super) fn without_turn(&self) -> u64 {
        self.live.iter().filter(|worker| !self.had.contains(worker)).count() as u64
    }

    /// N - b, at least 1: gradients that a step of backup workers takes.
    pub(super) fn needed(&self, backups: u32) -> usize {
        (self.live.len() - self.uncounted.len()).saturating_sub(backups as usize).max(1)
    }

    /// Forgets everybody.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
