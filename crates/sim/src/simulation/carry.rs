//! Carries out what the scheduler and workers say.

use std::collections::{BTreeMap, VecDeque};

use gearshift_cluster::{SchedulerInput, SchedulerOutput, ServerInput, ToServer, WorkerInput, WorkerOutput};
use gearshift_types::{PartId, RowRange, Time, WorkerEpoch, WorkerId};

use super::life::Computing;
use super::network::later;
use super::queue::{Event, Place};
use super::weight::{self, Weight};
use super::{Checkpoint, SimError, Simulation};
use crate::moment::{Delivery, Moment};
use crate::world::World;

/// Of the time that training a batch takes, predicting it takes this share: forward only.
const FORWARD_SHARE: f64 = 1.0 / 3.0;

impl<W: World> Simulation<W> {
    pub(super) fn scheduler_says(&mut self, output: SchedulerOutput, at: Time) -> Result<(), SimError> {
        let from = Place::Scheduler;
        match output {
            SchedulerOutput::Worker { worker, epoch, message } => {
                let event = Event::ToWorker(worker.0, epoch, WorkerInput::Scheduler(message));
                self.send(from, Place::Worker(worker.0), at, Weight::SMALL.bytes, event);
            }
            SchedulerOutput::Servers(message) => {
                if let ToServer::Checkpoint { id } = message {
                    self.writing.insert(id, (BTreeMap::new(), self.log.len()));
                }
                for server in 0..self.map.servers() {
                    let input = ServerInput::Scheduler(message.clone());
                    let bytes = weight::of_server_input(&input, None).bytes;
                    self.send(from, Place::Server(server), at, bytes, Event::ToServer(server, input, None));
                }
            }
            SchedulerOutput::OpenPart { part, skip_blocks } => self.open_part(part, skip_blocks, at)?,
            SchedulerOutput::BlockFinished { part, block } => {
                self.open_blocks.remove(&(part, block));
            }
            SchedulerOutput::FinishCheckpoint { id, position } => {
                if let Some((files, log)) = self.writing.remove(&id) {
                    let files = files.into_values().collect();
                    self.checkpoint = Some((Checkpoint { files, position: *position }, log));
                }
            }
            SchedulerOutput::Log(entry) => {
                if self.setup.keep_log {
                    self.log.push(entry);
                }
            }
            SchedulerOutput::Notice(_) => {}
            SchedulerOutput::Finished(outcome) => {
                self.outcome = Some(outcome);
                self.ended = Some(at);
            }
        }
        Ok(())
    }

    fn open_part(&mut self, part: PartId, skip_blocks: u32, mut at: Time) -> Result<(), SimError> {
        let rows = self.world.open(part).map_err(SimError::World)?;
        self.open_blocks.clear();
        for (block, rows) in (0..).zip(rows).skip(skip_blocks as usize) {
            self.open_blocks.insert((part, block));
            at = later(at, self.world.read_seconds(rows));
            let input = SchedulerInput::BlockRead { part, block, rows };
            self.queue.push(at, Event::ToScheduler(input, None));
        }
        self.queue.push(at, Event::ToScheduler(SchedulerInput::PartRead { part }, None));
        Ok(())
    }

    pub(super) fn worker_hears(
        &mut self,
        worker: u32,
        epoch: WorkerEpoch,
        mut input: WorkerInput,
    ) -> Result<(), SimError> {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        if life.epoch != epoch || life.machine.is_none() {
            return Ok(());
        }
        if let Some(standing) = &mut life.standing {
            standing.inbox.push_back(input);
            return Ok(());
        }
        let id = WorkerId(worker);
        let delivery = self.tamper.as_mut().map_or(Delivery::Once, |bug| bug.to_worker(now, id, &mut input));
        if delivery == Delivery::Twice {
            self.worker_takes(worker, input.clone())?;
        }
        if delivery != Delivery::Never { self.worker_takes(worker, input) } else { Ok(()) }
    }

    pub(super) fn worker_takes(&mut self, worker: u32, input: WorkerInput) -> Result<(), SimError> {
        let life = &mut self.lives[worker as usize];
        let Some(machine) = &mut life.machine else { return Ok(()) };
        let epoch = life.epoch;
        let mut outputs = Vec::new();
        if self.watchers.is_empty() {
            machine.handle(input, &mut outputs);
        } else {
            self.watch(&Moment::WorkerTakes { worker: WorkerId(worker), epoch, input: &input })?;
            if let Some(machine) = &mut self.lives[worker as usize].machine {
                machine.handle(input, &mut outputs);
            }
        }
        self.worker_says(worker, outputs)?;
        self.compute_if_ready(worker);
        Ok(())
    }

    /// Begins to compute when a batch is ready and nothing is being computed.
    pub(super) fn compute_if_ready(&mut self, worker: u32) {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        let Some(machine) = &life.machine else { return };
        if life.computing.is_some() || life.standing.is_some() || !machine.can_compute() {
            return;
        }
        let samples = life.loaded.front().copied().unwrap_or(0);
        let number = life.batches;
        let clock = later(now, self.seconds_before);
        life.batches += 1;
        let mut seconds = self.speed.seconds(WorkerId(worker), number, samples, clock);
        if machine.next_batch().is_none() {
            seconds *= FORWARD_SHARE;
        }
        let until = later(now, seconds);
        life.computing = Some(Computing { number, began: now, until });
        let epoch = life.epoch;
        self.queue.push(until, Event::Computed { worker, epoch, number });
    }

    pub(super) fn computed(&mut self, worker: u32, epoch: WorkerEpoch, number: u64) -> Result<(), SimError> {
        let now = self.now;
        let life = &mut self.lives[worker as usize];
        let due = life.computing.filter(|computing| computing.number == number && computing.until <= now);
        let Some(computing) = due.filter(|_| life.epoch == epoch && life.standing.is_none()) else {
            return Ok(());
        };
        life.computing = None;
        life.computed += now - computing.began;
        life.loaded.pop_front();
        let mut outputs = Vec::new();
        if let Some(machine) = &mut life.machine {
            machine.compute(&mut outputs);
        }
        self.worker_says(worker, outputs)?;
        self.compute_if_ready(worker);
        Ok(())
    }

    fn worker_says(&mut self, worker: u32, mut outputs: Vec<WorkerOutput>) -> Result<(), SimError> {
        if outputs.is_empty() {
            return Ok(());
        }
        let (now, id) = (self.now, WorkerId(worker));
        let epoch = self.lives[worker as usize].epoch;
        if let Some(bug) = &mut self.tamper {
            bug.worker_said(now, id, &mut outputs);
        }
        if !self.watchers.is_empty() {
            self.watch(&Moment::WorkerSays { worker: id, epoch, outputs: &outputs })?;
        }
        let sender = Some((worker, epoch));
        let from = Place::Worker(worker);
        for output in VecDeque::from(outputs) {
            match output {
                WorkerOutput::Scheduler(input) => {
                    let event = Event::ToScheduler(input, sender);
                    self.send(from, Place::Scheduler, now, Weight::SMALL.bytes, event);
                }
                WorkerOutput::Server { server, input } => {
                    let bytes = weight::of_server_input(&input, self.share(id)).bytes;
                    let event = Event::ToServer(server.0, input, sender);
                    self.send(from, Place::Server(server.0), now, bytes, event);
                }
                WorkerOutput::Load(ranges) => {
                    let input = self.load(worker, &ranges)?;
                    self.worker_takes(worker, input)?;
                }
                WorkerOutput::Expelled => {
                    self.end_life(worker, 0.0)?;
                    self.queue.push(now, Event::Restart(worker));
                    return Ok(());
                }
                WorkerOutput::Stopped => {
                    self.lives[worker as usize].end(now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn load(&mut self, worker: u32, ranges: &[RowRange]) -> Result<WorkerInput, SimError> {
        if ranges.iter().any(|range| !self.open_blocks.contains(&(range.part, range.block))) {
            return Ok(WorkerInput::NotLoaded);
        }
        let batch = self.world.load(ranges).map_err(SimError::World)?;
        let life = &mut self.lives[worker as usize];
        life.pulled = batch.samples() as u32;
        life.loaded.push_back(life.pulled);
        Ok(WorkerInput::Loaded(batch))
    }
}
