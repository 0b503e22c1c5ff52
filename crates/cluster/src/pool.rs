//! The samples of the open part that nobody has been granted: blocks in data order, and what was given back.

use std::collections::{BTreeSet, VecDeque};

use gearshift_types::RowRange;

/// Row ranges to be granted. What was lost comes before what is new; both in data order.
#[derive(Clone, Debug, Default)]
pub struct SamplePool {
    returned: BTreeSet<RowRange>,
    fresh: VecDeque<RowRange>,
    available: u64,
}

impl SamplePool {
    /// Samples that can be drawn.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.available
    }

    /// Adds rows that have just been read.
    pub fn add(&mut self, range: RowRange) {
        if range.rows() > 0 {
            self.available += u64::from(range.rows());
            self.fresh.push_back(range);
        }
    }

    /// Takes back rows of a lost lease.
    pub fn give_back(&mut self, ranges: &[RowRange]) {
        for range in ranges {
            self.available += u64::from(range.rows());
            let new = self.returned.insert(*range);
            assert!(new, "rows {range:?} were given back twice");
        }
    }

    /// Draws `samples` rows.
    ///
    /// # Panics
    /// When fewer are available: the rule that granted them counts them too.
    #[must_use]
    pub fn draw(&mut self, samples: u32) -> Vec<RowRange> {
        assert!(
            u64::from(samples) <= self.available,
            "{samples} samples granted, {} available",
            self.available
        );
        let mut missing = samples;
        let mut drawn: Vec<RowRange> = Vec::new();
        while missing > 0 {
            let lost = self.returned.pop_first();
            let range = lost.or_else(|| self.fresh.pop_front()).expect("available counts the ranges");
            let taken = range.rows().min(missing);
            let (head, tail) = cut(range, taken);
            if tail.rows() > 0 && lost.is_some() {
                self.returned.insert(tail);
            } else if tail.rows() > 0 {
                self.fresh.push_front(tail);
            }
            missing -= taken;
            match drawn.last_mut() {
                Some(last)
                    if last.part == head.part && last.block == head.block && last.end == head.start =>
                {
                    last.end = head.end;
                }
                _ => drawn.push(head),
            }
        }
        self.available -= u64::from(samples);
        drawn
    }
}

fn cut(range: RowRange, rows: u32) -> (RowRange, RowRange) {
    let middle = range.start + rows;
    (RowRange { end: middle, ..range }, RowRange { start: middle, ..range })
}

#[cfg(test)]
mod tests {
    use gearshift_types::PartId;

    use super::*;

    fn range(block: u32, start: u32, end: u32) -> RowRange {
        RowRange { part: PartId(0), block, start, end }
    }

    #[test]
    fn draws_lost_rows_first_and_spans_blocks() {
        let mut pool = SamplePool::default();
        pool.add(range(0, 0, 100));
        pool.add(range(1, 0, 100));
        let first = pool.draw(60);
        let second = pool.draw(60);
        assert_eq!(first, vec![range(0, 0, 60)]);
        assert_eq!(second, vec![range(0, 60, 100), range(1, 0, 20)]);
        pool.give_back(&first);
        assert_eq!(pool.available(), 140);
        assert_eq!(pool.draw(30), vec![range(0, 0, 30)]);
        assert_eq!(pool.draw(50), vec![range(0, 30, 60), range(1, 20, 40)]);
        assert_eq!(pool.draw(60), vec![range(1, 40, 100)]);
        assert_eq!(pool.available(), 0);
    }

    #[test]
    fn every_row_is_drawn_once_whatever_is_given_back() {
        let mut pool = SamplePool::default();
        for block in 0..5 {
            pool.add(range(block, 0, 37));
        }
        let mut held: Vec<Vec<RowRange>> = Vec::new();
        let mut seen = BTreeSet::new();
        for turn in 0_u32.. {
            let drawn = pool.draw((turn % 11 + 1).min(pool.available() as u32));
            held.push(drawn);
            if turn % 3 == 0 && turn < 60 {
                pool.give_back(&held.swap_remove((turn as usize * 7) % held.len()));
            }
            if pool.available() == 0 {
                break;
            }
        }
        for piece in held.iter().flatten() {
            for row in piece.start..piece.end {
                assert!(seen.insert((piece.block, row)), "row {row} of block {} drawn twice", piece.block);
            }
        }
        assert_eq!(seen.len(), 5 * 37);
    }
}
