//! Carries out what the machines say.

use std::collections::VecDeque;
use std::ops::Range;

use gearshift_cluster::{
    SchedulerInput, SchedulerOutput, ServerInput, ServerOutput, ToServer, WorkerInput, WorkerOutput,
};
use gearshift_data::gather;
use gearshift_embedding::Store;
use gearshift_types::{Batch, PartId, RowRange, ServerId, WorkerId};

use super::run::{Checkpoint, Message, Place, Run};

impl Run {
    pub(crate) fn scheduler_takes(&mut self, input: SchedulerInput) {
        if let SchedulerInput::BlockRead { part, block, .. } = input {
            self.cache.insert((part, block));
        }
        let mut out = Vec::new();
        self.scheduler.handle(self.now, input, &mut out);
        for output in out {
            self.carry_out(output);
        }
        let samples = self.scheduler.samples();
        assert_eq!(samples.read, samples.resolved() + self.scheduler.samples_left(), "{}", self.describe());
    }

    fn carry_out(&mut self, output: SchedulerOutput) {
        match output {
            SchedulerOutput::Worker { worker, epoch, message } => {
                let message = Message::Worker(WorkerInput::Scheduler(message));
                self.send(Place::Scheduler, Place::Worker(worker.0, epoch.0), message);
            }
            SchedulerOutput::Servers(message) => {
                match message {
                    ToServer::Release(batch) => {
                        self.released.insert(batch);
                    }
                    ToServer::Checkpoint { id } => {
                        self.log_at.insert(id, self.log.len());
                    }
                    _ => {}
                }
                for server in 0..self.servers.len() as u32 {
                    let input = ServerInput::Scheduler(message.clone());
                    self.send(Place::Scheduler, Place::Server(server), Message::Server(input));
                }
            }
            SchedulerOutput::OpenPart { part, skip_blocks } => self.open_part(part, skip_blocks),
            SchedulerOutput::BlockFinished { part, block } => {
                assert!(self.cache.remove(&(part, block)), "block {block} of {part:?} finished twice");
            }
            SchedulerOutput::FinishCheckpoint { id, position } => {
                let files: Vec<Vec<u8>> = self.writing.remove(&id).unwrap().into_values().collect();
                assert_eq!(files.len(), self.servers.len(), "files of checkpoint {id}");
                let log = self.log[..self.log_at[&id]].to_vec();
                self.checkpoints.push(Checkpoint { files, position: *position, log });
            }
            SchedulerOutput::Log(entry) => self.log.push(entry),
            SchedulerOutput::Notice(notice) => self.notices.push(notice),
            SchedulerOutput::Finished(outcome) => {
                assert!(self.outcome.replace(outcome).is_none(), "finished twice");
            }
        }
    }

    fn open_part(&mut self, part: PartId, skip_blocks: u32) {
        let rows: Vec<u32> = self.job.data.blocks(part).iter().map(|block| block.samples() as u32).collect();
        for (block, rows) in (0..).zip(rows).skip(skip_blocks as usize) {
            let input = SchedulerInput::BlockRead { part, block, rows };
            self.send(Place::Feeder, Place::Scheduler, Message::Scheduler(input));
        }
        let input = SchedulerInput::PartRead { part };
        self.send(Place::Feeder, Place::Scheduler, Message::Scheduler(input));
    }

    pub(crate) fn server_takes(&mut self, server: u32, input: ServerInput) {
        if self.stopped.contains(&server) {
            return;
        }
        let mut out = Vec::new();
        let machine = &mut self.servers[server as usize];
        let before = machine.store().version();
        machine.handle(input, &mut out);
        self.held_max = self.held_max.max(machine.store().held());
        if let Some(digests) = self.digests.as_mut().filter(|_| machine.store().version() != before) {
            digests.entry(machine.store().version()).or_default().add(&machine.store().digest());
        }
        for output in out {
            match output {
                ServerOutput::Worker { worker, epoch, input } => {
                    let to = Place::Worker(worker.0, epoch.0);
                    self.send(Place::Server(server), to, Message::Worker(input));
                }
                ServerOutput::Scheduler(input) => self.tell_scheduler(server, input),
                ServerOutput::Checkpoint { id } => {
                    let mut bytes = Vec::new();
                    self.servers[server as usize].store().write_checkpoint(&mut bytes).unwrap();
                    self.writing.entry(id).or_default().insert(server, bytes);
                    let server_id = ServerId(server);
                    self.tell_scheduler(server, SchedulerInput::CheckpointWritten { server: server_id, id });
                }
                ServerOutput::Failed(text) => panic!("{text}; {}", self.describe()),
                ServerOutput::Stopped => {
                    self.stopped.insert(server);
                }
            }
        }
    }

    fn tell_scheduler(&mut self, server: u32, input: SchedulerInput) {
        self.send(Place::Server(server), Place::Scheduler, Message::Scheduler(input));
    }

    pub(crate) fn worker_takes(&mut self, worker: u32, input: WorkerInput) {
        let Some(machine) = self.workers.get_mut(&worker).unwrap().machine.as_mut() else { return };
        let mut out = Vec::new();
        machine.handle(input, &mut out);
        self.do_for(worker, out);
    }

    pub(crate) fn compute(&mut self, worker: u32) {
        let Some(machine) = self.workers.get_mut(&worker).unwrap().machine.as_mut() else { return };
        let mut out = Vec::new();
        machine.compute(&mut out);
        self.do_for(worker, out);
    }

    fn do_for(&mut self, worker: u32, out: Vec<WorkerOutput>) {
        let from = Place::Worker(worker, self.workers[&worker].epoch);
        let mut todo = VecDeque::from(out);
        while let Some(output) = todo.pop_front() {
            match output {
                WorkerOutput::Scheduler(input) => {
                    self.send(from, Place::Scheduler, Message::Scheduler(input));
                }
                WorkerOutput::Server { server, input } => {
                    self.send(from, Place::Server(server.0), Message::Server(input));
                }
                WorkerOutput::Load(ranges) => {
                    let input = self.load(WorkerId(worker), &ranges);
                    let mut out = Vec::new();
                    let life = self.workers.get_mut(&worker).unwrap();
                    life.machine.as_mut().unwrap().handle(input, &mut out);
                    todo.extend(out);
                }
                WorkerOutput::Expelled => {
                    self.workers.get_mut(&worker).unwrap().machine = None;
                    return self.rejoin(worker);
                }
                WorkerOutput::Stopped => {
                    self.workers.get_mut(&worker).unwrap().machine = None;
                    return;
                }
            }
        }
    }

    fn load(&mut self, worker: WorkerId, ranges: &[RowRange]) -> WorkerInput {
        assert!(!ranges.is_empty(), "worker {worker} was granted nothing");
        if ranges.iter().any(|range| !self.cache.contains(&(range.part, range.block))) {
            self.not_loaded += 1;
            return WorkerInput::NotLoaded;
        }
        let data = &self.job.data;
        let pieces: Vec<(&Batch, Range<u32>)> = ranges
            .iter()
            .map(|range| (&data.blocks(range.part)[range.block as usize], range.start..range.end))
            .collect();
        let batch = gather(&pieces);
        WorkerInput::Loaded(self.indexer.index(&batch, &self.spec.features, self.spec.tables.len()))
    }
}
