//! The sample ledger: what became of every sample that was read. Each exactly once, at any kill of any worker.

use std::collections::BTreeMap;

use gearshift_types::{PartId, RowRange};
use serde::{Deserialize, Serialize};

/// What became of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// In the parameters (weight > 0).
    Applied,
    /// Weight 0.
    Dropped,
    /// Late gradient of backup_workers.
    Discarded,
    /// Gradient refused.
    Failed,
}

/// How many samples had which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleCounts {
    /// Samples read from the data.
    pub read: u64,
    /// In the parameters.
    pub applied: u64,
    /// Weight 0.
    pub dropped: u64,
    /// Late gradients of backup_workers.
    pub discarded: u64,
    /// Gradient refused.
    pub failed: u64,
    /// Granted a second time because a worker died or its lease ended (a count of events, no fate).
    pub granted_again: u64,
}

impl SampleCounts {
    /// Samples that have met their fate.
    #[must_use]
    pub fn resolved(&self) -> u64 {
        self.applied + self.dropped + self.discarded + self.failed
    }

    /// Whether every sample read has met its fate.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.read == self.resolved()
    }
}

/// A sample met its fate twice or was never read: the one error that must not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ledger: rows {range:?} met their fate ({fate:?}) {problem}")]
pub struct LedgerError {
    range: RowRange,
    fate: Fate,
    problem: &'static str,
}

/// The rows of one block that have met their fate.
#[derive(Clone, Debug, Default)]
struct BlockLedger {
    rows: u32,
    resolved: u32,
    /// Disjoint, not touching: start -> end.
    ranges: BTreeMap<u32, u32>,
}

/// Counts and, for the open part, which rows.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    counts: SampleCounts,
    part: PartId,
    blocks: BTreeMap<u32, BlockLedger>,
    /// Blocks before this one are finished.
    finished: u32,
    /// Rows resolved before a checkpoint that this run was resumed from, by block.
    carried: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Ledger {
    /// Goes on from counts and, in an open part, from the rows already resolved.
    #[must_use]
    pub fn resume(counts: SampleCounts, part: PartId, finished: u32, resolved: &[RowRange]) -> Self {
        let mut carried: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for range in resolved {
            carried.entry(range.block).or_default().push((range.start, range.end));
        }
        Self { counts, part, blocks: BTreeMap::new(), finished, carried }
    }

    /// Counts of the whole run.
    #[must_use]
    pub fn counts(&self) -> &SampleCounts {
        &self.counts
    }

    /// Blocks at the start of the part in which every row has met its fate.
    #[must_use]
    pub fn finished_blocks(&self) -> u32 {
        self.finished
    }

    /// A new part begins.
    pub fn open_part(&mut self, part: PartId) {
        self.part = part;
        self.blocks.clear();
        self.carried.clear();
        self.finished = 0;
    }

    /// A block was read: returns the rows that are still to be trained.
    pub fn read_block(&mut self, block: u32, rows: u32) -> Vec<RowRange> {
        let mut entry = BlockLedger { rows, ..BlockLedger::default() };
        let mut open = Vec::new();
        let mut next = 0;
        let mut carried = self.carried.remove(&block).unwrap_or_default();
        carried.sort_unstable();
        // Rows beyond the block's end cannot have been trained: they stay carried and are found out at the end.
        let beyond = carried.split_off(carried.partition_point(|&(_, end)| end <= rows));
        if !beyond.is_empty() {
            self.carried.insert(block, beyond);
        }
        for (start, end) in carried {
            if start > next {
                open.push(RowRange { part: self.part, block, start: next, end: start });
            }
            entry.add(start, end);
            next = end;
        }
        if next < rows {
            open.push(RowRange { part: self.part, block, start: next, end: rows });
        }
        self.counts.read += u64::from(rows - entry.resolved);
        self.blocks.insert(block, entry);
        self.finish_blocks();
        open
    }

    /// Rows that a checkpoint says were trained, in blocks that have not been read. At the end of the part there
    /// must be none, or the data are not those of the checkpoint.
    #[must_use]
    pub fn carried_rows(&self) -> u64 {
        self.carried.values().flatten().map(|&(start, end)| u64::from(end - start)).sum()
    }

    /// Samples meet their fate. Returns the blocks that are finished by it.
    ///
    /// # Errors
    /// When one of them had met its fate before, or was never read.
    pub fn resolve(&mut self, ranges: &[RowRange], fate: Fate) -> Result<Vec<u32>, LedgerError> {
        let mut finished = Vec::new();
        for range in ranges {
            let error = |problem| LedgerError { range: *range, fate, problem };
            let Some(block) = self.blocks.get_mut(&range.block).filter(|_| range.part == self.part) else {
                return Err(error("but their block is not open"));
            };
            if range.end > block.rows {
                return Err(error("but the block is shorter"));
            }
            if !block.is_open(range.start, range.end) {
                return Err(error("a second time"));
            }
            block.add(range.start, range.end);
            if block.resolved == block.rows {
                finished.push(range.block);
            }
            let rows = u64::from(range.rows());
            match fate {
                Fate::Applied => self.counts.applied += rows,
                Fate::Dropped => self.counts.dropped += rows,
                Fate::Discarded => self.counts.discarded += rows,
                Fate::Failed => self.counts.failed += rows,
            }
        }
        self.finish_blocks();
        Ok(finished)
    }

    /// Samples were lost with their lease and will be granted again.
    pub fn grant_again(&mut self, samples: u64) {
        self.counts.granted_again += samples;
    }

    /// Rows resolved in the open part beyond [`Ledger::finished_blocks`], for a checkpoint.
    #[must_use]
    pub fn resolved_ranges(&self) -> Vec<RowRange> {
        let mut ranges = Vec::new();
        for (block, entry) in &self.blocks {
            let of_block = entry.ranges.iter();
            ranges.extend(of_block.map(|(&start, &end)| RowRange {
                part: self.part,
                block: *block,
                start,
                end,
            }));
        }
        for (block, carried) in &self.carried {
            let of_block = carried.iter();
            ranges.extend(of_block.map(|&(start, end)| RowRange {
                part: self.part,
                block: *block,
                start,
                end,
            }));
        }
        ranges
    }

    /// Counts as of now for a checkpoint: rows read but not resolved will be read again.
    #[must_use]
    pub fn counts_for_checkpoint(&self) -> SampleCounts {
        SampleCounts { read: self.counts.resolved(), ..self.counts }
    }

    fn finish_blocks(&mut self) {
        while self.blocks.get(&self.finished).is_some_and(|block| block.resolved == block.rows) {
            self.blocks.remove(&self.finished);
            self.finished += 1;
        }
    }
}

impl BlockLedger {
    fn is_open(&self, start: u32, end: u32) -> bool {
        self.ranges.range(..end).next_back().is_none_or(|(_, &last)| last <= start)
    }

    fn add(&mut self, start: u32, end: u32) {
        self.resolved += end - start;
        let (mut start, mut end) = (start, end);
        if let Some((&before, &touching)) = self.ranges.range(..start).next_back()
            && touching == start
        {
            self.ranges.remove(&before);
            start = before;
        }
        if let Some(after) = self.ranges.remove(&end) {
            end = after;
        }
        self.ranges.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(block: u32, start: u32, end: u32) -> RowRange {
        RowRange { part: PartId(0), block, start, end }
    }

    #[test]
    fn a_second_fate_and_an_unread_row_are_errors() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.read_block(0, 10), vec![range(0, 0, 10)]);
        ledger.resolve(&[range(0, 2, 5)], Fate::Applied).unwrap();
        assert!(ledger.resolve(&[range(0, 4, 6)], Fate::Applied).is_err());
        assert!(ledger.resolve(&[range(0, 0, 3)], Fate::Dropped).is_err());
        assert!(ledger.resolve(&[range(0, 8, 11)], Fate::Applied).is_err());
        assert!(ledger.resolve(&[range(1, 0, 1)], Fate::Applied).is_err());
    }

    #[test]
    fn blocks_finish_and_the_counts_add_up() {
        let mut ledger = Ledger::default();
        ledger.read_block(0, 10);
        ledger.read_block(1, 4);
        assert_eq!(ledger.resolve(&[range(0, 5, 10), range(1, 0, 4)], Fate::Applied).unwrap(), vec![1]);
        assert!(!ledger.counts().adds_up());
        assert_eq!(ledger.finished_blocks(), 0);
        assert_eq!(ledger.resolve(&[range(0, 0, 5)], Fate::Failed).unwrap(), vec![0]);
        assert_eq!(ledger.finished_blocks(), 2);
        assert!(ledger.counts().adds_up());
    }

    #[test]
    fn other_data_than_the_checkpoints_are_found_out() {
        let carried = [range(0, 2, 4), range(0, 8, 12), range(3, 0, 5)];
        let mut ledger = Ledger::resume(SampleCounts::default(), PartId(0), 0, &carried);
        assert_eq!(ledger.carried_rows(), 11);
        assert_eq!(ledger.read_block(0, 10), vec![range(0, 0, 2), range(0, 4, 10)]);
        assert_eq!(ledger.carried_rows(), 9);
    }

    #[test]
    fn goes_on_where_a_checkpoint_was_taken() {
        let mut ledger = Ledger::default();
        ledger.read_block(0, 8);
        ledger.read_block(1, 8);
        ledger.resolve(&[range(0, 0, 8), range(1, 2, 4), range(1, 6, 7)], Fate::Applied).unwrap();
        let counts = ledger.counts_for_checkpoint();
        let mut resumed =
            Ledger::resume(counts, PartId(0), ledger.finished_blocks(), &ledger.resolved_ranges());
        assert_eq!(resumed.resolved_ranges(), ledger.resolved_ranges());
        assert_eq!(resumed.read_block(1, 8), vec![range(1, 0, 2), range(1, 4, 6), range(1, 7, 8)]);
        resumed.resolve(&[range(1, 0, 2), range(1, 4, 6), range(1, 7, 8)], Fate::Applied).unwrap();
        assert!(resumed.counts().adds_up());
        assert_eq!(resumed.counts().read, 16);
    }
}
