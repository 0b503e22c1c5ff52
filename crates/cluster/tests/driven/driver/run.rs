//! The run: machines, channels, and which of them moves next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use gearshift_cluster::{
    LogEntry, Notice, Outcome, Position, Scheduler, SchedulerInput, Server, ServerInput, Worker, WorkerInput,
};
use gearshift_coordination::Gear;
use gearshift_data::Indexer;
use gearshift_embedding::{Shard, ShardDigest};
use gearshift_types::{
    BatchId, ModelSpec, PartId, PartitionMap, ServerId, Step, Time, WorkerEpoch, WorkerId,
};

use super::job::Job;
use super::learner::{Poisoned, deepfm};
use super::numbers::Numbers;

/// Start values of rows and dense parameters.
const SEED: u64 = 5;

/// Moves after which a run counts as stuck.
const MOVES_MAX: u64 = 2_000_000;

/// Which move comes next.
#[derive(Clone, Debug)]
pub(crate) enum Order {
    /// All workers equally fast: messages first, pulls after all others, then everybody computes.
    LockStep,
    /// Any channel or worker.
    Random(Numbers),
}

impl Order {
    pub(crate) fn random(seed: u64) -> Self {
        Self::Random(Numbers(seed))
    }
}

/// Where messages come from and go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Tells that workers are gone.
    Monitor,
    Feeder,
    Scheduler,
    Server(u32),
    Worker(u32, u32),
}

#[derive(Debug)]
pub(crate) enum Message {
    Scheduler(SchedulerInput),
    Server(ServerInput),
    Worker(WorkerInput),
}

pub(crate) struct Life {
    pub(crate) epoch: u32,
    /// `None` between two lives.
    pub(crate) machine: Option<Worker>,
    /// Computes once in so many chances.
    pub(crate) slow: usize,
    /// Computes nothing.
    pub(crate) stalled: bool,
    /// Says no more that it lives.
    pub(crate) silent: bool,
}

/// What a checkpoint on disk would hold.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) position: Position,
    /// The log up to it.
    pub(crate) log: Vec<LogEntry>,
}

pub(crate) struct Run {
    pub(crate) job: Job,
    pub(crate) spec: Arc<ModelSpec>,
    pub(crate) order: Order,
    pub(crate) now: Time,
    pub(crate) scheduler: Scheduler,
    pub(crate) servers: Vec<Server<Shard>>,
    pub(crate) stopped: BTreeSet<u32>,
    pub(crate) workers: BTreeMap<u32, Life>,
    pub(crate) channels: BTreeMap<(Place, Place), VecDeque<Message>>,
    pub(crate) indexer: Indexer,
    /// Blocks that have been announced and not finished.
    pub(crate) cache: BTreeSet<(PartId, u32)>,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) outcome: Option<Outcome>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) writing: BTreeMap<u64, BTreeMap<u32, Vec<u8>>>,
    pub(crate) log_at: BTreeMap<u64, usize>,
    pub(crate) released: BTreeSet<BatchId>,
    pub(crate) held_max: usize,
    /// Digest over all servers at each version that was reached, if wanted.
    pub(crate) digests: Option<BTreeMap<Step, ShardDigest>>,
    /// Loads that came too late.
    pub(crate) not_loaded: u64,
    moves: u64,
}

impl Run {
    pub(crate) fn new(job: &Job, order: Order) -> Self {
        Self::from(job, order, None)
    }

    /// Goes on from a checkpoint, with the job's number of servers, whatever wrote it.
    pub(crate) fn resume(job: &Job, order: Order, checkpoint: &Checkpoint) -> Self {
        Self::from(job, order, Some(checkpoint))
    }

    /// The newest checkpoint.
    pub(crate) fn newest(&self) -> &Checkpoint {
        self.checkpoints.last().unwrap()
    }

    fn from(job: &Job, order: Order, checkpoint: Option<&Checkpoint>) -> Self {
        let spec = Arc::new(deepfm().spec().clone());
        let map = PartitionMap::new(job.scheduler.servers);
        let shard = |server| match checkpoint {
            None => Shard::new(Arc::clone(&spec), &job.update, map, server, SEED).unwrap(),
            Some(checkpoint) => {
                let files: Vec<&[u8]> = checkpoint.files.iter().map(Vec::as_slice).collect();
                Shard::restore(Arc::clone(&spec), &job.update, map, server, SEED, &files).unwrap()
            }
        };
        let clip = job.scheduler.clip_norm.is_some();
        let servers = (0..map.servers()).map(ServerId).map(|server| Server::new(server, shard(server), clip));
        let mut run = Self {
            scheduler: Scheduler::new(job.scheduler.clone(), checkpoint.map(|from| from.position.clone())),
            servers: servers.collect(),
            job: job.clone(),
            spec,
            order,
            now: Time(0),
            stopped: BTreeSet::new(),
            workers: BTreeMap::new(),
            channels: BTreeMap::new(),
            indexer: Indexer::new(),
            cache: BTreeSet::new(),
            log: checkpoint.map(|from| from.log.clone()).unwrap_or_default(),
            notices: Vec::new(),
            outcome: None,
            checkpoints: Vec::new(),
            writing: BTreeMap::new(),
            log_at: BTreeMap::new(),
            released: BTreeSet::new(),
            held_max: 0,
            digests: None,
            not_loaded: 0,
            moves: 0,
        };
        for worker in 0..job.scheduler.workers {
            run.workers
                .insert(worker, Life { epoch: 0, machine: None, slow: 1, stalled: false, silent: false });
            run.start(worker);
        }
        run
    }

    fn start(&mut self, worker: u32) {
        let life = self.workers.get_mut(&worker).unwrap();
        (life.stalled, life.silent) = (false, false);
        let mut learner = deepfm();
        if self.job.poison_one_in > 0 {
            let numbers = Numbers(u64::from(worker) << 32 | u64::from(life.epoch) ^ 0xBAD);
            learner = Box::new(Poisoned { inner: learner, numbers, one_in: self.job.poison_one_in });
        }
        let map = PartitionMap::new(self.job.scheduler.servers);
        let (id, epoch) = (WorkerId(worker), WorkerEpoch(life.epoch));
        life.machine = Some(Worker::new(id, epoch, learner, map, self.job.worker));
        self.worker_takes(worker, WorkerInput::Started);
    }

    /// The worker dies. Up to `lost` of its last messages on each channel are lost with it.
    pub(crate) fn kill(&mut self, worker: u32, lost: &mut Numbers) {
        let life = self.workers.get_mut(&worker).unwrap();
        if life.machine.take().is_none() {
            return;
        }
        let from = Place::Worker(worker, life.epoch);
        let epoch = WorkerEpoch(life.epoch);
        for (_, channel) in self.channels.iter_mut().filter(|((sender, _), _)| *sender == from) {
            let kept = lost.below(channel.len() + 1);
            channel.truncate(kept);
        }
        self.channels.retain(|_, channel| !channel.is_empty());
        let left = SchedulerInput::Left { worker: WorkerId(worker), epoch, reason: "killed".to_owned() };
        self.send(Place::Monitor, Place::Scheduler, Message::Scheduler(left));
    }

    /// The next life of a worker begins, whether the last one is over or not.
    pub(crate) fn rejoin(&mut self, worker: u32) {
        self.workers.get_mut(&worker).unwrap().epoch += 1;
        self.start(worker);
    }

    pub(crate) fn dead(&self) -> Vec<u32> {
        let dead = self.workers.iter().filter(|(_, life)| life.machine.is_none());
        dead.map(|(&worker, _)| worker).collect()
    }

    pub(crate) fn shift(&mut self, to: Gear) {
        self.scheduler_takes(SchedulerInput::ShiftRequested { to });
    }

    /// Time passes; those who live say so.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        let lives: Vec<(u32, u32)> = self
            .workers
            .iter()
            .filter(|(_, life)| life.machine.is_some() && !life.silent)
            .map(|(&worker, life)| (worker, life.epoch))
            .collect();
        for (worker, epoch) in lives {
            let (worker, epoch) = (WorkerId(worker), WorkerEpoch(epoch));
            if !self.channels.keys().any(|(from, _)| *from == Place::Worker(worker.0, epoch.0)) {
                self.scheduler_takes(SchedulerInput::Seen { worker, epoch });
            }
        }
        self.scheduler_takes(SchedulerInput::Tick);
    }

    pub(crate) fn send(&mut self, from: Place, to: Place, message: Message) {
        self.channels.entry((from, to)).or_default().push_back(message);
    }

    /// One move. False when nothing can move.
    pub(crate) fn advance(&mut self) -> bool {
        self.moves += 1;
        assert!(self.moves < MOVES_MAX, "stuck: {}", self.describe());
        self.now = self.now + Duration::from_millis(1);
        match &mut self.order {
            Order::LockStep => self.advance_in_lock_step(),
            Order::Random(numbers) => {
                let mut numbers = numbers.clone();
                let moved = self.advance_at_random(&mut numbers);
                self.order = Order::Random(numbers);
                moved
            }
        }
    }

    /// So many moves, or fewer when nothing moves any more.
    pub(crate) fn advance_by(&mut self, moves: usize) {
        for _ in 0..moves {
            if !self.advance() {
                return;
            }
        }
    }

    pub(crate) fn ready(&self) -> Vec<u32> {
        let ready = self
            .workers
            .iter()
            .filter(|(_, life)| !life.stalled && life.machine.as_ref().is_some_and(Worker::can_compute));
        ready.map(|(&worker, _)| worker).collect()
    }

    fn advance_in_lock_step(&mut self) -> bool {
        let pulls = |channel: &VecDeque<Message>| {
            matches!(channel.front(), Some(Message::Server(ServerInput::Pull { .. })))
        };
        let others = self.channels.iter().find(|(_, channel)| !pulls(channel)).map(|(&key, _)| key);
        if let Some(key) = others.or_else(|| self.channels.keys().next().copied()) {
            self.deliver(key);
            return true;
        }
        let ready = self.ready();
        for &worker in &ready {
            self.compute(worker);
        }
        !ready.is_empty()
    }

    fn advance_at_random(&mut self, numbers: &mut Numbers) -> bool {
        let ready = self.ready();
        let moves = self.channels.len() + ready.len();
        if moves == 0 {
            return false;
        }
        loop {
            let chosen = numbers.below(moves);
            if let Some(&key) = self.channels.keys().nth(chosen) {
                self.deliver(key);
                return true;
            }
            let worker = ready[chosen - self.channels.len()];
            if moves == 1 || numbers.one_in(self.workers[&worker].slow) {
                self.compute(worker);
                return true;
            }
            if self.channels.is_empty() && ready.iter().all(|worker| self.workers[worker].slow > 1) {
                self.compute(worker);
                return true;
            }
        }
    }

    fn deliver(&mut self, key: (Place, Place)) {
        let channel = self.channels.get_mut(&key).unwrap();
        let message = channel.pop_front().unwrap();
        if channel.is_empty() {
            self.channels.remove(&key);
        }
        match (key.1, message) {
            (Place::Scheduler, Message::Scheduler(input)) => self.scheduler_takes(input),
            (Place::Server(server), Message::Server(input)) => self.server_takes(server, input),
            (Place::Worker(worker, epoch), Message::Worker(input)) => {
                let life = &self.workers[&worker];
                if life.epoch == epoch && life.machine.is_some() {
                    self.worker_takes(worker, input);
                }
            }
            (place, message) => panic!("{message:?} sent to {place:?}"),
        }
    }

    /// Runs until the job is over and every message has arrived.
    pub(crate) fn finish(&mut self) -> Outcome {
        self.finish_with(|_| {})
    }

    /// As [`Run::finish`], with something done before each move.
    pub(crate) fn finish_with(&mut self, mut before: impl FnMut(&mut Self)) -> Outcome {
        while self.outcome.is_none() {
            before(self);
            let moved = self.advance();
            assert!(moved || self.outcome.is_some(), "deadlock: {}", self.describe());
        }
        while self.advance() {}
        self.outcome.clone().unwrap()
    }

    /// Runs until `until` holds or the job is over. Whether it held.
    pub(crate) fn run_until(&mut self, mut until: impl FnMut(&Self) -> bool) -> bool {
        while self.outcome.is_none() {
            if until(self) {
                return true;
            }
            if !self.advance() {
                return false;
            }
        }
        false
    }

    pub(crate) fn describe(&self) -> String {
        let waits: Vec<String> = self
            .workers
            .iter()
            .map(|(worker, life)| match &life.machine {
                None => format!("worker {worker}: dead"),
                Some(machine) => format!("worker {worker}: waits for {:?}", machine.waits_for()),
            })
            .collect();
        format!(
            "gear {}, step {}, {:?}, {} left, {}, channels {:?}",
            self.scheduler.gear(),
            self.scheduler.step(),
            self.scheduler.samples(),
            self.scheduler.samples_left(),
            waits.join(", "),
            self.channels.keys().collect::<Vec<_>>()
        )
    }
}
