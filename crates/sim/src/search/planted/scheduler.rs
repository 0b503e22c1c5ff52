//! Bugs in what the scheduler hears and says.

use std::collections::BTreeSet;

use gearshift_cluster::{Assignment, LogEntry, Notice, SchedulerInput, SchedulerOutput, ToServer, ToWorker};
use gearshift_types::BatchId;

use super::super::dice::Dice;
use super::seams::{Heard, Said, lose};
use crate::moment::{Delivery, Tamper};

pub(super) fn lost_block(seed: u64) -> Box<dyn Tamper> {
    let mut lose = lose(seed, 5);
    Box::new(Heard(move |input: &mut SchedulerInput| {
        lose(matches!(input, SchedulerInput::BlockRead { rows: 1.., .. }))
    }))
}

pub(super) fn block_twice(seed: u64) -> Box<dyn Tamper> {
    let mut dice = Dice::new(seed);
    Box::new(Heard(move |input: &mut SchedulerInput| {
        let block = matches!(input, SchedulerInput::BlockRead { rows: 1.., .. });
        if block && dice.one_in(5) { Delivery::Twice } else { Delivery::Once }
    }))
}

pub(super) fn unsaid_release(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        outputs.retain(|output| !matches!(output, SchedulerOutput::Servers(ToServer::Release(_))));
    }))
}

pub(super) fn forgetful_checkpoint(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        for output in outputs {
            if let SchedulerOutput::FinishCheckpoint { position, .. } = output
                && let Some(range) = position.resolved.first_mut()
            {
                range.start += 1;
            }
        }
    }))
}

/// The grants among what the scheduler says.
fn grants(outputs: &mut [SchedulerOutput]) -> impl Iterator<Item = &mut Assignment> {
    outputs.iter_mut().filter_map(|output| match output {
        SchedulerOutput::Worker { message: ToWorker::Train(assignment), .. } => Some(assignment),
        _ => None,
    })
}

pub(super) fn early_token(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        grants(outputs).for_each(|assignment| assignment.token.0 += 1);
    }))
}

/// The position steps on with each grant and never back.
pub(super) fn drifting_token(_: u64) -> Box<dyn Tamper> {
    let mut lost = 0;
    Box::new(Said(move |outputs: &mut Vec<SchedulerOutput>| {
        lost += outputs
            .iter()
            .filter(|output| {
                matches!(output, SchedulerOutput::Notice(Notice::WorkerLeft { samples: 1.., .. }))
            })
            .count() as u64;
        grants(outputs).for_each(|assignment| assignment.token.0 += lost);
    }))
}

/// The commits among what the scheduler says, in the log and as servers are told.
fn change_commits(
    outputs: &mut [SchedulerOutput],
    mut change: impl FnMut(&mut u64, &mut Vec<(BatchId, &mut f32)>),
) {
    for output in outputs {
        match output {
            SchedulerOutput::Log(LogEntry::Commit { divisor_samples, members, .. }) => {
                let mut members =
                    members.iter_mut().map(|member| (member.batch, &mut member.weight)).collect();
                change(divisor_samples, &mut members);
            }
            SchedulerOutput::Servers(ToServer::Commit(commit)) => {
                let mut members =
                    commit.members.iter_mut().map(|member| (member.batch, &mut member.weight)).collect();
                change(&mut commit.divisor_samples, &mut members);
            }
            _ => {}
        }
    }
}

pub(super) fn small_divisor(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        change_commits(outputs, |divisor, members| {
            if members.iter().any(|(_, weight)| **weight == 0.0) {
                *divisor -= 1;
            }
        });
    }))
}

pub(super) fn heavy_refusal(_: u64) -> Box<dyn Tamper> {
    let mut refused = BTreeSet::new();
    Box::new(Said(move |outputs: &mut Vec<SchedulerOutput>| {
        for output in outputs.iter() {
            if let SchedulerOutput::Notice(Notice::GradientRefused { batch, .. }) = output {
                refused.insert(*batch);
            }
        }
        change_commits(outputs, |_, members| {
            for (batch, weight) in members {
                if refused.contains(batch) {
                    **weight = 1.0;
                }
            }
        });
    }))
}

pub(super) fn wrong_name(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        for output in outputs {
            if let SchedulerOutput::Log(LogEntry::Commit { members, .. }) = output {
                members.iter_mut().for_each(|member| member.worker.0 += 1);
            }
        }
    }))
}

pub(super) fn hasty_shift(_: u64) -> Box<dyn Tamper> {
    Box::new(Said(|outputs: &mut Vec<SchedulerOutput>| {
        let asked = outputs.iter().find_map(|output| match output {
            SchedulerOutput::Notice(Notice::ShiftRequested { to, step, .. }) => Some((*to, *step)),
            _ => None,
        });
        if let Some((gear, step)) = asked {
            outputs.push(SchedulerOutput::Log(LogEntry::Engaged { gear, step }));
        }
    }))
}

pub(super) fn withheld_grant(seed: u64) -> Box<dyn Tamper> {
    let mut dice = Dice::new(seed);
    Box::new(Said(move |outputs: &mut Vec<SchedulerOutput>| {
        outputs.retain(|output| {
            let grant = matches!(output, SchedulerOutput::Worker { message: ToWorker::Train(_), .. });
            !grant || !dice.one_in(10)
        });
    }))
}

pub(super) fn no_ticks(_: u64) -> Box<dyn Tamper> {
    Box::new(Heard(|input: &mut SchedulerInput| match input {
        SchedulerInput::Tick => Delivery::Never,
        _ => Delivery::Once,
    }))
}
