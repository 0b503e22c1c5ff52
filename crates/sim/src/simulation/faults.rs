//! What goes wrong: workers end, stand still or are cut off; servers and the scheduler end, and everything goes on
//! from the last checkpoint.

use gearshift_cluster::{Scheduler, SchedulerInput, Worker, WorkerInput};
use gearshift_types::{Time, WorkerEpoch, WorkerId};

use super::life::Standing;
use super::network::later;
use super::queue::{Event, Place};
use super::servers::Role;
use super::weight::Weight;
use super::{SimError, Simulation};
use crate::cluster::FaultKind;
use crate::moment::Moment;
use crate::random::{Purpose, unit};
use crate::world::World;

impl<W: World> Simulation<W> {
    pub(super) fn strike(&mut self, number: usize) -> Result<(), SimError> {
        let fault = self.setup.cluster.fault[number];
        if self.outcome.is_some() || self.down {
            return Ok(());
        }
        self.watch(&Moment::Fault(&fault))?;
        let now = self.now;
        let until = later(now, fault.seconds.unwrap_or(0.0));
        let worker = fault.who;
        let alive = self.lives.get(worker as usize).is_some_and(|life| life.machine.is_some());
        match fault.kind {
            FaultKind::WorkerCrash | FaultKind::WorkerVanish if alive => {
                let epoch = self.lives[worker as usize].epoch;
                let last = self.end_life(worker, self.span_seconds())?;
                if fault.kind == FaultKind::WorkerCrash {
                    let reason = "its connections closed".to_owned();
                    let input = SchedulerInput::Left { worker: WorkerId(worker), epoch, reason };
                    let event = Event::ToScheduler(input, None);
                    self.send(Place::Worker(worker), Place::Scheduler, last, Weight::SMALL.bytes, event);
                }
                match fault.seconds {
                    Some(_) => self.queue.push(until, Event::Restart(worker)),
                    None => self.lives[worker as usize].gone = true,
                }
            }
            FaultKind::WorkerPause if alive => self.stand_still(worker, until),
            FaultKind::LinkCut => self.network.cut(worker, until),
            FaultKind::ServerCrash | FaultKind::SchedulerCrash => {
                self.down = true;
                self.queue.retain(|event| matches!(event, Event::Fault(_)));
                self.queue.push(until, Event::RollBack);
            }
            _ => {}
        }
        Ok(())
    }

    /// Longest time that a message is on its way when nobody else is sending.
    fn span_seconds(&self) -> f64 {
        let network = &self.setup.cluster.network;
        2.0 * (network.latency_us + network.latency_jitter_us) * 1e-6
    }

    /// Ends a life; messages under way longer than a random part of `span_seconds` are lost. Returns when the last
    /// one left.
    pub(super) fn end_life(&mut self, worker: u32, span_seconds: f64) -> Result<Time, SimError> {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        let epoch = life.epoch;
        life.end(now);
        let which = u64::from(epoch.0);
        let last = later(now, unit(self.setup.seed, Purpose::Crash, worker.into(), which) * span_seconds);
        life.lost_after.insert(epoch, if span_seconds > 0.0 { last } else { Time(u64::MAX) });
        self.watch(&Moment::WorkerEnds { worker: WorkerId(worker), epoch })?;
        Ok(last)
    }

    pub(super) fn restart(&mut self, worker: u32) -> Result<(), SimError> {
        let life = &mut self.lives[worker as usize];
        if life.machine.is_some() || life.gone || self.outcome.is_some() || self.down {
            return Ok(());
        }
        if life.started {
            life.epoch = WorkerEpoch(life.epoch.0 + 1);
        }
        life.started = true;
        let (id, epoch) = (WorkerId(worker), life.epoch);
        let learner = self.world.learner().map_err(SimError::World)?;
        life.machine = Some(Worker::new(id, epoch, learner, self.map, self.setup.worker));
        let heartbeat = later(self.now, self.tick_seconds());
        self.queue.push(heartbeat, Event::Heartbeat(worker, epoch));
        self.watch(&Moment::WorkerStarts { worker: id, epoch })?;
        self.worker_takes(worker, WorkerInput::Started)
    }

    fn stand_still(&mut self, worker: u32, until: Time) {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        let remaining = life.computing.map(|computing| computing.until - now);
        let standing = life.standing.get_or_insert_with(|| Standing { remaining, ..Standing::default() });
        standing.until = standing.until.max(until);
        if let Some(computing) = &mut life.computing {
            // Time that it stands still is not time computed.
            life.computed += now - computing.began;
            computing.began = standing.until;
        }
        self.queue.push(standing.until, Event::GoOn(worker, life.epoch));
    }

    pub(super) fn go_on(&mut self, worker: u32, epoch: WorkerEpoch) -> Result<(), SimError> {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        if life.epoch != epoch || life.standing.as_ref().is_none_or(|standing| standing.until > now) {
            return Ok(());
        }
        let Some(standing) = life.standing.take() else { return Ok(()) };
        if let (Some(computing), Some(remaining)) = (&mut life.computing, standing.remaining) {
            (computing.began, computing.until) = (now, now + remaining);
            let (number, until) = (computing.number, computing.until);
            self.queue.push(until, Event::Computed { worker, epoch, number });
        }
        self.heartbeat_now(worker, epoch);
        for input in standing.inbox {
            self.worker_hears(worker, epoch, input)?;
        }
        self.compute_if_ready(worker);
        Ok(())
    }

    fn heartbeat_now(&mut self, worker: u32, epoch: WorkerEpoch) {
        let input = SchedulerInput::Seen { worker: WorkerId(worker), epoch };
        let event = Event::ToScheduler(input, Some((worker, epoch)));
        self.send(Place::Worker(worker), Place::Scheduler, self.now, Weight::SMALL.bytes, event);
    }

    pub(super) fn heartbeat(&mut self, worker: u32, epoch: WorkerEpoch) {
        let life = &self.lives[worker as usize];
        if life.epoch != epoch || life.machine.is_none() || self.outcome.is_some() {
            return;
        }
        if life.standing.is_none() {
            self.heartbeat_now(worker, epoch);
        }
        let next = later(self.now, self.tick_seconds());
        self.queue.push(next, Event::Heartbeat(worker, epoch));
    }

    pub(super) fn tick(&mut self) -> Result<(), SimError> {
        if self.outcome.is_some() {
            return Ok(());
        }
        let next = later(self.now, self.tick_seconds());
        self.queue.push(next, Event::Tick);
        self.scheduler_hears(SchedulerInput::Tick)
    }

    /// A server or the scheduler is back: all roles start from the last checkpoint.
    pub(super) fn roll_back(&mut self) -> Result<(), SimError> {
        self.down = false;
        let now = self.now;
        for worker in 0..self.lives.len() as u32 {
            if self.lives[worker as usize].machine.is_some() {
                self.end_life(worker, 0.0)?;
            }
        }
        let left = self.lives.iter().filter(|life| !life.gone).count();
        let (position, log) = match &self.checkpoint {
            Some((checkpoint, log)) => (Some(checkpoint.position.clone()), *log),
            None => (None, 0),
        };
        let options =
            gearshift_cluster::SchedulerOptions { workers: left as u32, ..self.setup.scheduler.clone() };
        self.scheduler = Scheduler::new(options, position);
        let worked = self.scheduler_role.worked;
        self.scheduler_role = Role { worked, ..Role::default() };
        let worked: Vec<_> = self.server_roles.iter().map(|role| role.worked).collect();
        self.build_servers()?;
        for (role, worked) in self.server_roles.iter_mut().zip(worked) {
            role.worked = worked;
        }
        self.writing.clear();
        self.open_blocks.clear();
        self.log.truncate(log);
        let log = std::mem::take(&mut self.log);
        let watched = self.watch(&Moment::RolledBack { log: &log });
        self.log = log;
        watched?;
        for worker in 0..self.lives.len() as u32 {
            self.queue.push(now, Event::Restart(worker));
        }
        self.queue.push(later(now, self.tick_seconds()), Event::Tick);
        Ok(())
    }
}
