//! The model of workers that drives a rule: choices pick from the events that are possible now; in the end all
//! workers do their work until the rule is drained.

use gearshift_coordination::{Decision, Event, Rule};
use gearshift_types::{Step, WorkerId};

use crate::checks::{Violation, Watch};
use crate::setup::{Ending, Setup};

/// Pushes of a worker that are not acknowledged, plus the batch that it trains.
const LEASES_MAX: usize = 2;
/// Far more events than any run needs to end.
const EVENTS_MAX: usize = 20_000;

/// A run, event by event.
pub(crate) type Transcript = Vec<(Event, Vec<Decision>)>;

/// Runs `rule` to its end, or to the first violation (then all that the checkers find at that event).
pub(crate) fn run(setup: &Setup, rule: Box<dyn Rule>) -> Result<Transcript, Vec<Violation>> {
    let mut model = Model {
        watch: Watch::new(setup),
        rule,
        to_come: setup.samples,
        next_worker: 0,
        transcript: Vec::new(),
    };
    for &choice in &setup.choices {
        if let Some(event) = model.pick(choice) {
            model.feed(event)?;
        }
    }
    model.end()?;
    Ok(model.transcript)
}

struct Model {
    watch: Watch,
    rule: Box<dyn Rule>,
    to_come: u64,
    next_worker: u32,
    transcript: Transcript,
}

fn nth<T>(mut items: impl ExactSizeIterator<Item = T>, index: usize) -> Option<T> {
    let len = items.len();
    if len == 0 { None } else { items.nth(index % len) }
}

impl Model {
    fn feed(&mut self, event: Event) -> Result<(), Vec<Violation>> {
        let mut decisions = Vec::new();
        self.rule.on_event(event.clone(), &mut decisions);
        self.watch.see(&event, &decisions)?;
        self.transcript.push((event, decisions));
        Ok(())
    }

    fn join(&mut self) -> Event {
        self.next_worker += 1;
        Event::WorkerJoined { worker: WorkerId(self.next_worker) }
    }

    /// Live workers that may ask for a batch.
    fn askers(&self) -> Vec<WorkerId> {
        let books = &self.watch.books;
        let may_ask =
            |worker: &&WorkerId| !books.waiting.contains(worker) && books.leases_of(**worker) < LEASES_MAX;
        books.live.iter().filter(may_ask).copied().collect()
    }

    fn push(&self, index: usize, fewer: bool) -> Option<Event> {
        let books = &self.watch.books;
        let (&batch, lease) = nth(books.leases.iter(), index)?;
        // Pulled at some time between the grant and now.
        let version = Step(lease.granted_at.0 + index as u64 % (books.step.0 - lease.granted_at.0 + 1));
        let samples = if fewer { index as u32 % (lease.samples + 1) } else { lease.samples };
        Some(Event::GradientPushed { worker: lease.worker, batch, samples, version })
    }

    fn pick(&mut self, choice: u16) -> Option<Event> {
        let index = usize::from(choice / 32);
        let books = &self.watch.books;
        let lease = nth(books.leases.iter(), index);
        match choice % 32 {
            0..=1 if books.live.len() < self.watch.books.setup.workers_max as usize => Some(self.join()),
            2 => nth(books.live.iter(), index).map(|&worker| Event::WorkerLeft { worker }),
            3..=14 => nth(self.askers().into_iter(), index).map(|worker| Event::TokenRequested { worker }),
            15..=25 => self.push(index, index % 8 == 7),
            26 => lease.map(|(&batch, lease)| Event::GradientFailed { worker: lease.worker, batch }),
            27 => lease.map(|(&batch, _)| Event::LeaseEnded { batch }),
            28..=30 => self.more_samples(index as u64 % (2 * u64::from(books.setup.global()) + 1)),
            31 if index.is_multiple_of(16) => self.stop(index),
            _ => None,
        }
    }

    fn more_samples(&mut self, samples: u64) -> Option<Event> {
        let samples = samples.min(self.to_come);
        self.to_come -= samples;
        (samples > 0 && !self.watch.books.exhausted).then_some(Event::SamplesAvailable { samples })
    }

    /// One of the events that the setup ends with; the same one may come twice.
    fn stop(&self, index: usize) -> Option<Event> {
        let shift = match self.watch.books.setup.ending {
            Ending::DataExhausted => false,
            Ending::ShiftRequested => true,
            Ending::Both => (index / 16).is_multiple_of(2),
        };
        Some(if shift { Event::ShiftRequested } else { Event::DataExhausted })
    }

    /// All workers work on until the rule is drained; then events that must be met with silence.
    fn end(&mut self) -> Result<(), Vec<Violation>> {
        if let Some(event) = self.more_samples(u64::MAX) {
            self.feed(event)?;
        }
        let ending = self.watch.books.setup.ending;
        if ending != Ending::ShiftRequested {
            self.feed(Event::DataExhausted)?;
        }
        if ending != Ending::DataExhausted {
            self.feed(Event::ShiftRequested)?;
        }
        let mut events = 0;
        while !self.watch.books.drained {
            self.work()?;
            events += 1;
            if events > EVENTS_MAX {
                return Err(self.watch.stuck("the rule is not drained though all workers work on"));
            }
        }
        let late = self.join();
        self.feed(late)?;
        for worker in self.askers() {
            self.feed(Event::TokenRequested { worker })?;
        }
        self.feed(Event::ShiftRequested)
    }

    /// One event of a worker that does its work; data when a shift waits for them.
    fn work(&mut self) -> Result<(), Vec<Violation>> {
        let event = if let Some(&worker) = self.askers().first() {
            Event::TokenRequested { worker }
        } else if let Some(push) = self.push(0, false) {
            push
        } else if self.watch.books.live.is_empty() {
            self.join()
        } else if self.watch.books.exhausted {
            return Err(self.watch.stuck("all workers wait, nothing is on its way, data have ended"));
        } else {
            Event::SamplesAvailable { samples: self.watch.books.setup.global().into() }
        };
        self.feed(event)
    }
}
