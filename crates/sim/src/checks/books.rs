//! The books that checkers share: what the scheduler was told and has said, and what it means. Kept from messages
//! alone, so that they are right even where the scheduler is not.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use gearshift_cluster::{LogEntry, Notice, SchedulerInput, SchedulerOutput, ToServer, ToWorker};
use gearshift_types::{BatchId, PartId, Time, WorkerEpoch, WorkerId};

use super::facts::{Entry, Fact, Granted, Standing, State};
use super::rows::{Place, Rows};
use crate::moment::{Moment, Watcher};

/// What the scheduler is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Gathering,
    Training(PartId),
    Evaluating,
    /// Stopped and drained: what is read now is for nobody.
    Ending,
    Over,
}

/// What the scheduler took last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    Joined(WorkerEpoch),
    Requested(WorkerId, WorkerEpoch),
    /// A push or its refusal.
    Gradient(BatchId),
    BlockRead(PartId, u32, u32),
    PartRead(PartId),
    Stop,
    Other,
}

/// What is kept of a checkpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) rows: Rows,
    pub(crate) step: u64,
}

/// The books.
#[derive(Debug)]
pub(crate) struct Books {
    /// What the last moment meant.
    pub(crate) facts: Vec<Entry>,
    pub(crate) phase: Phase,
    /// Batches without a fate.
    pub(crate) batches: BTreeMap<BatchId, Granted>,
    pub(crate) live: BTreeMap<WorkerId, WorkerEpoch>,
    /// Who waits for a batch, and since when.
    pub(crate) waiting: BTreeMap<WorkerId, Time>,
    pub(crate) rows: Rows,
    /// Rows and steps as of the checkpoints that are being written.
    pub(crate) writing: BTreeMap<u64, Kept>,
    /// The first row that went where it must not.
    pub(crate) wrong: Option<String>,
    stopping: bool,
    standing: Standing,
    taken: Taken,
    kept: Kept,
}

impl Books {
    pub(crate) fn new() -> Self {
        Self {
            facts: Vec::new(),
            phase: Phase::Gathering,
            batches: BTreeMap::new(),
            live: BTreeMap::new(),
            waiting: BTreeMap::new(),
            rows: Rows::default(),
            writing: BTreeMap::new(),
            wrong: None,
            stopping: false,
            standing: Standing::default(),
            taken: Taken::Other,
            kept: Kept::default(),
        }
    }

    /// How things stand now.
    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    fn note(&mut self, now: Time, moment: &Moment<'_>) {
        self.facts.clear();
        match moment {
            Moment::SchedulerTakes(input) => self.taken = taken(input),
            Moment::SchedulerSays { outputs, .. } if self.phase != Phase::Over => {
                self.understand_input(now);
                for output in *outputs {
                    self.understand(output);
                }
                let open = self.standing.running + self.standing.held;
                if self.stopping && open == 0 && matches!(self.phase, Phase::Training(_)) {
                    self.phase = Phase::Ending;
                }
            }
            Moment::RolledBack { .. } => self.roll_back(),
            _ => {}
        }
    }

    fn roll_back(&mut self) {
        let (kept, wrong) = (self.kept.clone(), self.wrong.take());
        let standing = Standing { step: kept.step, ..Standing::default() };
        *self = Self { rows: kept.rows.clone(), standing, kept, wrong, ..Self::new() };
    }

    fn fact(&mut self, fact: Fact) {
        self.facts.push(Entry { before: self.standing, fact });
    }

    fn moved(&mut self, outcome: Result<(), String>) {
        if let Err(text) = outcome {
            self.wrong.get_or_insert(text);
        }
    }

    fn understand_input(&mut self, now: Time) {
        match self.taken {
            Taken::Requested(worker, epoch)
                if self.live.get(&worker) == Some(&epoch) && !self.waiting.contains_key(&worker) =>
            {
                self.fact(Fact::Waits(worker));
                self.waiting.insert(worker, now);
            }
            Taken::BlockRead(part, block, rows) if self.phase == Phase::Training(part) => {
                match self.rows.read_block(part, block, rows) {
                    Ok(open) => self.standing.pool += open,
                    Err(text) => self.moved(Err(text)),
                }
            }
            Taken::PartRead(part) if self.phase == Phase::Training(part) => {
                self.fact(Fact::Exhausted);
                self.standing.exhausted = true;
            }
            Taken::Stop => {
                self.fact(Fact::Drains);
                self.standing.draining = true;
                self.stopping = true;
            }
            _ => {}
        }
    }

    fn understand(&mut self, output: &SchedulerOutput) {
        match output {
            SchedulerOutput::Worker { worker, epoch, message } => {
                self.worker_is_told(*worker, *epoch, message)
            }
            SchedulerOutput::Servers(ToServer::Release(batch)) => self.released(*batch),
            SchedulerOutput::Servers(ToServer::Checkpoint { id }) => {
                self.writing.insert(*id, Kept { rows: self.rows.kept(), step: self.standing.step });
            }
            SchedulerOutput::FinishCheckpoint { id, .. } => {
                if let Some(kept) = self.writing.get(id) {
                    self.kept = kept.clone();
                }
            }
            SchedulerOutput::Log(entry) => self.logged(entry),
            SchedulerOutput::Notice(notice) => self.noticed(notice),
            SchedulerOutput::Finished(_) => self.phase = Phase::Over,
            _ => {}
        }
    }

    fn worker_is_told(&mut self, worker: WorkerId, epoch: WorkerEpoch, message: &ToWorker) {
        match message {
            ToWorker::Train(assignment) => {
                self.waiting.remove(&worker);
                let granted = Granted {
                    batch: assignment.batch,
                    worker,
                    epoch,
                    token: assignment.token,
                    ranges: assignment.ranges.clone(),
                    state: State::Running,
                };
                let moved = self.rows.go(&granted.ranges, Place::Pool, Place::Granted);
                self.moved(moved);
                self.fact(Fact::Granted(granted.clone()));
                self.standing.pool = self.standing.pool.saturating_sub(granted.samples());
                self.standing.running += 1;
                if self.batches.insert(granted.batch, granted).is_some() {
                    let text = format!("batch {} was granted while it was granted already", assignment.batch);
                    self.moved(Err(text));
                }
            }
            ToWorker::Evaluate(_) => {
                self.waiting.remove(&worker);
            }
            ToWorker::Expelled | ToWorker::Stop => {}
        }
    }

    /// A gradient is released when it comes too late, or when its lease has ended.
    fn released(&mut self, batch: BatchId) {
        let Some(granted) = self.batches.remove(&batch) else {
            return self.moved(Err(format!("batch {batch} is released but has no lease")));
        };
        if granted.state == State::Running {
            self.standing.running -= 1;
            let moved = self.rows.go(&granted.ranges, Place::Granted, Place::Pool);
            self.moved(moved);
            self.rows.granted_again += granted.samples();
            self.fact(Fact::Lost(granted.clone()));
            self.standing.pool += granted.samples();
        } else {
            self.standing.held -= 1;
            let moved = self.rows.go(&granted.ranges, Place::Granted, Place::Discarded);
            self.moved(moved);
            self.fact(Fact::Discarded(granted));
        }
    }

    fn logged(&mut self, entry: &LogEntry) {
        match entry {
            LogEntry::Engaged { gear, .. } => {
                self.fact(Fact::Engaged(*gear));
                self.standing.gear = Some(*gear);
                self.standing.draining = false;
            }
            LogEntry::Commit { step, divisor_samples, members } => {
                let before = self.standing;
                let mut known = Vec::with_capacity(members.len());
                for member in members {
                    let granted = self.batches.remove(&member.batch);
                    let state = granted.as_ref().map(|granted| granted.state);
                    match state {
                        Some(State::Running) => self.standing.running -= 1,
                        Some(_) => self.standing.held -= 1,
                        None => {}
                    }
                    let fate = match (state, member.weight > 0.0) {
                        (_, true) => Place::Applied,
                        (Some(State::Failed), false) => Place::Failed,
                        (_, false) => Place::Dropped,
                    };
                    let moved = self.rows.go(&member.ranges, Place::Granted, fate);
                    self.moved(moved);
                    known.push((member.clone(), granted));
                }
                let fact = Fact::Committed { step: step.0, divisor: *divisor_samples, members: known };
                self.facts.push(Entry { before, fact });
                self.standing.step = step.0 + 1;
            }
        }
    }

    fn noticed(&mut self, notice: &Notice) {
        match notice {
            Notice::WorkerJoined { worker } => {
                if let Taken::Joined(epoch) = self.taken {
                    self.fact(Fact::Joined(*worker));
                    self.live.insert(*worker, epoch);
                }
            }
            Notice::WorkerLeft { worker, .. } => {
                self.fact(Fact::Left(*worker));
                self.live.remove(worker);
                self.waiting.remove(worker);
            }
            Notice::Trained { .. } => {
                if let Taken::Gradient(batch) = self.taken {
                    self.arrived(batch, State::Pushed);
                }
            }
            Notice::GradientRefused { batch, .. } => self.arrived(*batch, State::Failed),
            Notice::ShiftRequested { .. } => {
                self.fact(Fact::Drains);
                self.standing.draining = true;
            }
            Notice::PartStarted { part, .. } => {
                self.fact(Fact::PartStarted);
                self.phase = Phase::Training(*part);
                self.standing.pool = 0;
                self.standing.exhausted = false;
            }
            Notice::PartTrained { part, .. } => {
                self.fact(Fact::PartTrained(*part));
                self.standing.gear = None;
            }
            Notice::EvaluationStarted { .. } => self.phase = Phase::Evaluating,
            _ => {}
        }
        self.standing.live = self.live.len();
    }

    fn arrived(&mut self, batch: BatchId, state: State) {
        let Some(granted) = self.batches.get_mut(&batch).filter(|granted| granted.state == State::Running)
        else {
            return self.moved(Err(format!("the gradient of batch {batch} counts, but it has no lease")));
        };
        granted.state = state;
        let granted = granted.clone();
        self.fact(if state == State::Pushed { Fact::Pushed(granted) } else { Fact::Failed(granted) });
        self.standing.running -= 1;
        self.standing.held += 1;
    }
}

fn taken(input: &SchedulerInput) -> Taken {
    match *input {
        SchedulerInput::Joined { epoch, .. } => Taken::Joined(epoch),
        SchedulerInput::Requested { worker, epoch } => Taken::Requested(worker, epoch),
        SchedulerInput::Pushed { batch, .. } | SchedulerInput::GradientRefused { batch, .. } => {
            Taken::Gradient(batch)
        }
        SchedulerInput::BlockRead { part, block, rows } => Taken::BlockRead(part, block, rows),
        SchedulerInput::PartRead { part } => Taken::PartRead(part),
        SchedulerInput::StopRequested => Taken::Stop,
        _ => Taken::Other,
    }
}

/// The books, in the hands of all checkers.
pub(crate) type Shared = Rc<RefCell<Books>>;

/// Keeps the books: stands before all checkers in the line of watchers.
pub(crate) struct Keeper(pub(crate) Shared);

impl Watcher for Keeper {
    fn watch(&mut self, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        self.0.borrow_mut().note(now, moment);
        Ok(())
    }
}
