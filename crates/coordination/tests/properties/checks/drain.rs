//! Shifts and ends of data: grants go up to the next full global batch and no further; `Drained` is said once,
//! at the first moment when nothing is left, held or on its way, and is followed by silence.

use gearshift_coordination::{Decision, Gear};

use super::{Check, Checked, hold};
use crate::books::Books;

pub(crate) struct Drain;

fn in_step(books: &Books) -> usize {
    let leased = books.leases.values().filter(|lease| lease.token.0 == books.step.0).count();
    let held = books.held.values().filter(|gradient| gradient.token.0 == books.step.0).count();
    leased + held
}

/// Whether the gear may grant one more while it drains.
fn may_grant(books: &Books) -> bool {
    let under_way = books.leases.len() + books.held.len();
    match books.setup.gear {
        Gear::Synchronous => books.begun,
        // That no more than N - b are granted is for the checker of backups to see.
        Gear::BackupWorkers => in_step(books) > 0,
        _ => !(under_way as u64).is_multiple_of(books.setup.per_step()),
    }
}

impl Check for Drain {
    fn name(&self) -> &'static str {
        "drain"
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        hold!(!before.drained, "{decision:?} after drained");
        match decision {
            Decision::Grant { batch, .. } if before.shifting => {
                hold!(may_grant(before), "batch {batch} is granted though the shift needs no more");
            }
            Decision::Drained => {
                let (leased, held) = (before.leases.len(), before.held.len());
                hold!(leased == 0, "drained with {leased} batches on their way");
                hold!(held == 0, "drained with {held} gradients held");
                let asked = before.shifting || before.is_spent();
                hold!(asked, "drained without a shift and with {} samples left", before.available);
            }
            _ => {}
        }
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let nothing = books.leases.is_empty() && books.held.is_empty();
        let over = books.is_spent() && books.leases.is_empty();
        hold!(books.drained || !over, "the data are used up, nothing is on its way, but it is not drained");
        // A synchronous step may be under way although all its slices granted so far are lost.
        let cut = books.setup.gear == Gear::Synchronous && books.begun;
        let shifted = books.shifting && nothing && !cut;
        hold!(
            books.drained || !shifted,
            "a shift is asked for, nothing is on its way, but it is not drained"
        );
        Ok(())
    }
}
