//! What became of each row, as far as messages tell.

use std::collections::BTreeMap;

use gearshift_types::{PartId, RowRange};

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not read, or to be read again.
    Unread,
    /// Read and not granted.
    Pool,
    /// Granted, no fate yet.
    Granted,
    /// In the parameters.
    Applied,
    /// Weight 0.
    Dropped,
    /// Late.
    Discarded,
    /// Its gradient was refused.
    Failed,
}

impl Place {
    pub(crate) fn is_fate(self) -> bool {
        matches!(self, Self::Applied | Self::Dropped | Self::Discarded | Self::Failed)
    }
}

/// All rows of the training parts that were ever read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    blocks: BTreeMap<(PartId, u32), Vec<Place>>,
    counts: [u64; 7],
    /// Samples that came back to the pool.
    pub(crate) granted_again: u64,
}

impl Rows {
    /// How many rows are there.
    pub(crate) fn count(&self, place: Place) -> u64 {
        self.counts[place as usize]
    }

    /// Rows that have been read.
    pub(crate) fn read(&self) -> u64 {
        self.counts[1..].iter().sum()
    }

    /// Rows that have met their fate.
    pub(crate) fn resolved(&self) -> u64 {
        self.counts[3..].iter().sum()
    }

    /// Rows of a part by block.
    pub(crate) fn part(&self, part: PartId) -> impl Iterator<Item = (u32, &[Place])> {
        let blocks = self.blocks.range((part, 0)..=(part, u32::MAX));
        blocks.map(|((_, block), rows)| (*block, rows.as_slice()))
    }

    /// Rows of a block.
    pub(crate) fn block(&self, part: PartId, block: u32) -> &[Place] {
        self.blocks.get(&(part, block)).map_or(&[], Vec::as_slice)
    }

    /// A block was read; rows that met their fate before a roll-back keep it. Returns the others.
    pub(crate) fn read_block(&mut self, part: PartId, block: u32, rows: u32) -> Result<u64, String> {
        let entry = self.blocks.entry((part, block)).or_insert_with(|| vec![Place::Unread; rows as usize]);
        if entry.len() != rows as usize {
            let (was, part) = (entry.len(), part.0);
            return Err(format!(
                "block {block} of part {part} has {rows} rows, it had {was} when read before"
            ));
        }
        let mut open = 0;
        for place in entry {
            if *place == Place::Unread {
                *place = Place::Pool;
                open += 1;
            } else if !place.is_fate() {
                let part = part.0;
                return Err(format!(
                    "block {block} of part {part} was read a second time while rows of it are open"
                ));
            }
        }
        if open > 0 {
            self.counts[Place::Pool as usize] += open;
        }
        Ok(open)
    }

    /// Rows go from one place to another.
    pub(crate) fn go(&mut self, ranges: &[RowRange], from: Place, to: Place) -> Result<(), String> {
        for range in ranges {
            let block = self.blocks.get_mut(&(range.part, range.block));
            let rows = block.and_then(|rows| rows.get_mut(range.start as usize..range.end as usize));
            let Some(rows) = rows else {
                return Err(format!("rows {range:?} were never read"));
            };
            for (row, place) in (range.start..).zip(rows) {
                if *place != from {
                    let (part, block) = (range.part.0, range.block);
                    return Err(format!(
                        "row {row} of block {block}, part {part}: expected to be {from:?} before it is {to:?}, it is {place:?}"
                    ));
                }
                *place = to;
            }
            let rows = u64::from(range.rows());
            self.counts[from as usize] -= rows;
            self.counts[to as usize] += rows;
        }
        Ok(())
    }

    /// As it is when everything starts from a checkpoint taken now: what has no fate is read again.
    pub(crate) fn kept(&self) -> Self {
        let mut kept = self.clone();
        for place in kept.blocks.values_mut().flatten() {
            if !place.is_fate() {
                *place = Place::Unread;
            }
        }
        kept.counts[1] = 0;
        kept.counts[2] = 0;
        kept
    }
}
