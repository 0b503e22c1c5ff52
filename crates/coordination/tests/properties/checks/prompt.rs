//! Where workers may start at once (gba, k_batch, asynchronous; bounded_staleness within the bound), nobody waits
//! while there are samples; and those who wait are served in order of arrival.

use gearshift_coordination::{Decision, Event, Gear};
use gearshift_types::WorkerId;

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Prompt {
    arrivals: Vec<WorkerId>,
}

impl Check for Prompt {
    fn name(&self) -> &'static str {
        "prompt"
    }

    fn event(&mut self, _: &Books, event: &Event) -> Checked {
        match event {
            Event::TokenRequested { worker } => self.arrivals.push(*worker),
            Event::WorkerLeft { worker } => self.arrivals.retain(|waiting| waiting != worker),
            _ => {}
        }
        Ok(())
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        let Decision::Grant { worker, .. } = decision else { return Ok(()) };
        let gear = before.setup.gear;
        if before.setup.flows() && gear != Gear::BoundedStaleness {
            let first = self.arrivals.first();
            hold!(first == Some(worker), "worker {worker} served, but {first:?} came first");
        }
        self.arrivals.retain(|waiting| waiting != worker);
        Ok(())
    }

    fn settled(&mut self, books: &Books) -> Checked {
        let setup = &books.setup;
        let enough = books.available >= i64::from(setup.local()) || (books.exhausted && books.available > 0);
        let free = setup.flows() && setup.gear != Gear::BoundedStaleness;
        if free && enough && !books.shifting && !books.drained {
            hold!(books.waiting.is_empty(), "{:?} wait though there are samples", books.waiting);
        }
        Ok(())
    }
}
