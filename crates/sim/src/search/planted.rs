//! Planted bugs: what each checker is there to find. Either messages are changed as if a role or the transport were
//! wrong, or a job runs with looser settings than the checkers are told.

mod roles;
mod scheduler;
mod seams;

use std::rc::Rc;

use gearshift_coordination::{DecayKind, Gear, TokenKind};

use super::{Failure, Scenario, run_watched};
use crate::cluster::{Fault, FaultKind};
use crate::moment::Tamper;

/// How a bug gets in.
#[derive(Clone, Copy)]
enum How {
    /// Messages are changed; drawn from the seed.
    Tamper(fn(u64) -> Box<dyn Tamper>),
    /// The job runs with other settings than it should.
    Loosened(fn(&mut Scenario)),
}

/// A bug and the checker that must find it.
#[derive(Clone, Copy)]
pub struct Plant {
    /// What is wrong.
    pub bug: &'static str,
    /// Who must say so first.
    pub checker: &'static str,
    /// The gear in which it shows; any when `None`.
    pub gear: Option<Gear>,
    /// Settings that it needs to show.
    prepare: fn(&mut Scenario),
    how: How,
}

fn as_it_is(_: &mut Scenario) {}

/// A bug that needs no settings of its own.
fn plant(bug: &'static str, checker: &'static str, gear: Option<Gear>, how: How) -> Plant {
    Plant { bug, checker, gear, prepare: as_it_is, how }
}

/// All bugs.
#[must_use]
pub fn all() -> Vec<Plant> {
    [books(), roads(), rules(), waits()].concat()
}

/// In what is booked and decided.
fn books() -> Vec<Plant> {
    let tamper = How::Tamper;
    vec![
        plant("a block is read but never announced", "ledger", None, tamper(scheduler::lost_block)),
        plant("a block is announced twice", "ledger", None, tamper(scheduler::block_twice)),
        plant("a lost lease's rows do not come back", "ledger", None, tamper(scheduler::unsaid_release)),
        plant("a checkpoint forgets a trained row", "ledger", None, tamper(scheduler::forgetful_checkpoint)),
        plant("a refused gradient has weight", "ledger", None, tamper(scheduler::heavy_refusal)).poisoned(),
        plant("a commit arrives twice at a server", "commits", None, tamper(roles::commit_twice)),
        plant(
            "a commit is lost on its way to a server",
            "commits",
            Some(Gear::Asynchronous),
            tamper(roles::lost_commit),
        ),
        plant(
            "two members change places on the way",
            "commits",
            Some(Gear::Gba),
            tamper(roles::swapped_members),
        ),
        plant("a worker trains its neighbour's rows", "once", None, tamper(roles::shifted_rows)),
        plant("the log names another worker", "once", None, tamper(scheduler::wrong_name)),
    ]
}

/// In what travels between workers and servers.
fn roads() -> Vec<Plant> {
    let tamper = How::Tamper;
    let impatient: How = How::Loosened(|scenario| scenario.setup.worker.unacknowledged_max += 1);
    vec![
        plant("a worker takes a refusal for a receipt", "held", None, tamper(roles::refusal_as_receipt))
            .poisoned(),
        plant("a pull forgets its step", "pulls", Some(Gear::Synchronous), tamper(roles::hasty_pull)),
        plant("reports name an older version", "pulls", None, tamper(roles::old_version)),
        plant("a worker pushes on without waiting", "pace", None, impatient).far(),
        plant("a gradient is pushed with a wrong sign", "replay", None, tamper(roles::wrong_sign)),
        plant("one server clips by another scale", "replay", None, tamper(roles::other_scale)).clipped(),
        plant("a pull is answered with wrong rows", "replay", None, tamper(roles::wrong_rows)),
    ]
}

/// In the rules of the gears: jobs that run with other settings than they should, and what rules say.
fn rules() -> Vec<Plant> {
    let loosened = How::Loosened;
    let tamper = How::Tamper;
    let backups: How = loosened(|scenario| scenario.setup.scheduler.gears.backups += 1);
    let bound: How = loosened(|scenario| scenario.setup.scheduler.gears.bound_clocks += 1);
    let short: How = loosened(|scenario| scenario.setup.scheduler.batch.global -= 1);
    let double: How = loosened(|scenario| scenario.setup.scheduler.batch.global *= 2);
    let tolerant: How = loosened(|scenario| scenario.setup.scheduler.gears.tolerance_steps += 1);
    let one_more: How = loosened(|scenario| {
        let scheduler = &mut scenario.setup.scheduler;
        let usual = scheduler.batch.global / scheduler.batch.local;
        scheduler.gears.k_batches = Some(scheduler.gears.k_batches.unwrap_or(usual) + 1);
    });
    let divisor = tamper(scheduler::small_divisor);
    vec![
        plant("tokens run one ahead", "tokens", Some(Gear::Gba), tamper(scheduler::early_token)),
        plant("lost tokens drift", "tokens", Some(Gear::Gba), tamper(scheduler::drifting_token)),
        plant("k_batch takes one batch more", "tokens", Some(Gear::KBatch), one_more),
        plant("backup_workers waits for one less", "bounds", Some(Gear::BackupWorkers), backups),
        plant("the bound is one clock too large", "bounds", Some(Gear::BoundedStaleness), bound),
        plant("synchronous steps are a sample short", "bounds", Some(Gear::Synchronous), short),
        plant("gba's updates are two global batches", "bounds", Some(Gear::Gba), double).by_version(),
        plant("gba tolerates one step more", "weights", Some(Gear::Gba), tolerant).intolerant(),
        plant("the divisor leaves out what has no weight", "weights", Some(Gear::Gba), divisor).intolerant(),
    ]
}

/// In who waits for what.
fn waits() -> Vec<Plant> {
    let tamper = How::Tamper;
    let release = tamper(roles::lost_release);
    let clock = tamper(scheduler::no_ticks);
    vec![
        plant("a release is lost on its way to a server", "drained", Some(Gear::BackupWorkers), release),
        plant("a gear takes over while batches are open", "drained", None, tamper(scheduler::hasty_shift)),
        plant("a grant is decided but never sent", "starved", None, tamper(scheduler::withheld_grant)),
        plant("the scheduler's clock stands still", "progress", Some(Gear::Synchronous), clock).silent(),
        plant("a worker's acknowledgements are lost", "progress", None, tamper(roles::lost_receipts)),
    ]
}

/// What a bug was found by.
#[derive(Clone, Debug)]
pub struct Found {
    /// Seeds that it took.
    pub seeds: u64,
    /// The failure.
    pub failure: Failure,
}

impl Plant {
    fn poisoned(self) -> Self {
        Self { prepare: |scenario| scenario.poison_one_in = 5, ..self }
    }

    /// Answers are long on their way, and one push may wait for them.
    fn far(self) -> Self {
        Self {
            prepare: |scenario| {
                scenario.setup.cluster.network.latency_us = 5000.0;
                scenario.setup.worker.unacknowledged_max = 1;
            },
            ..self
        }
    }

    /// A worker falls silent for good.
    fn silent(self) -> Self {
        Self {
            prepare: |scenario| {
                scenario.setup.scheduler.workers = 3;
                let kind = FaultKind::WorkerVanish;
                scenario.setup.cluster.fault = vec![Fault { at_seconds: 0.01, kind, who: 1, seconds: None }];
            },
            ..self
        }
    }

    /// Nothing stale has weight.
    fn intolerant(self) -> Self {
        Self {
            prepare: |scenario| {
                scenario.setup.scheduler.gears.decay = DecayKind::Hard;
                scenario.setup.scheduler.gears.tolerance_steps = 0;
            },
            ..self
        }
    }

    /// Tokens say nothing of the size of a step.
    fn by_version(self) -> Self {
        Self { prepare: |scenario| scenario.setup.scheduler.gears.tokens = TokenKind::Version, ..self }
    }

    fn clipped(self) -> Self {
        Self {
            prepare: |scenario| {
                scenario.setup.scheduler.clip_norm = Some(0.01);
                scenario.update.clip_norm = Some(0.01);
            },
            ..self
        }
    }

    /// Runs scenarios with the bug in them until something is found, at most `seeds`.
    #[must_use]
    pub fn find(&self, seeds: u64) -> Option<Found> {
        for seed in 0..seeds {
            let mut told = Scenario::new(self.gear, seed);
            (self.prepare)(&mut told);
            let mut wrong = told.clone();
            let bug = match self.how {
                How::Tamper(bug) => Some(bug(seed)),
                How::Loosened(change) => {
                    change(&mut wrong);
                    None
                }
            };
            if let Err(failure) = run_watched(&Rc::new(wrong), &Rc::new(told), Vec::new(), bug) {
                return Some(Found { seeds: seed + 1, failure });
            }
        }
        None
    }
}
