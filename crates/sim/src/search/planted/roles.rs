//! Bugs in what servers and workers hear and say.

use gearshift_cluster::{
    Refusal, SchedulerInput, ServerInput, ToServer, ToWorker, WorkerInput, WorkerOutput,
};
use gearshift_types::{ServerId, Step, WorkerId};

use super::super::dice::Dice;
use super::seams::{ServerHeard, WorkerHeard, WorkerSaid, lose};
use crate::moment::{Delivery, Tamper};

pub(super) fn commit_twice(seed: u64) -> Box<dyn Tamper> {
    let mut dice = Dice::new(seed);
    Box::new(ServerHeard(move |_, input: &mut ServerInput| {
        let commit = matches!(input, ServerInput::Scheduler(ToServer::Commit(_)));
        if commit && dice.one_in(5) { Delivery::Twice } else { Delivery::Once }
    }))
}

pub(super) fn lost_commit(seed: u64) -> Box<dyn Tamper> {
    let mut lose = lose(seed, 5);
    Box::new(ServerHeard(move |server: ServerId, input: &mut ServerInput| {
        lose(server == ServerId(0) && matches!(input, ServerInput::Scheduler(ToServer::Commit(_))))
    }))
}

pub(super) fn swapped_members(_: u64) -> Box<dyn Tamper> {
    Box::new(ServerHeard(|_, input: &mut ServerInput| {
        if let ServerInput::Scheduler(ToServer::Commit(commit)) = input {
            commit.members.reverse();
        }
        Delivery::Once
    }))
}

pub(super) fn refusal_as_receipt(_: u64) -> Box<dyn Tamper> {
    Box::new(WorkerHeard(|_, input: &mut WorkerInput| {
        if let WorkerInput::Refused { server, batch, refusal: Refusal::BadGradient(_) } = input {
            *input = WorkerInput::Held { server: *server, batch: *batch };
        }
        Delivery::Once
    }))
}

pub(super) fn hasty_pull(_: u64) -> Box<dyn Tamper> {
    Box::new(ServerHeard(|_, input: &mut ServerInput| {
        if let ServerInput::Pull { min_step, .. } = input {
            *min_step = None;
        }
        Delivery::Once
    }))
}

pub(super) fn old_version(_: u64) -> Box<dyn Tamper> {
    Box::new(WorkerSaid(|outputs: &mut Vec<WorkerOutput>| {
        for output in outputs {
            if let WorkerOutput::Scheduler(SchedulerInput::Pushed { report, .. }) = output {
                for version in &mut report.versions {
                    *version = Step(version.0.saturating_sub(1));
                }
            }
        }
    }))
}

pub(super) fn shifted_rows(_: u64) -> Box<dyn Tamper> {
    Box::new(WorkerHeard(|_, input: &mut WorkerInput| {
        if let WorkerInput::Scheduler(ToWorker::Train(assignment)) = input {
            for range in assignment.ranges.iter_mut().filter(|range| range.start > 0) {
                range.start -= 1;
                range.end -= 1;
            }
        }
        Delivery::Once
    }))
}

pub(super) fn lost_release(_: u64) -> Box<dyn Tamper> {
    Box::new(ServerHeard(|_, input: &mut ServerInput| {
        let release = matches!(input, ServerInput::Scheduler(ToServer::Release(_)));
        if release { Delivery::Never } else { Delivery::Once }
    }))
}

pub(super) fn lost_receipts(_: u64) -> Box<dyn Tamper> {
    Box::new(WorkerHeard(|worker: WorkerId, input: &mut WorkerInput| {
        let receipt = worker == WorkerId(0) && matches!(input, WorkerInput::Held { .. });
        if receipt { Delivery::Never } else { Delivery::Once }
    }))
}

pub(super) fn wrong_sign(seed: u64) -> Box<dyn Tamper> {
    let mut dice = Dice::new(seed);
    Box::new(ServerHeard(move |_, input: &mut ServerInput| {
        if let ServerInput::Push { push, .. } = input
            && dice.one_in(5)
        {
            push.dense.iter_mut().for_each(|value| *value = -*value);
        }
        Delivery::Once
    }))
}

pub(super) fn other_scale(_: u64) -> Box<dyn Tamper> {
    Box::new(ServerHeard(|server: ServerId, input: &mut ServerInput| {
        if let ServerInput::Scheduler(ToServer::Scale { scale, .. }) = input
            && server != ServerId(0)
        {
            *scale *= 0.5;
        }
        Delivery::Once
    }))
}

pub(super) fn wrong_rows(_: u64) -> Box<dyn Tamper> {
    Box::new(WorkerHeard(|_, input: &mut WorkerInput| {
        if let WorkerInput::Rows { reply, .. } = input {
            for rows in &mut reply.rows {
                rows.values.iter_mut().for_each(|value| *value += 0.25);
            }
        }
        Delivery::Once
    }))
}
