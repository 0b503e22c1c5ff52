//! Where a bug gets between the roles.

use gearshift_cluster::{SchedulerInput, SchedulerOutput, ServerInput, WorkerInput, WorkerOutput};
use gearshift_types::{ServerId, Time, WorkerId};

use super::super::dice::Dice;
use crate::moment::{Delivery, Tamper};

/// A bug in what the scheduler hears.
pub(super) struct Heard<F>(pub(super) F);

impl<F: FnMut(&mut SchedulerInput) -> Delivery> Tamper for Heard<F> {
    fn to_scheduler(&mut self, _now: Time, input: &mut SchedulerInput) -> Delivery {
        (self.0)(input)
    }
}

/// A bug in what the scheduler says.
pub(super) struct Said<F>(pub(super) F);

impl<F: FnMut(&mut Vec<SchedulerOutput>)> Tamper for Said<F> {
    fn scheduler_said(&mut self, _now: Time, outputs: &mut Vec<SchedulerOutput>) {
        (self.0)(outputs);
    }
}

/// A bug in what servers hear.
pub(super) struct ServerHeard<F>(pub(super) F);

impl<F: FnMut(ServerId, &mut ServerInput) -> Delivery> Tamper for ServerHeard<F> {
    fn to_server(&mut self, _now: Time, server: ServerId, input: &mut ServerInput) -> Delivery {
        (self.0)(server, input)
    }
}

/// A bug in what workers hear.
pub(super) struct WorkerHeard<F>(pub(super) F);

impl<F: FnMut(WorkerId, &mut WorkerInput) -> Delivery> Tamper for WorkerHeard<F> {
    fn to_worker(&mut self, _now: Time, worker: WorkerId, input: &mut WorkerInput) -> Delivery {
        (self.0)(worker, input)
    }
}

/// A bug in what workers say.
pub(super) struct WorkerSaid<F>(pub(super) F);

impl<F: FnMut(&mut Vec<WorkerOutput>)> Tamper for WorkerSaid<F> {
    fn worker_said(&mut self, _now: Time, _worker: WorkerId, outputs: &mut Vec<WorkerOutput>) {
        (self.0)(outputs);
    }
}

/// Loses a message once in `times` times.
pub(super) fn lose(seed: u64, times: usize) -> impl FnMut(bool) -> Delivery {
    let mut dice = Dice::new(seed);
    move |may| if may && dice.one_in(times) { Delivery::Never } else { Delivery::Once }
}
