//! Checkpoints at step boundaries, and the norm that clipping needs of all servers.

use std::collections::BTreeMap;

use gearshift_types::{Commit, Step, Time};

use super::{Phase, Scheduler};
use crate::manifest::Position;
use crate::messages::{Outcome, SchedulerOutput, ToServer};

/// When the last checkpoint was taken, and those being written.
#[derive(Clone, Debug)]
pub(super) struct Checkpoints {
    next_id: u64,
    taken_at_samples: u64,
    taken_at: Time,
    open: BTreeMap<u64, OpenCheckpoint>,
    /// How the job ends once all open checkpoints are written.
    ends_with: Option<Outcome>,
}

#[derive(Clone, Debug)]
struct OpenCheckpoint {
    position: Box<Position>,
    missing: u32,
}

impl Checkpoints {
    pub(super) fn new(samples: u64) -> Self {
        Self {
            next_id: 0,
            taken_at_samples: samples,
            taken_at: Time(0),
            open: BTreeMap::new(),
            ends_with: None,
        }
    }
}

/// Squared norms of a commit, as they come in.
#[derive(Clone, Debug, Default)]
pub(super) struct Norms {
    partials: BTreeMap<u32, f64>,
    servers: u32,
}

/// The factor that brings a mean gradient down to the norm `limit`. Partials are summed in the order of
/// partitions, so the result does not depend on the number of servers.
#[must_use]
pub fn clip_scale(partials: &BTreeMap<u32, f64>, limit: f32) -> f32 {
    let norm = partials.values().sum::<f64>().sqrt();
    if norm > f64::from(limit) { (f64::from(limit) / norm) as f32 } else { 1.0 }
}

impl Scheduler {
    /// Where the job stands after the last commit.
    fn position(&self) -> Box<Position> {
        Box::new(Position {
            step: self.step,
            next_batch: self.next_batch,
            gear: self.gear,
            shifts_done: self.shifts_done,
            part: self.part,
            finished_blocks: self.ledger.finished_blocks(),
            resolved: self.ledger.resolved_ranges(),
            samples: self.ledger.counts_for_checkpoint(),
            trained_seconds: self.elapsed_seconds(),
        })
    }

    /// Tells all servers to write their shard as of the last commit.
    pub(super) fn take_checkpoint(&mut self, out: &mut Vec<SchedulerOutput>) {
        if !self.options.checkpoints {
            return;
        }
        let id = self.checkpoints.next_id;
        self.checkpoints.next_id += 1;
        self.checkpoints.taken_at = self.now;
        self.checkpoints.taken_at_samples = self.ledger.counts().resolved();
        let position = self.position();
        self.checkpoints.open.insert(id, OpenCheckpoint { position, missing: self.options.servers });
        out.push(SchedulerOutput::Servers(ToServer::Checkpoint { id }));
    }

    /// A checkpoint that is due by samples or time waits until the last one is written.
    pub(super) fn checkpoint_if_due(&mut self, out: &mut Vec<SchedulerOutput>) {
        if !self.checkpoints.open.is_empty() {
            return;
        }
        let samples = self.ledger.counts().resolved() - self.checkpoints.taken_at_samples;
        let by_samples = self.options.checkpoint_every_samples.is_some_and(|every| samples >= every);
        let by_time = self.options.checkpoint_every.is_some_and(|every| {
            samples > 0 && self.now - self.checkpoints.taken_at.max(self.started) >= every
        });
        if self.phase == Phase::Training && (by_samples || by_time) {
            self.take_checkpoint(out);
        }
    }

    pub(super) fn checkpoint_written(&mut self, id: u64, out: &mut Vec<SchedulerOutput>) {
        let Some(open) = self.checkpoints.open.get_mut(&id) else { return };
        open.missing -= 1;
        if open.missing > 0 {
            return;
        }
        if let Some(OpenCheckpoint { position, .. }) = self.checkpoints.open.remove(&id) {
            out.push(SchedulerOutput::FinishCheckpoint { id, position });
        }
        self.finish_once_written(out);
    }

    /// Ends the job with a last checkpoint, if any are written at all.
    pub(super) fn finish_with_checkpoint(&mut self, outcome: Outcome, out: &mut Vec<SchedulerOutput>) {
        self.phase = Phase::Ending;
        self.rule = None;
        self.checkpoints.ends_with = Some(outcome);
        self.take_checkpoint(out);
        self.finish_once_written(out);
    }

    /// Servers stop when told so: before that all checkpoints are written and no commit waits for its scale.
    fn finish_once_written(&mut self, out: &mut Vec<SchedulerOutput>) {
        if self.norms.is_empty()
            && self.checkpoints.open.is_empty()
            && let Some(outcome) = self.checkpoints.ends_with.take()
        {
            self.finish(outcome, out);
        }
    }

    pub(super) fn expect_norms(&mut self, commit: &Commit) {
        if self.options.clip_norm.is_some() {
            self.norms.insert(commit.step, Norms::default());
        }
    }

    pub(super) fn norms_arrived(
        &mut self,
        step: Step,
        partials: Vec<(u32, f64)>,
        out: &mut Vec<SchedulerOutput>,
    ) {
        let (Some(limit), Some(norms)) = (self.options.clip_norm, self.norms.get_mut(&step)) else { return };
        norms.partials.extend(partials);
        norms.servers += 1;
        if norms.servers == self.options.servers {
            let scale = clip_scale(&norms.partials, limit);
            self.norms.remove(&step);
            out.push(SchedulerOutput::Servers(ToServer::Scale { step, scale }));
            self.finish_once_written(out);
        }
    }
}
