//! The worker: asks for a token, loads the samples, pulls, computes, pushes. A machine: computing is a call of
//! its own, so that a driver first takes in what has arrived and can tell how long computing took.

pub(crate) mod route;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use gearshift_model::Learner;
use gearshift_types::{
    BatchId, Gradients, IndexedBatch, PartitionMap, PullReply, ServerId, Step, WorkerEpoch, WorkerId,
};

use crate::messages::{
    Assignment, BatchReport, EvaluationTask, Refusal, SchedulerInput, ServerInput, ToWorker, WorkerInput,
    WorkerOutput,
};
use crate::worker::route::{DenseCopy, Route};

/// Settings of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// Pushes that may wait for their acknowledgement while it goes on.
    pub unacknowledged_max: u32,
    /// Ask for the next batch and pull it before the current one is computed. Costs one batch of version
    /// staleness.
    pub pull_ahead: bool,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self { unacknowledged_max: 2, pull_ahead: false }
    }
}

/// What a worker waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A grant of the scheduler.
    Token,
    /// Parameters.
    Rows,
    /// Servers to hold its pushes.
    Acknowledgement,
}

/// What it works on.
#[derive(Debug)]
enum Task {
    Train(Assignment),
    Evaluate(EvaluationTask),
}

/// A batch between grant and push.
#[derive(Debug)]
struct Stage {
    task: Task,
    pull: u64,
    loaded: Option<(IndexedBatch, Route)>,
    replies: Vec<Option<PullReply>>,
}

impl Stage {
    fn is_ready(&self) -> bool {
        self.loaded.is_some() && self.replies.iter().all(Option::is_some)
    }
}

/// A push that some servers have not answered.
#[derive(Debug)]
struct Unacknowledged {
    missing: u32,
    refusal: Option<Refusal>,
    report: BatchReport,
}

/// The worker machine over a [`Learner`].
pub struct Worker {
    id: WorkerId,
    epoch: WorkerEpoch,
    learner: Box<dyn Learner>,
    map: PartitionMap,
    options: WorkerOptions,
    dense: DenseCopy,
    stages: VecDeque<Stage>,
    pulls: u64,
    requested: bool,
    stopping: bool,
    unacknowledged: BTreeMap<BatchId, Unacknowledged>,
}

impl Worker {
    /// A worker in one of its lives.
    #[must_use]
    pub fn new(
        id: WorkerId,
        epoch: WorkerEpoch,
        learner: Box<dyn Learner>,
        map: PartitionMap,
        options: WorkerOptions,
    ) -> Self {
        let dense = DenseCopy::new(map, learner.spec().dense_len());
        Self {
            id,
            epoch,
            learner,
            map,
            options,
            dense,
            stages: VecDeque::new(),
            pulls: 0,
            requested: false,
            stopping: false,
            unacknowledged: BTreeMap::new(),
        }
    }

    /// Takes an input and appends what is to be done, in order.
    pub fn handle(&mut self, input: WorkerInput, out: &mut Vec<WorkerOutput>) {
        match input {
            WorkerInput::Started => {
                let (worker, epoch) = (self.id, self.epoch);
                out.push(WorkerOutput::Scheduler(SchedulerInput::Joined { worker, epoch }));
                self.request_if_due(out);
            }
            WorkerInput::Scheduler(ToWorker::Train(assignment)) => {
                let ranges = assignment.ranges.clone();
                self.begin(Task::Train(assignment));
                out.push(WorkerOutput::Load(ranges));
            }
            WorkerInput::Scheduler(ToWorker::Evaluate(task)) => {
                let ranges = task.ranges.clone();
                self.begin(Task::Evaluate(task));
                out.push(WorkerOutput::Load(ranges));
            }
            WorkerInput::Scheduler(ToWorker::Expelled) => {
                self.stopping = true;
                self.stages.clear();
                self.unacknowledged.clear();
                out.push(WorkerOutput::Expelled);
            }
            WorkerInput::Scheduler(ToWorker::Stop) => {
                self.stopping = true;
                out.push(WorkerOutput::Stopped);
            }
            WorkerInput::Loaded(batch) => self.pull(batch, out),
            WorkerInput::NotLoaded => {
                self.stages.retain(|stage| stage.loaded.is_some());
                self.request_if_due(out);
            }
            WorkerInput::Rows { server, pull, reply } => {
                if let Some(stage) = self.stages.iter_mut().find(|stage| stage.pull == pull)
                    && let Some(slot) = stage.replies.get_mut(server.0 as usize)
                {
                    *slot = Some(reply);
                }
            }
            WorkerInput::Held { batch, .. } => self.acknowledged(batch, None, out),
            WorkerInput::Refused { batch, refusal, .. } => self.acknowledged(batch, Some(refusal), out),
        }
    }

    /// Whether a batch is loaded and pulled, and its push is not one too many to wait for.
    #[must_use]
    pub fn can_compute(&self) -> bool {
        let pushes = |stage: &Stage| matches!(stage.task, Task::Train(_));
        self.stages.front().is_some_and(|stage| stage.is_ready() && (self.has_room() || !pushes(stage)))
    }

    /// Whether another push may wait for its acknowledgement.
    fn has_room(&self) -> bool {
        self.unacknowledged.len() < self.options.unacknowledged_max.max(1) as usize
    }

    /// What it waits for when there is nothing to compute.
    #[must_use]
    pub fn waits_for(&self) -> Wait {
        if self.stages.front().is_some_and(Stage::is_ready) {
            Wait::Acknowledgement
        } else if !self.stages.is_empty() {
            Wait::Rows
        } else if self.requested {
            Wait::Token
        } else {
            Wait::Acknowledgement
        }
    }

    /// The batch that [`Worker::compute`] would train, `None` for an evaluation task.
    #[must_use]
    pub fn next_batch(&self) -> Option<BatchId> {
        match &self.stages.front()?.task {
            Task::Train(assignment) => Some(assignment.batch),
            Task::Evaluate(_) => None,
        }
    }

    /// Computes the first batch that is ready: gradients to push, or predictions to report.
    ///
    /// # Panics
    /// When the model refuses the batch's shapes: data and model do not belong to one job.
    pub fn compute(&mut self, out: &mut Vec<WorkerOutput>) {
        if !self.can_compute() {
            return;
        }
        let Some(stage) = self.stages.pop_front() else { return };
        let Some((batch, route)) = stage.loaded else { return };
        let mut replies: Vec<PullReply> = stage.replies.into_iter().flatten().collect();
        let versions: Vec<Step> = replies.iter().map(|reply| reply.version).collect();
        self.dense.update(&replies);
        let rows = route.assemble(&batch, self.learner.spec(), &mut replies);
        match stage.task {
            Task::Evaluate(task) => {
                let mut predictions = Vec::new();
                let result = self.learner.predict(&batch, &rows, self.dense.values(), &mut predictions);
                result.unwrap_or_else(|error| panic!("evaluation task {}: {error}", task.task));
                let (worker, epoch, task) = (self.id, self.epoch, task.task);
                let labels = batch.labels;
                let evaluated = SchedulerInput::Evaluated { worker, epoch, task, labels, predictions };
                out.push(WorkerOutput::Scheduler(evaluated));
            }
            Task::Train(assignment) => {
                let mut gradients = Gradients::default();
                let result = self.learner.train(&batch, &rows, self.dense.values(), &mut gradients);
                result.unwrap_or_else(|error| panic!("batch {}: {error}", assignment.batch));
                self.push(assignment.batch, batch, &route, gradients, versions, out);
            }
        }
        self.request_if_due(out);
    }

    fn begin(&mut self, task: Task) {
        self.requested = false;
        let servers = self.map.servers() as usize;
        self.stages.push_back(Stage {
            task,
            pull: self.pulls,
            loaded: None,
            replies: (0..servers).map(|_| None).collect(),
        });
        self.pulls += 1;
    }

    /// Pulls for the batch whose samples have just been loaded: the oldest that has none.
    fn pull(&mut self, batch: IndexedBatch, out: &mut Vec<WorkerOutput>) {
        let (worker, epoch) = (self.id, self.epoch);
        let known = self.dense_known();
        let Some(stage) = self.stages.iter_mut().find(|stage| stage.loaded.is_none()) else { return };
        let min_step = match &stage.task {
            Task::Train(assignment) => assignment.min_step,
            Task::Evaluate(task) => Some(task.min_step),
        };
        let route = Route::new(&batch, self.map);
        for server in (0..self.map.servers()).map(ServerId) {
            let request = route.request(&batch, server, known[server.0 as usize]);
            let input = ServerInput::Pull { worker, epoch, pull: stage.pull, request, min_step };
            out.push(WorkerOutput::Server { server, input });
        }
        stage.loaded = Some((batch, route));
        if self.options.pull_ahead {
            self.request_if_due(out);
        }
    }

    /// The version of each server's dense range that the copy will have once all pulled batches are computed, in
    /// their order; `None` where a reply is missing. Replies may come in another order: a pull may wait at the server.
    fn dense_known(&self) -> Vec<Option<Step>> {
        let mut known = self.dense.known().to_vec();
        for stage in self.stages.iter().filter(|stage| stage.loaded.is_some()) {
            for (known, reply) in known.iter_mut().zip(&stage.replies) {
                *known = reply.as_ref().map(|reply| reply.version);
            }
        }
        known
    }

    fn push(
        &mut self,
        batch: BatchId,
        mut samples: IndexedBatch,
        route: &Route,
        mut gradients: Gradients,
        versions: Vec<Step>,
        out: &mut Vec<WorkerOutput>,
    ) {
        let (worker, epoch) = (self.id, self.epoch);
        let report = BatchReport {
            samples: gradients.samples,
            loss_sum: gradients.loss_sum,
            versions,
            labels: std::mem::take(&mut samples.labels),
            predictions: std::mem::take(&mut gradients.predictions),
        };
        let missing = self.map.servers();
        self.unacknowledged.insert(batch, Unacknowledged { missing, refusal: None, report });
        for (server, push) in route.pushes(batch, &samples, self.learner.spec(), gradients) {
            let input = ServerInput::Push { worker, epoch, push };
            out.push(WorkerOutput::Server { server, input });
        }
    }

    /// A server has answered a push. When all have, the scheduler is told, unless the lease had ended.
    fn acknowledged(&mut self, batch: BatchId, refusal: Option<Refusal>, out: &mut Vec<WorkerOutput>) {
        let (worker, epoch) = (self.id, self.epoch);
        let Some(pushed) = self.unacknowledged.get_mut(&batch) else { return };
        pushed.missing -= 1;
        if let Some(refusal) = refusal
            && pushed.refusal != Some(Refusal::LeaseEnded)
        {
            pushed.refusal = Some(refusal);
        }
        if pushed.missing == 0
            && let Some(pushed) = self.unacknowledged.remove(&batch)
        {
            match pushed.refusal {
                None => {
                    let report = pushed.report;
                    let input = SchedulerInput::Pushed { worker, epoch, batch, report };
                    out.push(WorkerOutput::Scheduler(input));
                }
                Some(Refusal::BadGradient(reason)) => {
                    let input = SchedulerInput::GradientRefused { worker, epoch, batch, reason };
                    out.push(WorkerOutput::Scheduler(input));
                }
                Some(Refusal::LeaseEnded) => {}
            }
            self.request_if_due(out);
        }
    }

    /// Asks for the next batch: when idle, or one ahead if the job says so.
    fn request_if_due(&mut self, out: &mut Vec<WorkerOutput>) {
        let ahead = usize::from(self.options.pull_ahead);
        let pulled = self.stages.iter().all(|stage| stage.loaded.is_some());
        if self.requested || self.stopping || self.stages.len() > ahead || !self.has_room() || !pulled {
            return;
        }
        self.requested = true;
        let (worker, epoch) = (self.id, self.epoch);
        out.push(WorkerOutput::Scheduler(SchedulerInput::Requested { worker, epoch }));
    }
}

/// A handle to parameters that are shared, not copied.
pub(crate) type SharedFloats = Arc<[f32]>;
