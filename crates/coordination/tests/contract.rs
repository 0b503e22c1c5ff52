//! Events that break the contract of `Event` stop the rule at once, in release too, with a message that names them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use gearshift_coordination::{BatchOptions, Engagement, Event, Gear, GearOptions, engage};
use gearshift_types::{BatchId, Step, WorkerId};

const ONE: WorkerId = WorkerId(1);
const TWO: WorkerId = WorkerId(2);

/// What `gear` says when `last` follows a start in which worker 1 trains batch 0 and worker 2 is live.
fn broken_by(gear: Gear, last: &[Event]) -> String {
    let batch = BatchOptions { global: 8, local: 4 };
    let at = Engagement { step: Step(0), next_batch: BatchId(0), batch };
    let mut rule = engage(gear, &GearOptions::default(), at).unwrap();
    let start = [
        Event::WorkerJoined { worker: ONE },
        Event::WorkerJoined { worker: TWO },
        Event::SamplesAvailable { samples: 100 },
        Event::TokenRequested { worker: ONE },
    ];
    let mut decisions = Vec::new();
    start.into_iter().for_each(|event| rule.on_event(event, &mut decisions));
    let run = AssertUnwindSafe(|| last.iter().for_each(|event| rule.on_event(event.clone(), &mut decisions)));
    let panic = catch_unwind(run).expect_err("the rule goes on");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

fn push(worker: WorkerId, batch: u64, samples: u32) -> Event {
    Event::GradientPushed { worker, batch: BatchId(batch), samples, version: Step(0) }
}

#[test]
fn every_gear_refuses_what_cannot_have_happened() {
    let stranger = WorkerId(9);
    let cases: &[(&[Event], &str)] = &[
        (&[push(ONE, 7, 4)], "batch 7 is not on lease"),
        (&[push(ONE, 0, 4), push(ONE, 0, 4)], "batch 0 is not on lease"),
        (&[push(TWO, 0, 4)], "batch 0 came from worker 2 but was granted to worker 1"),
        (&[push(ONE, 0, 5)], "pushed with 5 samples but only 4 were granted"),
        (&[Event::WorkerLeft { worker: ONE }, push(ONE, 0, 4)], "batch 0 is not on lease"),
        (&[Event::LeaseEnded { batch: BatchId(3) }], "batch 3 is not on lease"),
        (&[Event::WorkerJoined { worker: ONE }], "worker 1 joined twice"),
        (&[Event::WorkerLeft { worker: stranger }], "worker 9 left but never joined"),
        (&[Event::TokenRequested { worker: stranger }], "worker 9 asked for a batch but never joined"),
        (&[Event::DataExhausted, Event::SamplesAvailable { samples: 1 }], "after the end of data"),
    ];
    for gear in Gear::ALL {
        for (events, expected) in cases {
            let message = broken_by(gear, events);
            assert!(message.contains(expected), "{gear}, {events:?}: {message:?}, expected {expected:?}");
        }
    }
}

#[test]
fn a_second_request_while_the_first_waits_is_refused() {
    for gear in [Gear::Synchronous, Gear::BackupWorkers] {
        let again = Event::TokenRequested { worker: ONE };
        let message = broken_by(gear, &[again.clone(), again]);
        assert!(message.contains("worker 1 asked for a batch while its last request waits"), "{message}");
    }
    for gear in [Gear::Gba, Gear::Asynchronous, Gear::BoundedStaleness, Gear::KBatch] {
        // More than there are samples for.
        let events = vec![Event::TokenRequested { worker: ONE }; 40];
        let message = broken_by(gear, &events);
        assert!(message.contains("worker 1 asked for a batch while its last request waits"), "{message}");
    }
}
