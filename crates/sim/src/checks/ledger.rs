//! ledger: every sample read is applied, dropped, discarded, failed or left, exactly once, also over roll-backs.
//!
//! Row by row from the messages, held against the scheduler's counts after every answer, against the position that
//! each checkpoint stores, and at the end against the data. A block is finished once, when its last row has met its
//! fate (ARCHITECTURE.md, "What must hold").

use std::collections::BTreeSet;
use std::rc::Rc;

use gearshift_cluster::{Notice, Outcome, Position, SampleCounts, SchedulerInput, SchedulerOutput};
use gearshift_types::{PartId, Time};

use super::Check;
use super::books::{Books, Kept, Phase};
use super::facts::Fact;
use super::rows::{Place, Rows};
use crate::moment::Moment;
use crate::search::Scenario;

pub(super) struct Ledger {
    told: Rc<Scenario>,
    /// Blocks that were read and are not finished.
    open: BTreeSet<(PartId, u32)>,
    /// Whether blocks that are finished belong to an evaluation, which is not booked.
    evaluating: bool,
    outcome: Option<Outcome>,
}

impl Ledger {
    pub(super) fn new(told: Rc<Scenario>) -> Self {
        Self { told, open: BTreeSet::new(), evaluating: false, outcome: None }
    }

    fn block_finished(&mut self, books: &Books, part: PartId, block: u32) -> Result<(), String> {
        if self.evaluating {
            return Ok(());
        }
        if let Some(row) = books.rows.block(part, block).iter().position(|place| !place.is_fate()) {
            let part = part.0;
            return Err(format!(
                "block {block} of part {part} is finished but its row {row} has met no fate"
            ));
        }
        if !self.open.remove(&(part, block)) {
            return Err(format!("block {block} of part {} is finished, but it is not open", part.0));
        }
        Ok(())
    }

    /// All rows of a part have met their fate, and it is the part as it is in the data.
    fn part_trained(&self, books: &Books, part: PartId) -> Result<(), String> {
        let blocks = self.told.data.blocks(part);
        let rows = blocks.iter().map(|block| block.samples() as u64).sum::<u64>();
        let (mut found, mut open) = (0, 0);
        for (_, places) in books.rows.part(part) {
            found += places.len() as u64;
            open += places.iter().filter(|place| !place.is_fate()).count();
        }
        if let Some((part, block)) = self.open.first() {
            return Err(format!("part {} was trained but its block {block} never finished", part.0));
        }
        if open > 0 || found != rows {
            return Err(format!(
                "part {} was trained: expected its {rows} rows to have met their fate, {found} were read and {open} are open",
                part.0
            ));
        }
        Ok(())
    }

    fn over(&self, books: &Books) -> Result<(), String> {
        let (read, rows) = (books.rows.read(), self.told.data.rows());
        if self.outcome == Some(Outcome::Completed) && (read != rows || books.rows.resolved() != rows) {
            let resolved = books.rows.resolved();
            return Err(format!(
                "expected all {rows} samples, {read} were read and {resolved} met their fate"
            ));
        }
        Ok(())
    }
}

fn counted(rows: &Rows, read: u64) -> SampleCounts {
    SampleCounts {
        read,
        applied: rows.count(Place::Applied),
        dropped: rows.count(Place::Dropped),
        discarded: rows.count(Place::Discarded),
        failed: rows.count(Place::Failed),
        granted_again: rows.granted_again,
    }
}

/// What a checkpoint says of samples must be so.
fn checkpoint(kept: &Kept, position: &Position) -> Result<(), String> {
    let expected = counted(&kept.rows, kept.rows.resolved());
    if position.samples != expected || position.step.0 != kept.step {
        let (step, got) = (position.step, position.samples);
        let at = kept.step;
        return Err(format!("checkpoint: expected step {at} and {expected:?}, got step {step} and {got:?}"));
    }
    let part = position.part;
    let mut stored: BTreeSet<(u32, u32)> = BTreeSet::new();
    for range in &position.resolved {
        stored.extend((range.start..range.end).map(|row| (range.block, row)));
    }
    for (block, places) in kept.rows.part(part) {
        for (row, place) in (0..).zip(places) {
            let is_stored = block < position.finished_blocks || stored.remove(&(block, row));
            if is_stored != place.is_fate() {
                let part = part.0;
                return Err(format!(
                    "checkpoint: row {row} of block {block}, part {part} is {place:?}, but trained according to the checkpoint: {is_stored}"
                ));
            }
        }
    }
    match stored.first() {
        None => Ok(()),
        Some((block, row)) => Err(format!("checkpoint: row {row} of block {block} was never read")),
    }
}

impl Check for Ledger {
    const NAME: &'static str = "ledger";

    fn check(&mut self, books: &Books, _now: Time, moment: &Moment<'_>) -> Result<(), String> {
        if let Some(text) = &books.wrong {
            return Err(text.clone());
        }
        match moment {
            Moment::SchedulerTakes(SchedulerInput::BlockRead { part, block, .. })
                if books.phase == Phase::Training(*part) =>
            {
                self.open.insert((*part, *block));
            }
            Moment::SchedulerSays { outputs, samples, left } => {
                for output in *outputs {
                    match output {
                        SchedulerOutput::BlockFinished { part, block } => {
                            self.block_finished(books, *part, *block)?;
                        }
                        SchedulerOutput::FinishCheckpoint { id, position } => {
                            let Some(kept) = books.writing.get(id) else {
                                return Err(format!("checkpoint {id} is finished but was never taken"));
                            };
                            checkpoint(kept, position)?;
                        }
                        SchedulerOutput::Notice(Notice::EvaluationStarted { .. }) => self.evaluating = true,
                        SchedulerOutput::Notice(Notice::PartStarted { .. }) => self.evaluating = false,
                        SchedulerOutput::Finished(outcome) => self.outcome = Some(outcome.clone()),
                        _ => {}
                    }
                }
                for entry in &books.facts {
                    if let Fact::PartTrained(part) = entry.fact {
                        self.part_trained(books, part)?;
                    }
                }
                let expected = counted(&books.rows, books.rows.read());
                if **samples != expected {
                    return Err(format!("expected {expected:?}, the scheduler counts {samples:?}"));
                }
                let open = books.rows.count(Place::Pool) + books.rows.count(Place::Granted);
                if *left != open && books.phase != Phase::Over {
                    return Err(format!("{open} samples are left, the scheduler counts {left}"));
                }
            }
            Moment::RolledBack { .. } => {
                self.open.clear();
                self.evaluating = false;
                self.outcome = None;
            }
            Moment::Over { .. } => self.over(books)?,
            _ => {}
        }
        Ok(())
    }
}
