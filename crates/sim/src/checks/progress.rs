//! progress: under any single death (announced or silent), pause, cut link, crash of a server or of the scheduler the
//! job goes on within lease + down time + the time of a step; nothing hangs; the run ends well.
//!
//! The bound in virtual time is the scenario's patience, beginning anew at each step forward and after each fault
//! (and as long as that lasts).

use std::rc::Rc;
use std::time::Duration;

use gearshift_cluster::{Notice, Outcome, SchedulerOutput};
use gearshift_types::Time;

use super::Check;
use super::books::Books;
use super::facts::Fact;
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Progress {
    told: Rc<Scenario>,
    patience: Duration,
    since: Time,
    deadline: Time,
    over: bool,
}

impl Progress {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        let patience = told.patience();
        Self { told, patience, since: Time(0), deadline: Time(0) + patience, over: false }
    }

    fn went_on(&mut self, now: Time) {
        self.since = now;
        self.deadline = self.deadline.max(now + self.patience);
    }

    fn ended(&mut self, outcome: &Outcome) -> Result<(), String> {
        self.over = true;
        match outcome {
            Outcome::Completed => Ok(()),
            Outcome::Stopped if self.told.is_stopped() => Ok(()),
            _ => Err(format!("the run ended with {outcome:?}")),
        }
    }
}

impl Check for Progress {
    const NAME: &'static str = "progress";

    fn check(&mut self, books: &Books, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        if now > self.deadline && !self.over {
            let (since, patience) = (now - self.since, self.patience);
            let (phase, standing, waiting) = (books.phase, books.standing(), &books.waiting);
            return Err(format!(
                "nothing moved for {since:?}, expected at most {patience:?} and the length of faults: {phase:?}, {standing:?}, {} live, waiting {waiting:?}, open {:?}",
                books.live.len(),
                books
                    .batches
                    .values()
                    .map(|granted| (granted.batch, granted.worker, granted.state))
                    .collect::<Vec<_>>()
            ));
        }
        match moment {
            Moment::SchedulerSays { outputs, .. } => {
                for output in *outputs {
                    match output {
                        SchedulerOutput::Finished(outcome) => self.ended(outcome)?,
                        SchedulerOutput::Notice(
                            Notice::EvaluationProgress { .. } | Notice::PartOver { .. },
                        ) => {
                            self.went_on(now);
                        }
                        _ => {}
                    }
                }
                let steps = |fact: &Fact| {
                    matches!(fact, Fact::Committed { .. } | Fact::Discarded(_) | Fact::PartStarted)
                };
                if books.facts.iter().any(|entry| steps(&entry.fact)) {
                    self.went_on(now);
                }
            }
            Moment::Fault(fault) => {
                let lasts = Duration::from_secs_f64(fault.seconds.unwrap_or(0.0));
                self.deadline = self.deadline.max(now + self.patience) + lasts;
            }
            Moment::RolledBack { .. } => {
                self.over = false;
                self.went_on(now);
            }
            _ => {}
        }
        Ok(())
    }
}
