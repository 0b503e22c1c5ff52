//! The driver: takes the next event of the queue, hands it to its machine, carries out what the machine says.

mod carry;
mod faults;
mod idle;
mod life;
mod network;
mod queue;
mod servers;
mod weight;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use gearshift_cluster::{
    LogEntry, Outcome, Position, Scheduler, SchedulerInput, SchedulerOptions, Server, WorkerOptions,
};
use gearshift_embedding::ShardDigest;
use gearshift_types::{PartId, PartitionMap, ServerId, Time, WorkerEpoch};

use crate::cluster::{ClusterOptions, SpeedModel, Trace};
use crate::moment::{Moment, Tamper, Watcher};
use crate::report::SimReport;
use crate::world::World;
use idle::Idle;
use life::Life;
use network::{Network, Way};
use queue::{Event, Place, Queue};
use servers::Role;

/// What a checkpoint holds: all servers' files and the job's position.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The servers' files.
    pub files: Vec<Vec<u8>>,
    /// Where the job stood.
    pub position: Position,
}

/// What a simulation starts from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The scheduler's settings, numbers of workers and servers among them.
    pub scheduler: SchedulerOptions,
    /// The workers' settings.
    pub worker: WorkerOptions,
    /// The cluster.
    pub cluster: ClusterOptions,
    /// What `cluster.speed.trace` names.
    pub trace: Option<Trace>,
    /// Seed of batch times, latencies and what gets lost.
    pub seed: u64,
    /// A checkpoint to go on from.
    pub resume: Option<Checkpoint>,
    /// Whether the commit log is kept.
    pub keep_log: bool,
}

/// Why a simulation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A watcher found something that must not be.
    #[error("after {:.6} virtual seconds: {text}", seconds(*now))]
    Watcher {
        /// When.
        now: Time,
        /// What.
        text: String,
    },
    /// Data, model or a checkpoint cannot be used.
    #[error("{0}")]
    World(String),
    /// A server can no longer follow the commits.
    #[error("after {:.6} virtual seconds: {text}", seconds(*now))]
    Server {
        /// When.
        now: Time,
        /// Who and why.
        text: String,
    },
    /// Events follow each other and nothing comes of them.
    #[error("after {:.6} virtual seconds: {text}", seconds(*now))]
    Idle {
        /// When.
        now: Time,
        /// Since when, and what to look at.
        text: String,
    },
    /// Nothing is left to happen and the job is not over.
    #[error("after {:.6} virtual seconds nothing moves any more: {text}", seconds(*now))]
    Stuck {
        /// When.
        now: Time,
        /// Who waits for what.
        text: String,
    },
}

fn seconds(time: Time) -> f64 {
    time.0 as f64 * 1e-9
}

/// A run in virtual time.
pub struct Simulation<W: World> {
    setup: Setup,
    world: W,
    map: PartitionMap,
    speed: SpeedModel,
    now: Time,
    queue: Queue,
    network: Network,
    scheduler: Scheduler,
    scheduler_role: Role<SchedulerInput>,
    servers: Vec<Server<W::Store>>,
    server_roles: Vec<Role<gearshift_cluster::ServerInput>>,
    /// Rows of gradients under way to their commit, by server; kept where servers take time.
    held_rows: Vec<BTreeMap<gearshift_types::BatchId, u64>>,
    lives: Vec<Life>,
    /// Blocks that have been announced and are not finished.
    open_blocks: BTreeSet<(PartId, u32)>,
    log: Vec<LogEntry>,
    outcome: Option<Outcome>,
    /// When the job ended; messages may arrive later.
    ended: Option<Time>,
    writing: BTreeMap<u64, (BTreeMap<u32, Vec<u8>>, usize)>,
    checkpoint: Option<(Checkpoint, usize)>,
    down: bool,
    idle: Idle,
    watchers: Vec<Box<dyn Watcher>>,
    tamper: Option<Box<dyn Tamper>>,
    steps_before: u64,
    /// Virtual seconds of the runs that this one goes on from.
    seconds_before: f64,
}

impl<W: World> Simulation<W> {
    /// A cluster whose workers all start at once.
    ///
    /// # Errors
    /// When model or checkpoint cannot be used.
    pub fn new(setup: Setup, world: W) -> Result<Self, SimError> {
        Self::watched(setup, world, Vec::new(), None)
    }

    /// The same, with watchers and, to see whether they watch, a planted bug.
    ///
    /// # Errors
    /// When model or checkpoint cannot be used.
    pub fn watched(
        setup: Setup,
        world: W,
        watchers: Vec<Box<dyn Watcher>>,
        tamper: Option<Box<dyn Tamper>>,
    ) -> Result<Self, SimError> {
        let workers = setup.scheduler.workers;
        let map = PartitionMap::new(setup.scheduler.servers);
        let position = setup.resume.as_ref().map(|resume| resume.position.clone());
        let steps_before = position.as_ref().map_or(0, |position| position.step.0);
        // What goes on from a checkpoint goes on in time: with the next draws, under the load of that hour.
        let batches_before =
            position.as_ref().map_or(0, |position| position.next_batch.0 / u64::from(workers.max(1)));
        let seconds_before = position.as_ref().map_or(0.0, |position| position.trained_seconds);
        let mut simulation = Self {
            speed: SpeedModel::new(setup.cluster.speed.clone(), setup.trace.clone(), workers, setup.seed),
            network: Network::new(setup.cluster.network.clone(), setup.seed),
            scheduler: Scheduler::new(setup.scheduler.clone(), position),
            checkpoint: setup.resume.clone().map(|resume| (resume, 0)),
            setup,
            world,
            map,
            now: Time(0),
            queue: Queue::default(),
            scheduler_role: Role::default(),
            servers: Vec::new(),
            server_roles: Vec::new(),
            held_rows: Vec::new(),
            lives: (0..workers).map(|_| Life { batches: batches_before, ..Life::default() }).collect(),
            seconds_before,
            open_blocks: BTreeSet::new(),
            log: Vec::new(),
            outcome: None,
            ended: None,
            writing: BTreeMap::new(),
            down: false,
            idle: Idle::new(workers, map.servers()),
            watchers,
            tamper,
            steps_before,
        };
        simulation.build_servers()?;
        for worker in 0..workers {
            simulation.queue.push(Time(0), Event::Restart(worker));
        }
        for (number, fault) in simulation.setup.cluster.fault.iter().enumerate() {
            let at = network::later(Time(0), fault.at_seconds);
            simulation.queue.push(at, Event::Fault(number));
        }
        simulation.queue.push(network::later(Time(0), simulation.tick_seconds()), Event::Tick);
        Ok(simulation)
    }

    /// Servers new or from the last checkpoint.
    fn build_servers(&mut self) -> Result<(), SimError> {
        let clip = self.setup.scheduler.clip_norm.is_some();
        self.servers.clear();
        for server in (0..self.map.servers()).map(ServerId) {
            let files = self.checkpoint.as_ref().map(|(checkpoint, _)| checkpoint.files.as_slice());
            let store = self.world.store(server, files).map_err(SimError::World)?;
            self.servers.push(Server::new(server, store, clip));
        }
        self.server_roles = self.servers.iter().map(|_| Role::default()).collect();
        self.held_rows = self.servers.iter().map(|_| BTreeMap::new()).collect();
        Ok(())
    }

    /// Virtual time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The scheduler.
    #[must_use]
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// A message to the scheduler from outside: a shift by hand, a stop. It arrives at once, or never while the job
    /// is down.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn tell_scheduler(&mut self, input: SchedulerInput) -> Result<(), SimError> {
        if self.down { Ok(()) } else { self.scheduler_hears(input) }
    }

    /// The servers.
    #[must_use]
    pub fn servers(&self) -> &[Server<W::Store>] {
        &self.servers
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &W {
        &self.world
    }

    /// How the job ended, once it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    /// The commit log so far, if it is kept.
    #[must_use]
    pub fn log(&self) -> &[LogEntry] {
        &self.log
    }

    /// The last whole checkpoint.
    #[must_use]
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref().map(|(checkpoint, _)| checkpoint)
    }

    /// Figures so far.
    #[must_use]
    pub fn report(&self) -> SimReport {
        let passed = seconds(self.ended.unwrap_or(self.now));
        let share = |busy: Duration, of: usize| {
            if passed > 0.0 && of > 0 { busy.as_secs_f64() / (passed * of as f64) } else { 0.0 }
        };
        let workers: Duration = self.lives.iter().map(|life| life.busy(self.now)).sum();
        let servers: Duration = self.server_roles.iter().map(|role| role.worked).sum();
        SimReport {
            gear: self.scheduler.gear(),
            workers: self.setup.scheduler.workers,
            outcome: self.outcome.clone(),
            seconds: passed,
            steps: self.scheduler.step().0.saturating_sub(self.steps_before),
            samples: *self.scheduler.samples(),
            figures: self.scheduler.figures().clone(),
            worker_utilization: share(workers, self.lives.len()),
            server_utilization: share(servers, self.servers.len()),
            bytes: self.network.bytes,
        }
    }

    /// Lets the next thing happen. False when nothing is left.
    ///
    /// # Errors
    /// When a watcher finds something, data or model cannot be used, or a server fails.
    pub fn advance(&mut self) -> Result<bool, SimError> {
        let Some((at, event)) = self.queue.pop() else { return Ok(false) };
        self.now = at;
        match event {
            Event::Reached { from, to, bytes, then } => {
                let arrival = self.network.receive(from, to, at, bytes);
                self.queue.push(arrival, *then);
            }
            Event::ToScheduler(input, sender) => {
                if !self.was_lost(sender) {
                    self.scheduler_hears(input)?;
                }
            }
            Event::ToServer(server, input, sender) => {
                if !self.was_lost(sender) {
                    self.server_hears(server, input)?;
                }
            }
            Event::ToWorker(worker, epoch, input) => self.worker_hears(worker, epoch, input)?,
            Event::SchedulerReady => self.scheduler_works()?,
            Event::ServerReady(server) => self.server_works(server)?,
            Event::Computed { worker, epoch, number } => self.computed(worker, epoch, number)?,
            Event::Heartbeat(worker, epoch) => self.heartbeat(worker, epoch),
            Event::Tick => self.tick()?,
            Event::Fault(number) => self.strike(number)?,
            Event::Restart(worker) => self.restart(worker)?,
            Event::GoOn(worker, epoch) => self.go_on(worker, epoch)?,
            Event::RollBack => self.roll_back()?,
        }
        let idle = self.idle.look(self.scheduler.samples().resolved());
        idle.map(|()| true).map_err(|text| SimError::Idle { now: self.now, text })
    }

    /// Runs until the job is over and every message has arrived.
    ///
    /// # Errors
    /// As [`Self::advance`], and when nothing moves any more.
    pub fn run(&mut self) -> Result<Outcome, SimError> {
        while self.advance()? {}
        let Some(outcome) = self.outcome.clone() else {
            return Err(SimError::Stuck { now: self.now, text: self.describe() });
        };
        let log = std::mem::take(&mut self.log);
        let digest = if self.watchers.is_empty() { None } else { self.digest() };
        let watched = self.watch(&Moment::Over { log: &log, digest: digest.as_ref() });
        self.log = log;
        watched.map(|()| outcome)
    }

    /// Digest over all servers.
    fn digest(&self) -> Option<ShardDigest> {
        let mut sum = ShardDigest::default();
        for server in &self.servers {
            sum.add(&self.world.digest(server.store())?);
        }
        Some(sum)
    }

    /// Who waits for what.
    #[must_use]
    pub fn describe(&self) -> String {
        let waits: Vec<String> = (0..)
            .zip(&self.lives)
            .map(|(worker, life): (u32, _)| format!("worker {worker}: {}", life.describe()))
            .collect();
        format!(
            "gear {}, step {}, {} samples left, {}",
            self.scheduler.gear(),
            self.scheduler.step(),
            self.scheduler.samples_left(),
            waits.join(", ")
        )
    }

    fn watch(&mut self, moment: &Moment<'_>) -> Result<(), SimError> {
        let now = self.now;
        for watcher in &mut self.watchers {
            watcher.watch(now, moment).map_err(|text| SimError::Watcher { now, text })?;
        }
        Ok(())
    }

    /// Whether a message was still in the hands of a life that has ended.
    fn was_lost(&self, sender: Option<(u32, WorkerEpoch)>) -> bool {
        let Some((worker, epoch)) = sender else { return false };
        self.lives[worker as usize].lost_after.get(&epoch).is_some_and(|&after| self.now > after)
    }

    fn tick_seconds(&self) -> f64 {
        let options = &self.setup.scheduler;
        (options.lease.min(options.drain).as_secs_f64() / 4.0).max(1e-3)
    }

    fn send(&mut self, from: Place, to: Place, at: Time, bytes: u64, event: Event) {
        match self.network.send(from, to, at, bytes) {
            Way::Arrives(arrival) => self.queue.push(arrival, event),
            Way::Reaches(card) => {
                self.queue.push(card, Event::Reached { from, to, bytes, then: Box::new(event) });
            }
        }
    }
}

/// Messages that wait.
pub(crate) type Inbox<T> = VecDeque<T>;
