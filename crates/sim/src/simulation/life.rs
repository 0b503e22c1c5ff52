//! A worker through all its lives.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use gearshift_cluster::{Worker, WorkerInput};
use gearshift_types::{Time, WorkerEpoch};

use super::Inbox;

/// A batch being computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Computing {
    pub(crate) number: u64,
    pub(crate) began: Time,
    pub(crate) until: Time,
}

/// What a worker that stands still will find when it goes on.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    pub(crate) until: Time,
    pub(crate) inbox: Inbox<WorkerInput>,
    /// What is left to compute.
    pub(crate) remaining: Option<Duration>,
}

/// One worker.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) epoch: WorkerEpoch,
    pub(crate) started: bool,
    /// `None` between two lives.
    pub(crate) machine: Option<Worker>,
    /// Samples of the batches loaded and not computed, oldest first.
    pub(crate) loaded: VecDeque<u32>,
    /// Samples of the batch loaded last.
    pub(crate) pulled: u32,
    pub(crate) computing: Option<Computing>,
    pub(crate) standing: Option<Standing>,
    /// Batches begun in all lives.
    pub(crate) batches: u64,
    /// Time computed in all lives.
    pub(crate) computed: Duration,
    /// Lives that have ended, and when their last message left.
    pub(crate) lost_after: BTreeMap<WorkerEpoch, Time>,
    /// It never comes back.
    pub(crate) gone: bool,
}

impl Life {
    /// Time computed, the batch at hand included.
    pub(crate) fn busy(&self, now: Time) -> Duration {
        self.computed + self.computing.map_or(Duration::ZERO, |computing| now - computing.began)
    }

    pub(crate) fn describe(&self) -> String {
        match &self.machine {
            None if self.gone => "gone".to_owned(),
            None => "between two lives".to_owned(),
            Some(_) if self.standing.is_some() => "stands still".to_owned(),
            Some(_) if self.computing.is_some() => "computes".to_owned(),
            Some(machine) => format!("waits for {:?}", machine.waits_for()),
        }
    }

    /// Ends this life.
    pub(crate) fn end(&mut self, now: Time) {
        if let Some(computing) = self.computing.take() {
            self.computed += now - computing.began;
        }
        self.machine = None;
        self.standing = None;
        self.loaded.clear();
    }
}
