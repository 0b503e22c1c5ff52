//! A worker's thread: drives the worker machine, life after life.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use gearshift_cluster::{
    SchedulerInput, ServerInput, Wait, Worker, WorkerInput, WorkerOptions, WorkerOutput,
};
use gearshift_data::Indexer;
use gearshift_model::{Learner, ModelOptions};
use gearshift_types::{ModelSpec, PartitionMap, WorkerEpoch, WorkerId};

use super::drive::ToDriver;
use crate::blocks::BlockCache;
use crate::job::{Fault, FaultAt, FaultKind};
use crate::report::WorkerPhases;

/// Lives that a worker is given after panics nobody asked for.
const RESTARTS_MAX: u32 = 3;

/// Pause before a life after such a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// A straggler looks this often whether the job is over.
const STRAGGLE_SLICE: Duration = Duration::from_millis(50);

/// How a life ended.
enum End {
    /// The job is over.
    Stopped,
    /// The scheduler had not heard of it for too long.
    Expelled,
    /// An injected fault.
    Fault(Fault),
}

/// Carried by the panic of an injected fault.
struct InjectedPanic(Fault);

/// Makes a fresh learner for each life.
pub(super) type LearnerSource = Arc<dyn Fn() -> Option<Box<dyn Learner>> + Send + Sync>;

/// All that a worker's thread holds.
pub(super) struct WorkerThread {
    pub(super) id: WorkerId,
    pub(super) learner: LearnerSource,
    pub(super) spec: Arc<ModelSpec>,
    pub(super) map: PartitionMap,
    pub(super) options: WorkerOptions,
    pub(super) slow: f64,
    pub(super) faults: Vec<Fault>,
    pub(super) cache: Arc<BlockCache>,
    pub(super) inbox: Receiver<(WorkerEpoch, WorkerInput)>,
    pub(super) scheduler: Sender<ToDriver>,
    pub(super) servers: Vec<Sender<ServerInput>>,
    pub(super) over: Arc<AtomicBool>,
    /// Samples granted to all workers so far, for faults.
    pub(super) granted: Arc<AtomicU64>,
    pub(super) batches: u64,
    pub(super) phases: WorkerPhases,
}

impl WorkerThread {
    /// Lives until the job is over or a fault ends it for good.
    pub(super) fn run(mut self) -> WorkerPhases {
        let mut epoch = WorkerEpoch(0);
        let mut restarts = 0;
        loop {
            let life = catch_unwind(AssertUnwindSafe(|| self.live(epoch)));
            let (reason, pause) = match life {
                Ok(End::Stopped) => return self.phases,
                Ok(End::Expelled) => ("was taken as dead".to_owned(), Some(Duration::ZERO)),
                Ok(End::Fault(fault)) => ("left (injected fault)".to_owned(), fault.rejoin),
                Err(panic) => match panic.downcast::<InjectedPanic>() {
                    Ok(injected) => ("panicked (injected fault)".to_owned(), injected.0.rejoin),
                    Err(panic) => {
                        restarts += 1;
                        let text = format!("panicked: {}", panic_text(panic.as_ref()));
                        (text, (restarts <= RESTARTS_MAX).then_some(RESTART_PAUSE))
                    }
                },
            };
            let left = SchedulerInput::Left { worker: self.id, epoch, reason };
            if self.scheduler.send(ToDriver::Input(left)).is_err() || !self.pause(pause) {
                return self.phases;
            }
            epoch = WorkerEpoch(epoch.0 + 1);
        }
    }

    /// Waits out the time between two lives. False when there is no next one.
    fn pause(&self, pause: Option<Duration>) -> bool {
        let Some(pause) = pause else { return false };
        let until = Instant::now() + pause;
        while Instant::now() < until {
            if self.over.load(Ordering::Relaxed) {
                return false;
            }
            std::thread::sleep(
                Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())),
            );
        }
        !self.over.load(Ordering::Relaxed)
    }

    fn live(&mut self, epoch: WorkerEpoch) -> End {
        let Some(learner) = (self.learner)() else { return End::Stopped };
        let mut worker = Worker::new(self.id, epoch, learner, self.map, self.options);
        let mut indexer = Indexer::new();
        let mut out = Vec::new();
        worker.handle(WorkerInput::Started, &mut out);
        loop {
            if let Some(end) = self.carry_out(&mut worker, &mut indexer, &mut out) {
                return end;
            }
            while let Ok((to, input)) = self.inbox.try_recv() {
                if to == epoch {
                    worker.handle(input, &mut out);
                    if let Some(end) = self.carry_out(&mut worker, &mut indexer, &mut out) {
                        return end;
                    }
                }
            }
            if worker.can_compute() {
                if let Some(end) = self.compute(&mut worker, &mut out) {
                    // It is gone before its push is acknowledged: the samples go back to the pool.
                    self.carry_out(&mut worker, &mut indexer, &mut out);
                    return end;
                }
                continue;
            }
            let waits_for = worker.waits_for();
            let began = Instant::now();
            let received = self.inbox.recv_timeout(Duration::from_millis(200));
            let waited = began.elapsed().as_secs_f64();
            match waits_for {
                Wait::Token => self.phases.token += waited,
                Wait::Rows => self.phases.pull += waited,
                Wait::Acknowledgement => self.phases.acknowledge += waited,
            }
            match received {
                Ok((to, input)) if to == epoch => worker.handle(input, &mut out),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::Stopped,
            }
            if self.over.load(Ordering::Relaxed) {
                return End::Stopped;
            }
        }
    }

    /// Computes one batch, slowed down and struck by faults as the job says.
    fn compute(&mut self, worker: &mut Worker, out: &mut Vec<WorkerOutput>) -> Option<End> {
        let trains = worker.next_batch().is_some();
        let fault = if trains { self.fault_due() } else { None };
        if let Some(fault) = fault.filter(|fault| fault.kind == FaultKind::Panic) {
            resume_unwind(Box::new(InjectedPanic(fault)));
        }
        let began = Instant::now();
        worker.compute(out);
        let took = began.elapsed();
        self.phases.compute += took.as_secs_f64();
        if trains && self.slow > 1.0 {
            let began = Instant::now();
            self.straggle(took.mul_f64(self.slow - 1.0));
            self.phases.straggle += began.elapsed().as_secs_f64();
        }
        self.batches += u64::from(trains);
        fault.map(End::Fault)
    }

    /// Sleeps, but not beyond the end of the job.
    fn straggle(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.over.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(STRAGGLE_SLICE));
        }
    }

    fn fault_due(&mut self) -> Option<Fault> {
        let (batches, granted) = (self.batches, self.granted.load(Ordering::Relaxed));
        let due = self.faults.iter().position(|fault| match fault.at {
            FaultAt::Batch(batch) => batches >= batch,
            FaultAt::Sample(sample) => granted >= sample,
        })?;
        Some(self.faults.swap_remove(due))
    }

    /// Does what the machine says, until it says no more. How its life ends, if it does.
    fn carry_out(
        &mut self,
        worker: &mut Worker,
        indexer: &mut Indexer,
        out: &mut Vec<WorkerOutput>,
    ) -> Option<End> {
        let began = Instant::now();
        let mut loading = 0.0;
        let mut todo: VecDeque<WorkerOutput> = out.drain(..).collect();
        let mut end = None;
        while let Some(output) = todo.pop_front() {
            match output {
                WorkerOutput::Scheduler(input) => {
                    if self.scheduler.send(ToDriver::Input(input)).is_err() {
                        end = Some(End::Stopped);
                    }
                }
                WorkerOutput::Server { server, input } => {
                    let server = self.servers.get(server.0 as usize);
                    if server.is_none_or(|server| server.send(input).is_err()) {
                        end = Some(End::Stopped);
                    }
                }
                WorkerOutput::Load(ranges) => {
                    let began = Instant::now();
                    let batch = self.cache.rows(&ranges);
                    let input = batch.map_or(WorkerInput::NotLoaded, |batch| {
                        let (features, tables) = (&self.spec.features, self.spec.tables.len());
                        WorkerInput::Loaded(indexer.index(&batch, features, tables))
                    });
                    loading += began.elapsed().as_secs_f64();
                    worker.handle(input, out);
                    todo.extend(out.drain(..));
                }
                WorkerOutput::Expelled => end = Some(End::Expelled),
                WorkerOutput::Stopped => end = Some(End::Stopped),
            }
        }
        self.phases.load += loading;
        self.phases.other += began.elapsed().as_secs_f64() - loading;
        end
    }
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

/// A source of learners for a model that has been checked.
pub(super) fn learner_source(options: ModelOptions, schema: gearshift_data::Schema) -> LearnerSource {
    Arc::new(move || {
        gearshift_model::build(&options, &schema.features, &schema.tables, schema.dense.len()).ok()
    })
}
