//! A server's thread: drives the server machine over a real shard and writes its checkpoint files.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender};
use gearshift_cluster::{SchedulerInput, Server, ServerInput, ServerOutput, ToServer, WorkerInput};
use gearshift_embedding::Shard;
use gearshift_types::{ServerId, WorkerEpoch};

use super::RunError;
use super::drive::ToDriver;
use super::worker_thread::panic_text;
use crate::checkpoint;
use crate::report::ServerPhases;

/// All that a server's thread holds.
pub(super) struct ServerThread {
    pub(super) id: ServerId,
    pub(super) server: Server<Shard>,
    pub(super) inbox: Receiver<ServerInput>,
    pub(super) scheduler: Sender<ToDriver>,
    pub(super) workers: Vec<Sender<(WorkerEpoch, WorkerInput)>>,
    pub(super) checkpoints: Option<PathBuf>,
}

impl ServerThread {
    /// Serves until it is told to stop. Gives back the shard.
    ///
    /// # Panics
    /// When the shard does; the driver has been told, for nobody else would miss this server.
    pub(super) fn run(mut self) -> (Server<Shard>, ServerPhases) {
        let served = catch_unwind(AssertUnwindSafe(|| self.serve()));
        match served {
            Ok(phases) => (self.server, phases),
            Err(panic) => {
                let text = format!("server {} panicked: {}", self.id, panic_text(panic.as_ref()));
                let _ = self.scheduler.send(ToDriver::Failed(RunError::Role(text)));
                resume_unwind(panic)
            }
        }
    }

    fn serve(&mut self) -> ServerPhases {
        let mut phases = ServerPhases::default();
        let mut out = Vec::new();
        let mut since = Instant::now();
        while let Ok(input) = self.inbox.recv() {
            let began = Instant::now();
            phases.idle += (began - since).as_secs_f64();
            let phase = match &input {
                ServerInput::Pull { .. } => &mut phases.pull,
                ServerInput::Push { .. } => &mut phases.hold,
                ServerInput::Scheduler(ToServer::Checkpoint { .. }) => &mut phases.checkpoint,
                ServerInput::Scheduler(_) => &mut phases.apply,
            };
            self.server.handle(input, &mut out);
            let stopped = self.carry_out(&mut out);
            since = Instant::now();
            *phase += (since - began).as_secs_f64();
            if stopped {
                break;
            }
        }
        phases
    }

    fn carry_out(&mut self, out: &mut Vec<ServerOutput>) -> bool {
        let mut stopped = false;
        for output in out.drain(..) {
            match output {
                ServerOutput::Worker { worker, epoch, input } => {
                    if let Some(inbox) = self.workers.get(worker.0 as usize) {
                        // A worker that has died does not answer; its lease ends elsewhere.
                        let _ = inbox.send((epoch, input));
                    }
                }
                ServerOutput::Scheduler(input) => {
                    stopped |= self.scheduler.send(ToDriver::Input(input)).is_err();
                }
                ServerOutput::Checkpoint { id } => {
                    for message in self.checkpoint(id) {
                        stopped |= self.scheduler.send(message).is_err();
                    }
                }
                ServerOutput::Failed(text) => {
                    let _ = self.scheduler.send(ToDriver::Failed(RunError::Role(text)));
                }
                ServerOutput::Stopped => stopped = true,
            }
        }
        stopped
    }

    /// Writes the shard. What the driver is to be told, in order.
    fn checkpoint(&self, id: u64) -> Vec<ToDriver> {
        let Some(folder) = &self.checkpoints else {
            let text = format!("server {}: no checkpoint folder", self.id);
            return vec![ToDriver::Failed(RunError::Role(text))];
        };
        match checkpoint::write_shard(folder, id, self.server.store()) {
            Ok(written) => {
                let input = SchedulerInput::CheckpointWritten { server: self.id, id };
                vec![ToDriver::ShardWritten { id, server: self.id, written }, ToDriver::Input(input)]
            }
            Err(error) => vec![ToDriver::Failed(error.into())],
        }
    }
}
