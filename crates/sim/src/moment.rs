//! What checkers see of a run, and how a bug is planted in one.

use gearshift_cluster::{
    LogEntry, SampleCounts, SchedulerInput, SchedulerOutput, ServerInput, ServerOutput, WorkerInput,
    WorkerOutput,
};
use gearshift_embedding::ShardDigest;
use gearshift_types::{ServerId, Step, Time, WorkerEpoch, WorkerId};

/// Something that happened in a run.
#[derive(Debug)]
pub enum Moment<'a> {
    /// The scheduler is about to take this.
    SchedulerTakes(&'a SchedulerInput),
    /// It has answered.
    SchedulerSays {
        /// What it wants done.
        outputs: &'a [SchedulerOutput],
        /// Its ledger now.
        samples: &'a SampleCounts,
        /// Samples in its pool or granted.
        left: u64,
    },
    /// A server is about to take this.
    ServerTakes {
        /// Who.
        server: ServerId,
        /// What.
        input: &'a ServerInput,
    },
    /// It has answered.
    ServerSays {
        /// Who.
        server: ServerId,
        /// What it wants done.
        outputs: &'a [ServerOutput],
        /// Updates it has applied.
        version: Step,
        /// Gradients it holds.
        held: usize,
    },
    /// A worker is about to take this.
    WorkerTakes {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// What.
        input: &'a WorkerInput,
    },
    /// It has answered, or computed a batch.
    WorkerSays {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
        /// What it wants done.
        outputs: &'a [WorkerOutput],
    },
    /// A life of a worker begins.
    WorkerStarts {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
    },
    /// A life of a worker ends.
    WorkerEnds {
        /// Who.
        worker: WorkerId,
        /// Which life.
        epoch: WorkerEpoch,
    },
    /// A fault of the plan strikes.
    Fault(&'a crate::cluster::Fault),
    /// A server or the scheduler has ended: everything goes on from the last checkpoint.
    RolledBack {
        /// The log that is left.
        log: &'a [LogEntry],
    },
    /// The run is over and every message has arrived.
    Over {
        /// The whole log.
        log: &'a [LogEntry],
        /// What all servers hold, if the world can tell.
        digest: Option<&'a ShardDigest>,
    },
}

/// Watches a run.
pub trait Watcher {
    /// Takes note. Whatever is wrong is told as text: who, what was expected, what came.
    ///
    /// # Errors
    /// When something that must hold does not.
    fn watch(&mut self, now: Time, moment: &Moment<'_>) -> Result<(), String>;
}

/// What becomes of a message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives.
    Once,
    /// It arrives twice.
    Twice,
    /// It is lost.
    Never,
}

/// A planted bug: changes what roles say or hear. Checkers see the result, as if a role or the transport were wrong.
pub trait Tamper {
    /// Before the scheduler takes a message.
    fn to_scheduler(&mut self, _now: Time, _input: &mut SchedulerInput) -> Delivery {
        Delivery::Once
    }

    /// What the scheduler has said, before it is seen or carried out.
    fn scheduler_said(&mut self, _now: Time, _outputs: &mut Vec<SchedulerOutput>) {}

    /// Before a server takes a message.
    fn to_server(&mut self, _now: Time, _server: ServerId, _input: &mut ServerInput) -> Delivery {
        Delivery::Once
    }

    /// Before a worker takes a message.
    fn to_worker(&mut self, _now: Time, _worker: WorkerId, _input: &mut WorkerInput) -> Delivery {
        Delivery::Once
    }

    /// What a worker has said, before it is seen or carried out.
    fn worker_said(&mut self, _now: Time, _worker: WorkerId, _outputs: &mut Vec<WorkerOutput>) {}
}
