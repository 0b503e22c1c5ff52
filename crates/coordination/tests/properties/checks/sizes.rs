//! A commit is a global batch (gba, k_batch: M local batches; synchronous: G) or a single push (asynchronous,
//! bounded_staleness); only the last one, when the data have ended, may be smaller. It is made as soon as it can be.

use gearshift_coordination::{Decision, Gear};

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Sizes {
    last_was_short: bool,
}

impl Check for Sizes {
    fn name(&self) -> &'static str {
        "sizes"
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        let Decision::Commit(commit) = decision else { return Ok(()) };
        let setup = &before.setup;
        hold!(!commit.members.is_empty(), "an empty commit");
        if setup.gear == Gear::BackupWorkers {
            return Ok(());
        }
        if setup.flows() {
            let order = commit.members.is_sorted_by_key(|member| member.batch);
            hold!(order, "members are not in grant order");
            if setup.per_step() == 1 {
                hold!(commit.members.len() == 1, "{} members, expected 1", commit.members.len());
                return Ok(());
            }
        }
        let full = match setup.gear {
            Gear::Synchronous => u64::from(setup.global()),
            _ => setup.per_step() * u64::from(setup.local()),
        };
        let granted = commit.members.iter().filter_map(|member| before.held.get(&member.batch));
        let granted: u64 = granted.map(|gradient| u64::from(gradient.granted)).sum();
        hold!(granted <= full, "a commit of {granted} samples, a full one has {full}");
        hold!(!self.last_was_short, "a commit after a short one");
        self.last_was_short = granted < full;
        let may_be_short = before.exhausted;
        hold!(!self.last_was_short || may_be_short, "{granted} samples of {full} before the end of data");
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let setup = &books.setup;
        if setup.flows() {
            // The one short batch that ends the data is kept for the last commit.
            let counts = |granted: u32| granted == setup.local() || setup.per_step() == 1;
            let held = books.held.values().filter(|gradient| counts(gradient.granted)).count() as u64;
            hold!(held < setup.per_step(), "{held} local batches are held, {} make a step", setup.per_step());
        }
        Ok(())
    }
}
