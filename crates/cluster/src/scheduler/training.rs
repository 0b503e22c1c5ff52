//! Parts, rules and what they decide.

use gearshift_coordination::{Decision, Engagement, Event, engage};
use gearshift_types::{BatchId, Commit, DiscardReason, PartId, RowRange, Step, Token, WorkerEpoch, WorkerId};

use super::{Lease, LeaseState, Phase, Scheduler};
use crate::ledger::Fate;
use crate::messages::{
    Assignment, BatchReport, LogEntry, LogMember, Notice, Outcome, SchedulerOutput, ToServer, ToWorker,
};
use crate::scheduler::options::OnNonFinite;

impl Scheduler {
    /// Opens the part under way and engages the gear.
    pub(super) fn begin_part(&mut self, out: &mut Vec<SchedulerOutput>) {
        if self.part.0 >= self.options.parts {
            return self.finish_with_checkpoint(Outcome::Completed, out);
        }
        self.phase = Phase::Training;
        self.part_read = false;
        self.shift_at_part_start(out);
        let (part, gear, step) = (self.part, self.gear, self.step);
        out.push(SchedulerOutput::Notice(Notice::PartStarted { part, gear, step }));
        out.push(SchedulerOutput::OpenPart { part, skip_blocks: self.ledger.finished_blocks() });
        self.engage(out);
    }

    /// Puts the gear in force at the step reached.
    pub(super) fn engage(&mut self, out: &mut Vec<SchedulerOutput>) {
        let at = Engagement { step: self.step, next_batch: self.next_batch, batch: self.options.batch };
        self.drained = false;
        self.draining = None;
        match engage(self.gear, &self.options.gears, at) {
            Ok(rule) => self.rule = Some(rule),
            Err(error) => return self.finish(Outcome::Failed(error.to_string()), out),
        }
        out.push(SchedulerOutput::Log(LogEntry::Engaged { gear: self.gear, step: self.step }));
        let joined = self.workers.ids().into_iter().map(|worker| Event::WorkerJoined { worker });
        let requests = self.workers.waiting().into_iter().map(|worker| Event::TokenRequested { worker });
        let samples = Event::SamplesAvailable { samples: self.pool.available() };
        let mut events: Vec<Event> = joined.collect();
        events.push(samples);
        events.extend(self.part_read.then_some(Event::DataExhausted));
        events.extend(requests);
        for event in events {
            if !self.drained {
                self.drive(event, out);
            }
        }
    }

    pub(super) fn block_read(&mut self, part: PartId, block: u32, rows: u32, out: &mut Vec<SchedulerOutput>) {
        if self.phase == Phase::Evaluating {
            return self.evaluation_block(part, block, rows, out);
        }
        if self.phase != Phase::Training || part != self.part {
            return;
        }
        let open = self.ledger.read_block(block, rows);
        let samples: u64 = open.iter().map(|range| u64::from(range.rows())).sum();
        for range in open {
            self.pool.add(range);
        }
        if samples == 0 {
            out.push(SchedulerOutput::BlockFinished { part, block });
        } else {
            self.drive(Event::SamplesAvailable { samples }, out);
        }
    }

    pub(super) fn part_was_read(&mut self, part: PartId, out: &mut Vec<SchedulerOutput>) {
        if self.phase == Phase::Evaluating {
            return self.evaluation_was_read(part, out);
        }
        if self.phase == Phase::Training && part == self.part && !self.part_read {
            let missing = self.ledger.carried_rows();
            if missing > 0 {
                let text = format!(
                    "part {} has ended, but {missing} rows that were trained before the checkpoint are not in it; go on with the data and the block_rows of that run",
                    part.0
                );
                return self.finish(Outcome::Failed(text), out);
            }
            self.part_read = true;
            self.drive(Event::DataExhausted, out);
        }
    }

    pub(super) fn gradient_pushed(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        batch: BatchId,
        report: BatchReport,
        out: &mut Vec<SchedulerOutput>,
    ) {
        self.workers.seen(worker, epoch, self.now);
        let servers = self.options.servers as usize;
        let Some(lease) = self.running_lease(worker, epoch, batch) else { return };
        let (samples, versions) = (report.samples, report.versions.len());
        if (samples, versions) != (lease.samples, servers) {
            let reason = format!(
                "batch {batch} was reported with {samples} samples and {versions} versions, expected {} and \
                 {servers}; worker and scheduler do not run the same job",
                lease.samples
            );
            return self.gradient_refused(worker, epoch, batch, &reason, out);
        }
        lease.state = LeaseState::Pushed;
        lease.versions.clone_from(&report.versions);
        let version = report.versions.iter().copied().min().unwrap_or_default();
        out.push(SchedulerOutput::Notice(Notice::Trained { worker, report }));
        self.drive(Event::GradientPushed { worker, batch, samples, version }, out);
    }

    pub(super) fn gradient_refused(
        &mut self,
        worker: WorkerId,
        epoch: WorkerEpoch,
        batch: BatchId,
        reason: &str,
        out: &mut Vec<SchedulerOutput>,
    ) {
        let step = self.step;
        let Some(lease) = self.running_lease(worker, epoch, batch) else { return };
        lease.state = LeaseState::Failed;
        if self.options.on_nonfinite == OnNonFinite::Stop {
            let text = format!("worker {worker}, step {step}: {reason} (on_nonfinite = \"stop\")");
            return self.finish(Outcome::Failed(text), out);
        }
        let reason = reason.to_owned();
        out.push(SchedulerOutput::Notice(Notice::GradientRefused { worker, batch, reason }));
        self.drive(Event::GradientFailed { worker, batch }, out);
    }

    fn running_lease(&mut self, worker: WorkerId, epoch: WorkerEpoch, batch: BatchId) -> Option<&mut Lease> {
        self.leases.get_mut(&batch).filter(|lease| {
            lease.worker == worker && lease.epoch == epoch && lease.state == LeaseState::Running
        })
    }

    /// Carries out one decision of the rule.
    pub(super) fn carry_out(&mut self, decision: Decision, out: &mut Vec<SchedulerOutput>) {
        match decision {
            Decision::Grant { worker, batch, token, samples } => {
                self.grant(worker, batch, token, samples, out);
            }
            Decision::Commit(commit) => self.commit(commit, out),
            Decision::Discard { batch, reason } => self.discard(batch, reason, out),
            Decision::Drained => {
                self.drained = true;
                self.rule = None;
            }
        }
    }

    fn grant(
        &mut self,
        worker: WorkerId,
        batch: BatchId,
        token: Token,
        samples: u32,
        out: &mut Vec<SchedulerOutput>,
    ) {
        assert!(batch >= self.next_batch, "batch {batch} granted twice");
        self.next_batch = BatchId(batch.0 + 1);
        self.workers.answer(worker);
        let epoch = self.workers.epoch(worker).expect("rules grant to live workers");
        let ranges = self.pool.draw(samples);
        let min_step = self.gear.waits_for_step().then_some(Step(token.0));
        let assignment = Assignment { batch, token, ranges: ranges.clone(), min_step };
        let lease = Lease {
            worker,
            epoch,
            token,
            ranges,
            samples,
            granted: self.now,
            versions: Vec::new(),
            state: LeaseState::Running,
        };
        self.leases.insert(batch, lease);
        out.push(SchedulerOutput::Worker { worker, epoch, message: ToWorker::Train(assignment) });
        self.first_grant_after_shift(out);
    }

    fn commit(&mut self, commit: Commit, out: &mut Vec<SchedulerOutput>) {
        assert_eq!(commit.step, self.step, "rules commit steps one after the other");
        let mut members = Vec::with_capacity(commit.members.len());
        for member in &commit.members {
            let lease = self.leases.remove(&member.batch).expect("rules commit batches that were granted");
            let fate = match (lease.state, member.weight > 0.0) {
                (LeaseState::Failed, _) => Fate::Failed,
                (_, false) => Fate::Dropped,
                (_, true) => Fate::Applied,
            };
            if fate != Fate::Failed {
                let version = lease.versions.iter().copied().min().unwrap_or_default();
                self.figures.token_staleness_steps.add(commit.step.staleness_steps(lease.token));
                self.figures.version_staleness_steps.add(commit.step.staleness_steps(Token(version.0)));
            }
            self.resolve(lease.worker, &lease.ranges, fate, out);
            members.push(LogMember {
                batch: member.batch,
                worker: lease.worker,
                token: lease.token,
                weight: member.weight,
                versions: lease.versions,
                ranges: lease.ranges,
            });
        }
        self.step = commit.step.next();
        let divisor_samples = commit.divisor_samples;
        out.push(SchedulerOutput::Log(LogEntry::Commit { step: commit.step, divisor_samples, members }));
        self.expect_norms(&commit);
        out.push(SchedulerOutput::Servers(ToServer::Commit(commit)));
        self.checkpoint_if_due(out);
    }

    fn discard(&mut self, batch: BatchId, reason: DiscardReason, out: &mut Vec<SchedulerOutput>) {
        let DiscardReason::Late = reason;
        let lease = self.leases.remove(&batch).expect("rules discard batches that were granted");
        self.resolve(lease.worker, &lease.ranges, Fate::Discarded, out);
        out.push(SchedulerOutput::Servers(ToServer::Release(batch)));
    }

    fn resolve(&mut self, worker: WorkerId, ranges: &[RowRange], fate: Fate, out: &mut Vec<SchedulerOutput>) {
        let samples: u64 = ranges.iter().map(|range| u64::from(range.rows())).sum();
        let figures = self.figures.worker(worker);
        figures.batches += 1;
        match fate {
            Fate::Applied => figures.applied += samples,
            Fate::Dropped => figures.dropped += samples,
            Fate::Discarded => figures.discarded += samples,
            Fate::Failed => figures.failed += samples,
        }
        let finished = self.ledger.resolve(ranges, fate);
        let finished = finished.unwrap_or_else(|error| panic!("{error}"));
        let part = self.part;
        out.extend(finished.into_iter().map(|block| SchedulerOutput::BlockFinished { part, block }));
    }

    /// The rule holds nothing and grants nothing any more: shift, stop, or the part is over.
    pub(super) fn rule_drained(&mut self, out: &mut Vec<SchedulerOutput>) {
        self.rule = None;
        self.draining = None;
        let part_over = self.part_read && self.pool.available() == 0;
        self.shift_drained();
        if part_over {
            let (part, step) = (self.part, self.step);
            out.push(SchedulerOutput::Notice(Notice::PartTrained { part, step }));
            if self.stopping { self.part_over(out) } else { self.evaluate_part(out) }
        } else if self.stopping {
            self.finish_with_checkpoint(Outcome::Stopped, out);
        } else {
            self.engage(out);
        }
    }

    /// The part has been trained and evaluated.
    pub(super) fn part_over(&mut self, out: &mut Vec<SchedulerOutput>) {
        out.push(SchedulerOutput::Notice(Notice::PartOver { part: self.part }));
        self.part = PartId(self.part.0 + 1);
        self.pool = Default::default();
        self.ledger.open_part(self.part);
        if self.stopping {
            return self.finish_with_checkpoint(Outcome::Stopped, out);
        }
        if self.part.0 < self.options.parts && self.options.checkpoint_at_part_end {
            self.take_checkpoint(out);
        }
        self.begin_part(out);
    }
}
