//! Whole lines of one file, as many at a time as asked for.

use std::path::PathBuf;
use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use super::bad::{LINE_BYTES_MAX, write_overlong_mark};
use super::unpack::{Packing, Source};
use crate::source::DataError;

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// Reads the lines of one file. A byte order mark is passed over; a last line without `\n` gets one; a line of more
/// than [`LINE_BYTES_MAX`] bytes becomes a short mark that parsers report as a bad line.
pub(crate) struct Lines {
    source: Source,
    chunk: Box<[u8]>,
    start: usize,
    end: usize,
    ended: bool,
    /// Number of the next line, from 1.
    line: u64,
    /// Offset of the next unread byte in a plain file.
    offset: u64,
}

impl Lines {
    pub(crate) fn open(path: &Arc<PathBuf>) -> Result<Self, DataError> {
        let mut lines = Self::open_at(path, 0, 1)?;
        lines.fill()?;
        if lines.chunk[..lines.end].starts_with(b"\xEF\xBB\xBF") {
            lines.start = 3;
            lines.offset = 3;
        }
        Ok(lines)
    }

    /// Opens a plain file at byte `offset`, where line `line` starts.
    pub(crate) fn open_at(path: &Arc<PathBuf>, offset: u64, line: u64) -> Result<Self, DataError> {
        let source = Source::open(path, offset)?;
        let chunk = vec![0; CHUNK].into_boxed_slice();
        Ok(Self { source, chunk, start: 0, end: 0, ended: false, line, offset })
    }

    /// Number of the next line, from 1.
    pub(crate) fn next_line(&self) -> u64 {
        self.line
    }

    /// Where the next line starts, for [`Lines::open_at`]; `None` for packed files.
    pub(crate) fn offset(&self) -> Option<u64> {
        (self.source.packing == Packing::Plain).then_some(self.offset)
    }

    /// Bytes of the file read so far.
    pub(crate) fn taken(&self) -> u64 {
        self.source.taken()
    }

    /// Appends up to `count` lines to `text` and returns how many; fewer only at the end of the file.
    pub(crate) fn take(&mut self, count: u32, text: &mut Vec<u8>) -> Result<u32, DataError> {
        let mut taken = 0;
        let mut line_start = text.len();
        while taken < count {
            if self.start == self.end && !self.fill()? {
                if text.len() > line_start {
                    text.push(b'\n');
                    taken += 1;
                    self.line += 1;
                }
                break;
            }
            let window = &self.chunk[self.start..self.end];
            let (mut found, mut used) = (0, window.len());
            for at in memchr_iter(b'\n', window).take((count - taken) as usize) {
                found += 1;
                used = at + 1;
            }
            if found == 0 && text.len() - line_start + window.len() > LINE_BYTES_MAX {
                self.consume_overlong(text, line_start)?;
                taken += 1;
                line_start = text.len();
                continue;
            }
            text.extend_from_slice(&window[..used]);
            self.start += used;
            self.offset += used as u64;
            self.line += u64::from(found);
            taken += found;
            if found > 0 {
                line_start = text.len();
            }
        }
        Ok(taken)
    }

    /// Drops the rest of the line whose start is in `text` from `line_start` on and puts a mark in its place.
    fn consume_overlong(&mut self, text: &mut Vec<u8>, line_start: usize) -> Result<(), DataError> {
        let mut excerpt = text.split_off(line_start);
        let mut bytes = excerpt.len();
        excerpt.truncate(64);
        loop {
            let window = &self.chunk[self.start..self.end];
            let (used, done) = memchr(b'\n', window).map_or((window.len(), false), |at| (at + 1, true));
            bytes += used - usize::from(done);
            self.start += used;
            self.offset += used as u64;
            if done || !self.fill()? {
                break;
            }
        }
        write_overlong_mark(text, bytes, &excerpt);
        self.line += 1;
        Ok(())
    }

    /// Passes over up to `count` lines and returns how many.
    pub(crate) fn skip(&mut self, count: u64) -> Result<u64, DataError> {
        let (mut skipped, mut inside) = (0, false);
        while skipped < count {
            if self.start == self.end && !self.fill()? {
                skipped += u64::from(inside);
                self.line += u64::from(inside);
                break;
            }
            let window = &self.chunk[self.start..self.end];
            let (mut found, mut used) = (0, window.len());
            for at in memchr_iter(b'\n', window) {
                found += 1;
                if found == count - skipped {
                    used = at + 1;
                    break;
                }
            }
            inside = window[used - 1] != b'\n';
            self.start += used;
            self.offset += used as u64;
            self.line += found;
            skipped += found;
        }
        Ok(skipped)
    }

    /// Reads the next chunk once the last is used up; false at the end of the file.
    fn fill(&mut self) -> Result<bool, DataError> {
        if !self.ended {
            self.start = 0;
            self.end = self.source.fill(&mut self.chunk, self.line)?;
            self.ended = self.end < self.chunk.len();
        } else {
            self.start = self.end;
        }
        Ok(self.start < self.end)
    }
}
