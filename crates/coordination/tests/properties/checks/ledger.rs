//! Every sample is granted from what is available and ends in one commit or discard; every gradient is in
//! exactly one of them; divisors count all members' samples.

use std::collections::BTreeSet;

use gearshift_coordination::{Decision, Event};

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Ledger {
    arrived: i64,
    done: i64,
}

impl Check for Ledger {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn event(&mut self, _: &Books, event: &Event) -> Checked {
        if let Event::SamplesAvailable { samples } = event {
            self.arrived += *samples as i64;
        }
        Ok(())
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        match decision {
            Decision::Grant { worker, batch, samples, .. } => {
                let next = before.setup.at.next_batch.0 + before.grants;
                hold!(batch.0 == next, "batch {batch} granted, expected {next}");
                hold!(before.live.contains(worker), "grant to worker {worker}, which is not live");
                hold!(before.waiting.contains(worker), "grant to worker {worker}, which does not wait");
                let available = before.available;
                hold!(*samples > 0, "batch {batch} has no samples");
                hold!(i64::from(*samples) <= available, "{samples} granted of {available}");
            }
            Decision::Commit(commit) => {
                let mut seen = BTreeSet::new();
                let mut divisor = 0;
                for member in &commit.members {
                    let batch = member.batch;
                    hold!(seen.insert(batch), "batch {batch} is in a commit twice");
                    let Some(gradient) = before.held.get(&batch) else {
                        return Err(format!("batch {batch} is committed but not held"));
                    };
                    divisor += u64::from(gradient.samples);
                    self.done += i64::from(gradient.granted);
                }
                let said = commit.divisor_samples;
                hold!(divisor == said, "divisor {said}, its members have {divisor} samples");
            }
            Decision::Discard { batch, .. } => {
                let Some(gradient) = before.held.get(batch) else {
                    return Err(format!("batch {batch} is discarded but not held"));
                };
                self.done += i64::from(gradient.granted);
            }
            Decision::Drained => {}
        }
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let leased: i64 = books.leases.values().map(|lease| i64::from(lease.samples)).sum();
        let held: i64 = books.held.values().map(|gradient| i64::from(gradient.granted)).sum();
        let found = books.available + leased + held + self.done;
        hold!(found == self.arrived, "{} samples arrived, {found} are accounted for", self.arrived);
        Ok(())
    }
}
