//! Row storage: fixed-size chunks that are never moved or copied once full, so a table grows without doubling.
//!
//! A row is `[mark, key low, key high, vector, slots]` in 32-bit words. Key and values lie together, so that
//! checking the key costs no cache miss beyond those of the row itself. The mark is scratch of a commit.

use crate::simd::prefetch;
use gearshift_types::Key;

/// Words in front of a row's vector.
pub(crate) const HEADER_WORDS: usize = 3;

/// Size of a full chunk: large enough that chunks are few, small enough that an unfinished one is no loss.
const CHUNK_BYTES: usize = 1 << 20;

/// Words per cache line.
const LINE_WORDS: usize = 16;

/// Rows of equal length by number.
#[derive(Debug)]
pub(crate) struct Arena {
    stride: usize,
    shift: u32,
    chunks: Vec<Vec<u32>>,
    rows: usize,
}

impl Arena {
    /// Rows of `floats` floats each (vector and slots).
    pub(crate) fn new(floats: usize) -> Self {
        let stride = HEADER_WORDS + floats;
        let rows_per_chunk = (CHUNK_BYTES / (stride * 4)).max(1);
        Self { stride, shift: rows_per_chunk.ilog2(), chunks: Vec::new(), rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    #[inline(always)]
    fn place(&self, row: u32) -> (usize, usize) {
        let row = row as usize;
        (row >> self.shift, (row & ((1 << self.shift) - 1)) * self.stride)
    }

    /// All words of a row.
    #[inline(always)]
    pub(crate) fn row(&self, row: u32) -> &[u32] {
        let (chunk, at) = self.place(row);
        &self.chunks[chunk][at..at + self.stride]
    }

    /// As [`Self::row`], to change.
    #[inline(always)]
    pub(crate) fn row_mut(&mut self, row: u32) -> &mut [u32] {
        let (chunk, at) = self.place(row);
        &mut self.chunks[chunk][at..at + self.stride]
    }

    /// The key of a row.
    #[inline(always)]
    pub(crate) fn key(&self, row: u32) -> Key {
        key_of(self.row(row))
    }

    /// Asks for the cache lines of the first `words` words of a row.
    #[inline(always)]
    pub(crate) fn prefetch(&self, row: u32, words: usize) {
        let (chunk, at) = self.place(row);
        let chunk = &self.chunks[chunk];
        let mut word = at;
        while word < at + words {
            prefetch(chunk, word);
            word += LINE_WORDS;
        }
        prefetch(chunk, at + words - 1);
    }

    /// Words of a row.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Appends a row of zeros with its key and returns its number.
    pub(crate) fn push(&mut self, key: Key) -> u32 {
        let row = self.rows as u32;
        let (chunk, at) = self.place(row);
        if chunk == self.chunks.len() {
            self.chunks.push(Vec::new());
        }
        let (stride, full) = (self.stride, self.stride << self.shift);
        let words = &mut self.chunks[chunk];
        if words.capacity() - words.len() < stride {
            // Room to grow: 8 bytes per row of the table, whatever the length of a row.
            let step = (self.rows * 2).next_multiple_of(stride).max(stride).min(full - words.len());
            words.reserve_exact(step);
        }
        words.resize(at + stride, 0);
        words[at + 1] = key.0 as u32;
        words[at + 2] = (key.0 >> 32) as u32;
        self.rows += 1;
        row
    }

    /// Bytes allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.capacity() * 4).sum::<usize>()
            + self.chunks.capacity() * size_of::<Vec<u32>>()
    }
}

/// The key in a row's words.
#[inline(always)]
pub(crate) fn key_of(words: &[u32]) -> Key {
    Key(u64::from(words[1]) | u64::from(words[2]) << 32)
}

/// Vector and slots in a row's words.
#[inline(always)]
pub(crate) fn floats_of(words: &[u32]) -> &[f32] {
    bytemuck::must_cast_slice(&words[HEADER_WORDS..])
}

/// As [`floats_of`], to change.
#[inline(always)]
pub(crate) fn floats_of_mut(words: &mut [u32]) -> &mut [f32] {
    bytemuck::must_cast_slice_mut(&mut words[HEADER_WORDS..])
}
