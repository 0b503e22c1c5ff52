//! Servers and the scheduler: one message at a time, each taking its time.

use std::time::Duration;

use gearshift_cluster::{SchedulerInput, ServerInput, ServerOutput, ToServer, WorkerInput};
use gearshift_types::{ServerId, Time, WorkerId};

use super::network::later;
use super::queue::{Event, Place};
use super::weight::{self, Share, Weight};
use super::{Inbox, SimError, Simulation};
use crate::moment::{Delivery, Moment};
use crate::world::World;

/// A role that works through its messages in order.
#[derive(Debug)]
pub(crate) struct Role<T> {
    pub(super) inbox: Inbox<T>,
    pub(super) busy: Time,
    pub(super) called: bool,
    pub(super) worked: Duration,
    pub(super) stopped: bool,
}

impl<T> Default for Role<T> {
    fn default() -> Self {
        Self { inbox: Inbox::new(), busy: Time(0), called: false, worked: Duration::ZERO, stopped: false }
    }
}

impl<T> Role<T> {
    /// Takes a message to be worked on: now (`Ok`), or it waits, and whether the role must be called when it is free.
    fn take(&mut self, input: T, now: Time) -> Result<T, bool> {
        if self.busy <= now && self.inbox.is_empty() {
            return Ok(input);
        }
        self.inbox.push_back(input);
        Err(!std::mem::replace(&mut self.called, true))
    }

    /// The next message that waits.
    fn next(&mut self) -> Option<T> {
        self.called = false;
        self.inbox.pop_front()
    }

    /// It has worked until `until`. Whether it must be called then.
    fn worked(&mut self, from: Time, until: Time) -> bool {
        self.busy = until;
        self.worked += until - from;
        !self.inbox.is_empty() && !std::mem::replace(&mut self.called, true)
    }
}

impl<W: World> Simulation<W> {
    pub(super) fn share(&self, worker: WorkerId) -> Option<Share> {
        let workload = self.world.workload()?;
        let samples = self.lives.get(worker.0 as usize).map_or(0, |life| life.pulled);
        Some(Share { workload, samples, servers: self.map.servers() })
    }

    pub(super) fn scheduler_hears(&mut self, mut input: SchedulerInput) -> Result<(), SimError> {
        let now = self.now;
        let delivery = self.tamper.as_mut().map_or(Delivery::Once, |bug| bug.to_scheduler(now, &mut input));
        if delivery == Delivery::Twice {
            self.scheduler_takes(input.clone())?;
        }
        if delivery != Delivery::Never { self.scheduler_takes(input) } else { Ok(()) }
    }

    fn scheduler_takes(&mut self, input: SchedulerInput) -> Result<(), SimError> {
        match self.scheduler_role.take(input, self.now) {
            Ok(input) => self.scheduler_does(input),
            Err(call) => {
                if call {
                    self.queue.push(self.scheduler_role.busy, Event::SchedulerReady);
                }
                Ok(())
            }
        }
    }

    pub(super) fn scheduler_works(&mut self) -> Result<(), SimError> {
        match self.scheduler_role.next() {
            Some(input) => self.scheduler_does(input),
            None => Ok(()),
        }
    }

    fn scheduler_does(&mut self, input: SchedulerInput) -> Result<(), SimError> {
        let now = self.now;
        if !self.watchers.is_empty() {
            self.watch(&Moment::SchedulerTakes(&input))?;
        }
        let mut outputs = Vec::new();
        self.scheduler.handle(now, input, &mut outputs);
        if let Some(bug) = &mut self.tamper {
            bug.scheduler_said(now, &mut outputs);
        }
        let until = later(now, self.setup.cluster.server.scheduler_us * 1e-6);
        if self.scheduler_role.worked(now, until) {
            self.queue.push(until, Event::SchedulerReady);
        }
        if !self.watchers.is_empty() {
            let (samples, left) = (*self.scheduler.samples(), self.scheduler.samples_left());
            self.watch(&Moment::SchedulerSays { outputs: &outputs, samples: &samples, left })?;
        }
        for output in outputs {
            self.scheduler_says(output, until)?;
        }
        Ok(())
    }

    pub(super) fn server_hears(&mut self, server: u32, mut input: ServerInput) -> Result<(), SimError> {
        let (now, id) = (self.now, ServerId(server));
        let delivery = self.tamper.as_mut().map_or(Delivery::Once, |bug| bug.to_server(now, id, &mut input));
        if delivery == Delivery::Twice {
            self.server_takes(server, input.clone())?;
        }
        if delivery != Delivery::Never { self.server_takes(server, input) } else { Ok(()) }
    }

    fn server_takes(&mut self, server: u32, input: ServerInput) -> Result<(), SimError> {
        let role = &mut self.server_roles[server as usize];
        if role.stopped {
            return Ok(());
        }
        match role.take(input, self.now) {
            Ok(input) => self.server_does(server, input),
            Err(call) => {
                if call {
                    self.queue.push(role.busy, Event::ServerReady(server));
                }
                Ok(())
            }
        }
    }

    pub(super) fn server_works(&mut self, server: u32) -> Result<(), SimError> {
        match self.server_roles[server as usize].next() {
            Some(input) => self.server_does(server, input),
            None => Ok(()),
        }
    }

    fn server_does(&mut self, server: u32, input: ServerInput) -> Result<(), SimError> {
        let (now, id) = (self.now, ServerId(server));
        if !self.watchers.is_empty() {
            self.watch(&Moment::ServerTakes { server: id, input: &input })?;
        }
        let mut until = later(now, self.seconds_of_input(server, &input));
        let mut outputs = Vec::new();
        self.servers[server as usize].handle(input, &mut outputs);
        if !self.watchers.is_empty() {
            use gearshift_embedding::Store;
            let store = self.servers[server as usize].store();
            let (version, held) = (store.version(), self.world.held(store));
            self.watch(&Moment::ServerSays { server: id, outputs: &outputs, version, held })?;
        }
        for output in outputs {
            until = self.server_says(server, output, until)?;
        }
        if self.server_roles[server as usize].worked(now, until) {
            self.queue.push(until, Event::ServerReady(server));
        }
        Ok(())
    }

    /// Seconds that a server takes for a message before it answers.
    fn seconds_of_input(&mut self, server: u32, input: &ServerInput) -> f64 {
        let costs = self.setup.cluster.server;
        let ServerInput::Push { worker, push, .. } = input else {
            return costs.request_us * 1e-6 + self.seconds_in_order(server, input);
        };
        let rows = weight::of_push(push, self.share(*worker)).rows;
        if costs.apply_row_ns > 0.0 {
            self.held_rows[server as usize].insert(push.batch, rows);
        }
        costs.request_us * 1e-6 + costs.push_row_ns * 1e-9 * rows as f64
    }

    /// The same for what comes from the scheduler.
    fn seconds_in_order(&mut self, server: u32, input: &ServerInput) -> f64 {
        let costs = self.setup.cluster.server;
        let held = &mut self.held_rows[server as usize];
        match input {
            ServerInput::Scheduler(ToServer::Commit(commit)) => {
                let rows = commit.members.iter().map(|member| held.remove(&member.batch).unwrap_or(0));
                let rows: u64 = rows.sum();
                let floats = self.dense_floats(server) * (commit.members.len() as u64 + 1);
                (costs.apply_row_ns * rows as f64 + costs.apply_float_ns * floats as f64) * 1e-9
            }
            ServerInput::Scheduler(ToServer::Release(batch)) => {
                held.remove(batch);
                0.0
            }
            _ => 0.0,
        }
    }

    fn dense_floats(&self, server: u32) -> u64 {
        match self.world.workload() {
            Some(workload) => workload.dense_floats / u64::from(self.map.servers()),
            None => {
                let len = self.world.dense_len();
                self.map.dense_range_of(ServerId(server), len).len() as u64
            }
        }
    }

    /// Carries out what a server says; it is ready at `at`. Returns when the server is free.
    fn server_says(&mut self, server: u32, output: ServerOutput, at: Time) -> Result<Time, SimError> {
        let costs = self.setup.cluster.server;
        let from = Place::Server(server);
        match output {
            ServerOutput::Worker { worker, epoch, input } => {
                let weight = weight::of_worker_input(&input, self.share(worker));
                let rows = if matches!(input, WorkerInput::Rows { .. }) { weight.rows } else { 0 };
                let at = later(at, costs.pull_row_ns * 1e-9 * rows as f64);
                let event = Event::ToWorker(worker.0, epoch, input);
                self.send(from, Place::Worker(worker.0), at, weight.bytes, event);
                return Ok(at);
            }
            ServerOutput::Scheduler(input) => self.server_tells(server, input, at),
            ServerOutput::Checkpoint { id } => {
                let file = self.world.file(self.servers[server as usize].store()).map_err(SimError::World)?;
                if let Some((files, _)) = self.writing.get_mut(&id) {
                    files.insert(server, file);
                }
                let at = later(at, costs.checkpoint_ms * 1e-3);
                self.server_tells(
                    server,
                    SchedulerInput::CheckpointWritten { server: ServerId(server), id },
                    at,
                );
                return Ok(at);
            }
            ServerOutput::Failed(text) => return Err(SimError::Server { now: self.now, text }),
            ServerOutput::Stopped => self.server_roles[server as usize].stopped = true,
        }
        Ok(at)
    }

    fn server_tells(&mut self, server: u32, input: SchedulerInput, at: Time) {
        let event = Event::ToScheduler(input, None);
        self.send(Place::Server(server), Place::Scheduler, at, Weight::SMALL.bytes, event);
    }
}
