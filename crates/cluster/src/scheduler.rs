//! The scheduler: hands out batches as the rule in force decides, keeps the ledger, makes the shifts, the
//! checkpoints and the evaluations. A machine: it never waits, its driver does.

mod checkpoint;
mod evaluation;
pub mod figures;
pub mod options;
mod shift;
mod training;
mod workers;

use std::collections::BTreeMap;

use gearshift_coordination::{Decision, Event, Gear, Rule};
use gearshift_types::{BatchId, PartId, RowRange, Step, Time, Token, WorkerEpoch, WorkerId};

use crate::ledger::{Ledger, SampleCounts};
use crate::manifest::Position;
use crate::messages::{Outcome, SchedulerInput, SchedulerOutput, ToServer, ToWorker};
use crate::pool::SamplePool;
use crate::scheduler::checkpoint::Checkpoints;
use crate::scheduler::evaluation::Evaluation;
use crate::scheduler::figures::Figures;
use crate::scheduler::options::SchedulerOptions;
use crate::scheduler::shift::Shifting;
use crate::scheduler::workers::Workers;

pub use checkpoint::clip_scale;

/// What the job is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not all workers have joined.
    Gathering,
    /// A rule is in force.
    Training,
    /// All samples of the part are in; predictions on another part are made.
    Evaluating,
    /// The last checkpoint is being written.
    Ending,
    /// Nothing will be done any more.
    Over,
}

/// How far a granted batch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseState {
    Running,
    Pushed,
    Failed,
}

/// A granted batch.
#[derive(Clone, Debug)]
struct Lease {
    worker: WorkerId,
    epoch: WorkerEpoch,
    token: Token,
    ranges: Vec<RowRange>,
    samples: u32,
    granted: Time,
    versions: Vec<Step>,
    state: LeaseState,
}

/// The scheduler.
pub struct Scheduler {
    options: SchedulerOptions,
    now: Time,
    started: Time,
    seconds_before: f64,
    phase: Phase,
    rule: Option<Box<dyn Rule>>,
    drained: bool,
    stopping: bool,
    draining: Option<shift::Draining>,
    gear: Gear,
    step: Step,
    next_batch: BatchId,
    part: PartId,
    part_read: bool,
    workers: Workers,
    leases: BTreeMap<BatchId, Lease>,
    pool: SamplePool,
    ledger: Ledger,
    figures: Figures,
    shifts_done: u32,
    shifting: Option<Shifting>,
    checkpoints: Checkpoints,
    norms: BTreeMap<Step, checkpoint::Norms>,
    evaluation: Option<Evaluation>,
    decisions: Vec<Decision>,
}

impl Scheduler {
    /// A scheduler at the start of a job, or where a checkpoint left it.
    #[must_use]
    pub fn new(options: SchedulerOptions, resume: Option<Position>) -> Self {
        let position = resume.unwrap_or_else(|| Position {
            step: Step(0),
            next_batch: BatchId(0),
            gear: options.start,
            shifts_done: 0,
            part: PartId(0),
            finished_blocks: 0,
            resolved: Vec::new(),
            samples: SampleCounts::default(),
            trained_seconds: 0.0,
        });
        Self {
            checkpoints: Checkpoints::new(position.samples.resolved()),
            ledger: Ledger::resume(
                position.samples,
                position.part,
                position.finished_blocks,
                &position.resolved,
            ),
            workers: Workers::default(),
            now: Time(0),
            started: Time(0),
            seconds_before: position.trained_seconds,
            phase: Phase::Gathering,
            rule: None,
            drained: false,
            stopping: false,
            draining: None,
            gear: position.gear,
            step: position.step,
            next_batch: position.next_batch,
            part: position.part,
            part_read: false,
            leases: BTreeMap::new(),
            pool: SamplePool::default(),
            figures: Figures::default(),
            shifts_done: position.shifts_done,
            shifting: None,
            norms: BTreeMap::new(),
            evaluation: None,
            decisions: Vec::new(),
            options,
        }
    }

    /// Number of updates decided.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// The gear in force.
    #[must_use]
    pub fn gear(&self) -> Gear {
        self.gear
    }

    /// The part under way.
    #[must_use]
    pub fn part(&self) -> PartId {
        self.part
    }

    /// The ledger's counts.
    #[must_use]
    pub fn samples(&self) -> &SampleCounts {
        self.ledger.counts()
    }

    /// Samples that have been read and have not met their fate: in the pool, or granted.
    #[must_use]
    pub fn samples_left(&self) -> u64 {
        self.pool.available() + self.leases.values().map(|lease| u64::from(lease.samples)).sum::<u64>()
    }

    /// Staleness and per-worker figures.
    #[must_use]
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Live workers.
    #[must_use]
    pub fn live_workers(&self) -> usize {
        self.workers.len()
    }

    /// Takes an input and appends what is to be done, in order.
    pub fn handle(&mut self, now: Time, input: SchedulerInput, out: &mut Vec<SchedulerOutput>) {
        self.now = now;
        if self.phase == Phase::Over {
            return;
        }
        if let Some((worker, epoch)) = said_by(&input).filter(|&(who, epoch)| !self.workers.is(who, epoch)) {
            return out.push(SchedulerOutput::Worker { worker, epoch, message: ToWorker::Expelled });
        }
        match input {
            SchedulerInput::Joined { worker, epoch } => self.worker_joined(worker, epoch, out),
            SchedulerInput::Left { worker, epoch, reason } => self.worker_left(worker, epoch, &reason, out),
            SchedulerInput::Seen { worker, epoch } => self.workers.seen(worker, epoch, now),
            SchedulerInput::Requested { worker, epoch } => self.worker_requested(worker, epoch, out),
            SchedulerInput::Pushed { worker, epoch, batch, report } => {
                self.gradient_pushed(worker, epoch, batch, report, out);
            }
            SchedulerInput::GradientRefused { worker, epoch, batch, reason } => {
                self.gradient_refused(worker, epoch, batch, &reason, out);
            }
            SchedulerInput::Evaluated { worker, epoch, task, labels, predictions } => {
                self.task_evaluated(worker, epoch, task, labels, predictions, out);
            }
            SchedulerInput::Norms { step, partials, .. } => self.norms_arrived(step, partials, out),
            SchedulerInput::CheckpointWritten { id, .. } => self.checkpoint_written(id, out),
            SchedulerInput::BlockRead { part, block, rows } => self.block_read(part, block, rows, out),
            SchedulerInput::PartRead { part } => self.part_was_read(part, out),
            SchedulerInput::ShiftRequested { to } => self.shift_requested(to, false, out),
            SchedulerInput::StopRequested => self.stop_requested(out),
            SchedulerInput::Tick => self.tick(out),
        }
        self.follow_up(out);
    }

    /// What follows once an input has been dealt with: drained rules, shifts that have come due.
    fn follow_up(&mut self, out: &mut Vec<SchedulerOutput>) {
        loop {
            if self.phase == Phase::Training && std::mem::take(&mut self.drained) {
                self.rule_drained(out);
            } else if let Some(to) = self.shift_due() {
                self.shift_requested(to, true, out);
            } else {
                return;
            }
        }
    }

    /// Ends the job.
    fn finish(&mut self, outcome: Outcome, out: &mut Vec<SchedulerOutput>) {
        self.phase = Phase::Over;
        self.rule = None;
        for (worker, epoch) in self.workers.lives() {
            out.push(SchedulerOutput::Worker { worker, epoch, message: ToWorker::Stop });
        }
        out.push(SchedulerOutput::Servers(ToServer::Stop));
        out.push(SchedulerOutput::Finished(outcome));
    }

    /// Hands an event to the rule in force and carries out what it decides.
    fn drive(&mut self, event: Event, out: &mut Vec<SchedulerOutput>) {
        let Some(rule) = self.rule.as_mut() else { return };
        let mut decisions = std::mem::take(&mut self.decisions);
        rule.on_event(event, &mut decisions);
        for decision in decisions.drain(..) {
            self.carry_out(decision, out);
        }
        self.decisions = decisions;
    }

    /// Seconds of the job so far, earlier runs included.
    fn elapsed_seconds(&self) -> f64 {
        self.seconds_before + (self.now - self.started).as_secs_f64()
    }
}

/// The life of a worker that has joined before it says such a thing.
fn said_by(input: &SchedulerInput) -> Option<(WorkerId, WorkerEpoch)> {
    match *input {
        SchedulerInput::Seen { worker, epoch }
        | SchedulerInput::Requested { worker, epoch }
        | SchedulerInput::Pushed { worker, epoch, .. }
        | SchedulerInput::GradientRefused { worker, epoch, .. }
        | SchedulerInput::Evaluated { worker, epoch, .. } => Some((worker, epoch)),
        _ => None,
    }
}
