//! From keys to row numbers: open addressing over 64-bit entries of (32-bit tag, 32-bit row).
//!
//! An entry's home is `tag * capacity / 2^32`, so tags grow along the array: rehashing needs no keys and is one
//! sequential pass, the capacity may be any number, and growing by a quarter keeps the index within 8 to 12.5
//! bytes per row. The key itself lies in the row; a lookup costs one cache miss here and those of the row.

use crate::simd::prefetch;
use gearshift_types::Key;

/// No row.
pub(crate) const NONE: u32 = u32::MAX;

const EMPTY: u64 = u64::MAX;
const SMALLEST: usize = 16;

/// Room behind the last home.
const TAIL: usize = 16;

/// A map from tags to rows that compares keys through its caller.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// `capacity` homes, then the tail; the last entry is always empty, so that every search ends.
    entries: Vec<u64>,
    capacity: usize,
    len: usize,
}

/// The tag of a key.
#[inline(always)]
pub(crate) fn tag_of(key: Key) -> u32 {
    let mut x = key.0;
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (x >> 32) as u32
}

impl Index {
    #[inline(always)]
    fn home(&self, tag: u32) -> usize {
        ((u64::from(tag) * self.capacity as u64) >> 32) as usize
    }

    /// Asks for the cache line where the search for `tag` starts.
    #[inline(always)]
    pub(crate) fn prefetch(&self, tag: u32) {
        prefetch(&self.entries, self.home(tag));
    }

    /// A row with this tag, nearly always the one searched for; the caller compares the key.
    #[inline(always)]
    pub(crate) fn candidate(&self, tag: u32) -> u32 {
        self.find(tag, |_| true)
    }

    /// The row with this tag that `is_it` accepts, or [`NONE`].
    #[inline(always)]
    pub(crate) fn find(&self, tag: u32, mut is_it: impl FnMut(u32) -> bool) -> u32 {
        let Some(entries) = self.entries.get(self.home(tag)..) else { return NONE };
        for &entry in entries {
            if entry == EMPTY {
                return NONE;
            }
            if (entry >> 32) as u32 == tag && is_it(entry as u32) {
                return entry as u32;
            }
        }
        NONE
    }

    /// Adds a row that is not in the index.
    pub(crate) fn insert(&mut self, tag: u32, row: u32) {
        assert!(row != NONE, "row numbers end at {NONE}");
        if (self.len + 1) * 5 > self.capacity * 4 {
            let capacity = (self.capacity + self.capacity / 4).max(SMALLEST);
            let old = std::mem::replace(&mut self.entries, empty(capacity));
            self.capacity = capacity;
            for entry in old {
                if entry != EMPTY {
                    self.place(entry);
                }
            }
        }
        self.place(u64::from(tag) << 32 | u64::from(row));
        self.len += 1;
    }

    /// Makes room for `rows` rows in an empty index.
    pub(crate) fn reserve(&mut self, rows: usize) {
        assert_eq!(self.len, 0, "only an empty index is resized in one go");
        let capacity = (rows + rows / 2).max(SMALLEST);
        if capacity > self.capacity {
            self.entries = empty(capacity);
            self.capacity = capacity;
        }
    }

    /// Forgets all rows, keeps the memory.
    pub(crate) fn clear(&mut self) {
        if self.len > 0 {
            self.entries.fill(EMPTY);
            self.len = 0;
        }
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * 8
    }

    #[inline]
    fn place(&mut self, entry: u64) {
        let mut at = self.home((entry >> 32) as u32);
        while self.entries[at] != EMPTY {
            at += 1;
        }
        self.entries[at] = entry;
        if at + 1 >= self.entries.len() {
            // Only many equal tags, which is many keys chosen for it, make the tail longer.
            let len = self.entries.len();
            self.entries.resize(len + (len - self.capacity), EMPTY);
        }
    }
}

/// Homes and a tail, all empty.
fn empty(capacity: usize) -> Vec<u64> {
    vec![EMPTY; capacity + TAIL]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_inserted_and_nothing_else() {
        let mut index = Index::default();
        let keys: Vec<Key> = (0..50_000_u64).map(|i| Key(i.wrapping_mul(0x1234_5678_9ABC_DEF1))).collect();
        for (row, &key) in keys.iter().enumerate() {
            index.insert(tag_of(key), row as u32);
        }
        for (row, &key) in keys.iter().enumerate() {
            assert_eq!(index.find(tag_of(key), |row| keys[row as usize] == key), row as u32);
        }
        let absent = Key(0xDEAD_BEEF_0000_0001);
        assert_eq!(index.find(tag_of(absent), |row| keys[row as usize] == absent), NONE);
        assert!(index.bytes() <= 50_000 * 13, "{}", index.bytes());
    }

    #[test]
    fn equal_tags_are_told_apart() {
        let mut index = Index::default();
        for row in 0..100 {
            index.insert(u32::MAX, row);
        }
        for row in 0..100 {
            assert_eq!(index.find(u32::MAX, |found| found == row), row);
        }
        assert!(index.candidate(u32::MAX) < 100);
        assert_eq!(index.candidate(7), NONE);
    }
}
