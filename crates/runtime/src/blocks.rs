//! Parsed blocks, shared by the threads of a process: each is parsed once and kept until its last row has met
//! its fate.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gearshift_data::gather;
use gearshift_types::{Batch, PartId, RowRange};

/// Blocks by part and number.
#[derive(Debug, Default)]
pub struct BlockCache {
    blocks: Mutex<Blocks>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Blocks {
    by_place: BTreeMap<(PartId, u32), Arc<Batch>>,
    rows: u64,
    starving: bool,
}

/// Rows that are not in the cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("rows {start}..{end} of block {block}, part {} are not in the block cache", part.0)]
pub struct MissingRows {
    part: PartId,
    block: u32,
    start: u32,
    end: u32,
}

impl BlockCache {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        // A panic elsewhere leaves the map whole: every change is one call.
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a parsed block.
    pub fn insert(&self, part: PartId, block: u32, batch: Arc<Batch>) {
        let mut blocks = self.lock();
        blocks.rows += batch.samples() as u64;
        blocks.starving = false;
        blocks.by_place.insert((part, block), batch);
    }

    /// Forgets a block.
    pub fn remove(&self, part: PartId, block: u32) {
        let mut blocks = self.lock();
        if let Some(batch) = blocks.by_place.remove(&(part, block)) {
            blocks.rows -= batch.samples() as u64;
        }
        self.changed.notify_all();
    }

    /// Forgets all blocks.
    pub fn clear(&self) {
        *self.lock() = Blocks::default();
        self.changed.notify_all();
    }

    /// Says whether the scheduler has too few open rows to go on, until the next block comes. A gradient that is
    /// held back keeps its whole block here, so the blocks can be many and the open rows few.
    pub fn set_starving(&self, starving: bool) {
        self.lock().starving = starving;
        if starving {
            self.changed.notify_all();
        }
    }

    /// Waits up to `limit` until fewer than `rows_max` rows are held, or too few of them are open. Whether that is
    /// so.
    #[must_use]
    pub fn wait_for_room(&self, rows_max: u64, limit: Duration) -> bool {
        let blocks = self.lock();
        let full = |blocks: &mut Blocks| blocks.rows >= rows_max && !blocks.starving;
        let waited = self.changed.wait_timeout_while(blocks, limit, full);
        let (mut blocks, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !full(&mut blocks)
    }

    /// Copies rows out, in the order of the ranges.
    ///
    /// # Errors
    /// When one of the blocks is not held.
    pub fn rows(&self, ranges: &[RowRange]) -> Result<Batch, MissingRows> {
        let mut held: Vec<(Arc<Batch>, Range<u32>)> = Vec::with_capacity(ranges.len());
        {
            let blocks = self.lock();
            for range in ranges {
                let block = blocks.by_place.get(&(range.part, range.block));
                let block =
                    block.filter(|block| range.start <= range.end && range.end as usize <= block.samples());
                let RowRange { part, block: number, start, end } = *range;
                let block = block.ok_or(MissingRows { part, block: number, start, end })?;
                held.push((Arc::clone(block), start..end));
            }
        }
        let pieces: Vec<(&Batch, Range<u32>)> =
            held.iter().map(|(block, rows)| (block.as_ref(), rows.clone())).collect();
        Ok(gather(&pieces))
    }
}
