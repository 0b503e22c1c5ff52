//! Side tables: read once, held as the values of the features that use them.
//!
//! They are read strictly: a bad line or a key that occurs twice is an error whatever `on_bad_line` says, because it
//! would silently spoil every sample that refers to it.

use std::path::PathBuf;
use std::sync::Arc;

use hashbrown::HashTable;

use super::columns::{Columns, Cutter};
use super::rule::{Rule, Values};
use crate::hash::key_of;
use crate::options::{JoinOptions, OnBadLine};
use crate::source::{DataError, RawBlock};
use crate::text::bad::{excerpt, parse_lines};
use crate::text::lines::Lines;

/// Lines read at a time.
const LINES: u32 = 8192;

/// A side table in memory.
#[derive(Debug)]
pub(crate) struct Side {
    /// Rows by key.
    index: HashTable<u32>,
    /// The keys, one after the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<usize>,
    /// One entry per feature that reads this table; the last row of each is that of the empty value.
    values: Vec<Values>,
    /// For each feature of the plan its entry in `values`.
    entries: Vec<Option<usize>>,
}

impl Side {
    /// Loads `file`. `features` holds, for each feature of the plan, its column here if it reads this table.
    pub(crate) fn load(
        file: &Arc<PathBuf>,
        options: &JoinOptions,
        columns: &[String],
        key: usize,
        features: &[Option<(usize, &Rule)>],
    ) -> Result<Self, DataError> {
        let used: Vec<(usize, &Rule)> = features.iter().flatten().copied().collect();
        let mut entry = 0..;
        let mut side = Self {
            index: HashTable::new(),
            keys: Vec::new(),
            ends: Vec::new(),
            values: used.iter().map(|(_, rule)| rule.values(0)).collect(),
            entries: features.iter().map(|feature| feature.and_then(|_| entry.next())).collect(),
        };
        let cutter = Cutter::new(&options.delimiter);
        let mut cut = Columns::default();
        let mut lines = Lines::open(file)?;
        lines.skip(u64::from(options.header))?;
        let (mut raw, mut taken) = (block(file, lines.next_line()), LINES);
        while taken == LINES {
            raw.first_line = lines.next_line();
            raw.text.clear();
            taken = lines.take(LINES, &mut raw.text)?;
            parse_lines(&raw, OnBadLine::Stop, |line| {
                cutter.cut(line, &mut cut)?;
                if cut.len() != columns.len() {
                    return Err(wrong_count(columns, cut.len(), line));
                }
                side.add(cut.get(line, key))?;
                for (values, (column, rule)) in side.values.iter_mut().zip(&used) {
                    rule.add(cut.get(line, *column), values)?;
                }
                Ok(())
            })?;
        }
        for (values, (_, rule)) in side.values.iter_mut().zip(&used) {
            rule.add(b"", values).map_err(DataError::Options)?;
        }
        Ok(side)
    }

    fn add(&mut self, key: &[u8]) -> Result<(), String> {
        let hash = key_of(key).0;
        if self.find(key).is_some() {
            return Err(format!(
                "the key {} occurs twice in this side table; keep one line per key",
                excerpt(key)
            ));
        }
        let row = self.ends.len() as u32;
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        let (keys, ends) = (&self.keys, &self.ends);
        self.index.insert_unique(hash, row, |&row| key_of(key_at(keys, ends, row)).0);
        Ok(())
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        let found = self.index.find(key_of(key).0, |&row| key_at(&self.keys, &self.ends, row) == key);
        found.map(|&row| row as usize)
    }

    /// The row of `key`; that of the empty value when it is absent.
    pub(crate) fn row(&self, key: &[u8]) -> usize {
        self.find(key).unwrap_or(self.ends.len())
    }

    /// Adds what feature `feature` of the plan has in `row`.
    pub(crate) fn copy(&self, feature: usize, row: usize, to: &mut Values) {
        if let Some(entry) = self.entries[feature] {
            to.copy(&self.values[entry], row);
        }
    }
}

fn key_at<'a>(keys: &'a [u8], ends: &[usize], row: u32) -> &'a [u8] {
    let row = row as usize;
    let start = row.checked_sub(1).map_or(0, |before| ends[before]);
    &keys[start..ends[row]]
}

fn block(file: &Arc<PathBuf>, first_line: u64) -> RawBlock {
    RawBlock {
        part: Default::default(),
        block: 0,
        file: file.clone(),
        first_line,
        lines: 0,
        text: Vec::new(),
    }
}

/// The message for a line that has another number of columns than `columns`.
pub(crate) fn wrong_count(columns: &[String], got: usize, line: &[u8]) -> String {
    format!("expected {} columns ({}), got {got}: {}", columns.len(), columns.join(", "), excerpt(line))
}
