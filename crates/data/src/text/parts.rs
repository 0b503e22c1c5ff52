//! Parts of text data: which files and rows each is made of, and the reader of its blocks.

use std::path::PathBuf;
use std::sync::Arc;

use gearshift_types::PartId;

use super::lines::Lines;
use super::unpack::file_error;
use crate::source::{BlockReader, DataError, RawBlock};

/// Rows between two marks of a [`FileRows`].
const MARK_ROWS: u64 = 1 << 16;

/// A part: rows of files read one after the other.
#[derive(Clone, Debug)]
pub(crate) struct TextPart {
    pub id: PartId,
    pub files: Arc<[Arc<PathBuf>]>,
    /// First row (counted over all files, headers left out) and number of rows; `None` for all.
    pub rows: Option<(u64, u64)>,
    /// What counting has found, one entry per file; empty when nothing was counted.
    pub counted: Arc<[FileRows]>,
}

/// The rows of one file, with places to start from.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileRows {
    pub rows: u64,
    /// (row, byte) every [`MARK_ROWS`] rows; none for packed files.
    pub marks: Vec<(u64, u64)>,
}

/// How the files of a data set are read.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub block_rows: u32,
    /// The first line of every file, when the files have headers.
    pub header: Option<Arc<str>>,
}

/// Counts the rows of `file`.
pub(crate) fn count_rows(file: &Arc<PathBuf>, reading: &Reading) -> Result<FileRows, DataError> {
    let mut lines = open_lines(file, reading)?;
    let mut counted = FileRows::default();
    loop {
        counted.marks.extend(lines.offset().map(|offset| (counted.rows, offset)));
        let skipped = lines.skip(MARK_ROWS)?;
        counted.rows += skipped;
        if skipped < MARK_ROWS {
            return Ok(counted);
        }
    }
}

fn open_lines(file: &Arc<PathBuf>, reading: &Reading) -> Result<Lines, DataError> {
    let mut lines = Lines::open(file)?;
    if let Some(header) = &reading.header {
        let mut text = Vec::new();
        lines.take(1, &mut text)?;
        let got = String::from_utf8_lossy(&text);
        let got = got.trim_end_matches(['\r', '\n']);
        if got != &**header {
            let message =
                format!("its first line should be the header {header:?} of the first file, got {got:?}");
            return Err(file_error(file, message));
        }
    }
    Ok(lines)
}

/// Reads the blocks of a part. A block ends where its file ends, so that every line of it has a number.
pub(crate) struct TextReader {
    part: TextPart,
    reading: Reading,
    /// Position of the open file.
    file: usize,
    lines: Option<Lines>,
    block: u32,
    /// Rows still to deliver; `u64::MAX` without a limit.
    left: u64,
    /// Size of all files and of those before the open one.
    bytes: (u64, u64),
    text_bytes: usize,
}

impl TextReader {
    pub(crate) fn open(part: TextPart, reading: Reading) -> Result<Self, DataError> {
        let size = |file: &Arc<PathBuf>| std::fs::metadata(file.as_path()).map_or(0, |meta| meta.len());
        let all = part.files.iter().map(size).sum();
        let left = part.rows.map_or(u64::MAX, |(_, rows)| rows);
        let mut reader =
            Self { part, reading, file: 0, lines: None, block: 0, left, bytes: (all, 0), text_bytes: 0 };
        reader.go_to_first_row()?;
        Ok(reader)
    }

    fn go_to_first_row(&mut self) -> Result<(), DataError> {
        let mut skip = self.part.rows.map_or(0, |(first, _)| first);
        while let Some(counted) = self.part.counted.get(self.file)
            && skip >= counted.rows
            && self.file + 1 < self.part.files.len()
        {
            skip -= counted.rows;
            self.file += 1;
        }
        loop {
            let file = &self.part.files[self.file];
            let mut lines = open_lines(file, &self.reading)?;
            if let Some(counted) = self.part.counted.get(self.file) {
                let after = counted.marks.partition_point(|&(row, _)| row <= skip);
                if let Some(&(row, offset)) = after.checked_sub(1).and_then(|at| counted.marks.get(at)) {
                    lines = Lines::open_at(file, offset, lines.next_line() + row)?;
                    skip -= row;
                }
            }
            skip -= lines.skip(skip)?;
            if skip == 0 {
                self.lines = Some(lines);
                return Ok(());
            }
            if self.file + 1 == self.part.files.len() {
                return Err(self.too_few_rows());
            }
            self.file += 1;
        }
    }

    fn too_few_rows(&self) -> DataError {
        let (first, rows) = self.part.rows.unwrap_or_default();
        let file = self.part.files.last().map(|file| file.to_path_buf()).unwrap_or_default();
        file_error(
            &file,
            format!(
                "the train files end before part {} is complete, which is rows {first} to {} of them: lower \
                 split.parts, split.rows_per_part or split.skip_rows",
                u64::from(self.part.id.0) + 1,
                first.saturating_add(rows - 1)
            ),
        )
    }

    /// Goes on to the next file; false after the last.
    fn next_file(&mut self) -> Result<bool, DataError> {
        if let Some(lines) = self.lines.take() {
            self.bytes.1 += lines.taken();
        }
        self.file += 1;
        match self.part.files.get(self.file) {
            None => Ok(false),
            Some(file) => {
                self.lines = Some(open_lines(file, &self.reading)?);
                Ok(true)
            }
        }
    }
}

impl BlockReader for TextReader {
    fn next_block(&mut self) -> Result<Option<RawBlock>, DataError> {
        while self.left > 0 {
            let Some(lines) = &mut self.lines else { break };
            let wanted = u64::from(self.reading.block_rows).min(self.left) as u32;
            let first_line = lines.next_line();
            let mut text = Vec::with_capacity(self.text_bytes);
            let taken = lines.take(wanted, &mut text)?;
            if taken > 0 {
                self.text_bytes = text.len() + text.len() / 16;
                self.left -= if self.part.rows.is_some() { u64::from(taken) } else { 0 };
                let block = self.block;
                self.block += 1;
                let file = self.part.files[self.file].clone();
                return Ok(Some(RawBlock {
                    part: self.part.id,
                    block,
                    file,
                    first_line,
                    lines: taken,
                    text,
                }));
            }
            if !self.next_file()? && self.part.rows.is_some() {
                return Err(self.too_few_rows());
            }
        }
        Ok(None)
    }

    fn position(&self) -> (u64, u64) {
        if let Some((_, rows)) = self.part.rows {
            return (rows - self.left, rows);
        }
        let open = self.lines.as_ref().map_or(0, Lines::taken);
        (self.bytes.1 + open, self.bytes.0)
    }
}
