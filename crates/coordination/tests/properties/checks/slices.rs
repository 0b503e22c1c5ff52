//! synchronous: a step is G samples (at the end of data what is left) in near-equal slices over the workers live
//! when its first slice is granted; lost slices are granted again first; members stand in slice order.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_coordination::{Decision, Event, Gear};
use gearshift_types::{BatchId, WorkerId};

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Slices {
    /// Sizes of the slices of the step under way, as they must be; empty between steps.
    sizes: Vec<u64>,
    fresh: usize,
    lost: BTreeSet<usize>,
    slice_of: BTreeMap<BatchId, usize>,
    /// Workers that had a slice of this step.
    served: BTreeSet<WorkerId>,
}

impl Slices {
    fn cut(&mut self, books: &Books) -> Checked {
        let global = i64::from(books.setup.global());
        let total = if books.exhausted { global.min(books.available) } else { global };
        hold!(total <= books.available, "a step is cut from {} samples", books.available);
        let (total, workers) = (total as u64, books.live.len() as u64);
        // By cumulated bounds, unlike the rule; sorted, since the longer slices come first.
        let bound = |index: u64| index * total / workers;
        self.sizes =
            (0..workers).map(|index| bound(index + 1) - bound(index)).filter(|&size| size > 0).collect();
        self.sizes.sort_unstable_by(|one, two| two.cmp(one));
        Ok(())
    }

    fn grant(&mut self, before: &Books, worker: WorkerId, batch: BatchId, samples: u32) -> Checked {
        if self.sizes.is_empty() {
            self.cut(before)?;
        }
        let slice = match self.lost.pop_first() {
            Some(lost) => lost,
            None => {
                hold!(
                    self.fresh < self.sizes.len(),
                    "worker {worker} starts, but step {} has no slice left",
                    before.step
                );
                let claims = before.live.difference(&self.served).count();
                let spare = self.sizes.len() - self.fresh > claims;
                hold!(spare || !self.served.contains(&worker), "worker {worker} takes the slice of another");
                self.fresh += 1;
                self.fresh - 1
            }
        };
        let size = self.sizes[slice];
        hold!(u64::from(samples) == size, "slice {slice} has {samples} samples, expected {size}");
        self.slice_of.insert(batch, slice);
        self.served.insert(worker);
        Ok(())
    }

    fn lose(&mut self, batch: BatchId) {
        let slice = self.slice_of.remove(&batch);
        self.lost.extend(slice);
    }
}

impl Check for Slices {
    fn name(&self) -> &'static str {
        "slices"
    }

    fn event(&mut self, before: &Books, event: &Event) -> Checked {
        if before.setup.gear != Gear::Synchronous {
            return Ok(());
        }
        match event {
            Event::WorkerLeft { worker } => {
                let of_worker = before.leases.iter().filter(|(_, lease)| lease.worker == *worker);
                of_worker.for_each(|(&batch, _)| self.lose(batch));
                self.served.remove(worker);
            }
            Event::LeaseEnded { batch } => {
                self.lose(*batch);
                self.served.remove(&before.leases[batch].worker);
            }
            _ => {}
        }
        Ok(())
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        match decision {
            _ if before.setup.gear != Gear::Synchronous => {}
            &Decision::Grant { worker, batch, samples, .. } => self.grant(before, worker, batch, samples)?,
            Decision::Commit(commit) => {
                let order: Vec<_> =
                    commit.members.iter().map(|member| self.slice_of.get(&member.batch)).collect();
                let expected: Vec<_> = (0..self.sizes.len()).collect();
                let expected: Vec<_> = expected.iter().map(Some).collect();
                hold!(order == expected, "slices {order:?} committed, expected {expected:?}");
                *self = Self::default();
            }
            _ => {}
        }
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        if books.setup.gear == Gear::Synchronous {
            let (held, slices) = (books.held.len(), self.sizes.len());
            hold!(held < slices || slices == 0, "all {slices} slices are held, but not committed");
        }
        Ok(())
    }
}
