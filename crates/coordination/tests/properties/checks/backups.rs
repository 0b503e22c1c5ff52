//! backup_workers: a step takes exactly N - b gradients of its own, late ones are discarded as they come, and a
//! worker starts one batch per step.

use std::collections::{BTreeMap, BTreeSet};

use gearshift_coordination::{Decision, Event, Gear};
use gearshift_types::{BatchId, WorkerId};

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Backups {
    /// Workers that count in the step under way; all live ones until its first grant.
    counted: BTreeSet<WorkerId>,
    begun: bool,
    /// Who started which batch of this step and did not lose it.
    started: BTreeMap<BatchId, WorkerId>,
    last_was_short: bool,
}

impl Backups {
    fn needed(&self, books: &Books) -> usize {
        self.counted.len().saturating_sub(books.setup.options.backups as usize).max(1)
    }

    fn commit(&mut self, before: &Books, members: &[gearshift_types::Member]) -> Checked {
        let needed = self.needed(before);
        let found = members.len();
        hold!(found <= needed, "{found} gradients accepted, expected {needed}");
        hold!(!self.last_was_short, "a commit after a short one");
        self.last_was_short = found < needed;
        let at_the_end = before.is_spent() && before.leases.is_empty();
        hold!(found == needed || at_the_end, "{found} gradients accepted, expected {needed}");
        hold!(members.is_sorted_by_key(|member| member.batch), "members are not in grant order");
        for member in members {
            let Some(gradient) = before.held.get(&member.batch) else { continue };
            let late = gradient.token.0 != before.step.0;
            hold!(
                !late,
                "batch {} of token {} accepted in step {}",
                member.batch,
                gradient.token,
                before.step
            );
        }
        self.begun = false;
        self.counted = before.live.clone();
        self.started.clear();
        Ok(())
    }
}

impl Check for Backups {
    fn name(&self) -> &'static str {
        "backups"
    }

    fn event(&mut self, before: &Books, event: &Event) -> Checked {
        match event {
            Event::WorkerJoined { worker } if !self.begun => {
                self.counted.insert(*worker);
            }
            Event::WorkerLeft { worker } => {
                self.counted.remove(worker);
                self.started.retain(|batch, starter| starter != worker || !before.leases.contains_key(batch));
            }
            Event::LeaseEnded { batch } => {
                self.started.remove(batch);
            }
            _ => {}
        }
        Ok(())
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        if before.setup.gear != Gear::BackupWorkers {
            let discard = matches!(decision, Decision::Discard { .. });
            hold!(!discard, "{} discards a gradient", before.setup.gear);
            return Ok(());
        }
        match decision {
            Decision::Grant { worker, batch, .. } => {
                let again = self.started.values().any(|starter| starter == worker);
                hold!(!again, "worker {worker} starts a second batch of step {}", before.step);
                let filled = before.shifting && self.started.len() >= self.needed(before);
                hold!(!filled, "batch {batch} is granted beyond what the shift needs");
                self.started.insert(*batch, *worker);
                self.begun = true;
            }
            Decision::Commit(commit) => self.commit(before, &commit.members)?,
            Decision::Discard { batch, .. } => {
                let Some(gradient) = before.held.get(batch) else { return Ok(()) };
                let late = gradient.token.0 < before.step.0;
                hold!(late, "batch {batch} of step {} is discarded but not late", before.step);
            }
            Decision::Drained => {}
        }
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        if books.setup.gear == Gear::BackupWorkers {
            for (batch, gradient) in &books.held {
                let late = gradient.token.0 < books.step.0;
                hold!(!late, "late batch {batch} of token {} is kept at step {}", gradient.token, books.step);
            }
            let (held, needed) = (books.held.len(), self.needed(books));
            hold!(held < needed, "{held} gradients are held, {needed} make a step");
        }
        Ok(())
    }
}
