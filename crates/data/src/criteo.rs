//! Criteo's tab-separated format: label, 13 integers, 26 categories of hexadecimal digits; any field but the label
//! may be empty.

use gearshift_types::{Batch, Jagged, Key};
use memchr::{memchr, memchr_iter};

use crate::hash::{EMPTY_KEY, key_of};
use crate::numbers::{Number, NumberRule};
use crate::options::{NumericTransform, OnBadLine};
use crate::schema::plain_schema;
use crate::shuffle::shuffle;
use crate::source::{BlockParser, DataError, Parsed, RawBlock, Schema};
use crate::text::bad::{excerpt, parse_lines};

const INTEGERS: usize = 13;
const CATEGORIES: usize = 26;
const COLUMNS: usize = 1 + INTEGERS + CATEGORIES;

pub(crate) struct CriteoParser {
    rule: NumberRule,
    on_bad_line: OnBadLine,
    shuffle_seed: Option<u64>,
}

/// Categories C1..C26, before them I1..I13 when the integers are bucketed, else dense I1..I13.
pub(crate) fn criteo_schema(integers: NumericTransform) -> Schema {
    match integers {
        NumericTransform::Bucket => plain_schema(INTEGERS, CATEGORIES, 0),
        NumericTransform::Log1p | NumericTransform::Raw => plain_schema(0, CATEGORIES, INTEGERS),
    }
}

impl CriteoParser {
    pub(crate) fn new(integers: NumericTransform, on_bad_line: OnBadLine, shuffle_seed: Option<u64>) -> Self {
        Self { rule: NumberRule::new(integers), on_bad_line, shuffle_seed }
    }
}

/// The fields of one line, filled before anything is added to the batch.
struct Row {
    label: f32,
    dense: [f32; INTEGERS],
    keys: [Key; INTEGERS + CATEGORIES],
}

impl BlockParser for CriteoParser {
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError> {
        let rows = raw.lines as usize;
        let bucketed = matches!(self.rule, NumberRule::Bucket(_));
        let first_key = if bucketed { 0 } else { INTEGERS };
        let mut columns: Vec<Vec<Key>> =
            (first_key..INTEGERS + CATEGORIES).map(|_| Vec::with_capacity(rows)).collect();
        let mut batch = Batch {
            labels: Vec::with_capacity(rows),
            dense: Vec::with_capacity(if bucketed { 0 } else { rows * INTEGERS }),
            dense_width: if bucketed { 0 } else { INTEGERS },
            features: Vec::new(),
        };
        let mut row = Row { label: 0.0, dense: [0.0; INTEGERS], keys: [EMPTY_KEY; INTEGERS + CATEGORIES] };
        let (bad_lines, first_bad) = parse_lines(raw, self.on_bad_line, |line| {
            if self.parse_line(line, &mut row).is_none() {
                return Err(self.what_is_wrong(line));
            }
            batch.labels.push(row.label);
            if !bucketed {
                batch.dense.extend_from_slice(&row.dense);
            }
            for (column, &key) in columns.iter_mut().zip(&row.keys[first_key..]) {
                column.push(key);
            }
            Ok(())
        })?;
        batch.features = columns.into_iter().map(|values| Jagged { values, offsets: None }).collect();
        if let Some(seed) = self.shuffle_seed {
            batch = shuffle(&batch, seed, raw.part, raw.block);
        }
        Ok(Parsed { batch, bad_lines, first_bad })
    }
}

impl CriteoParser {
    /// Fills `row`; `None` when the line is bad.
    #[inline]
    fn parse_line(&self, line: &[u8], row: &mut Row) -> Option<()> {
        let (&[label, b'\t'], mut rest) = line.split_first_chunk::<2>()? else { return None };
        row.label = match label {
            b'0' => 0.0,
            b'1' => 1.0,
            _ => return None,
        };
        for at in 0..INTEGERS {
            let end = rest.iter().position(|&byte| byte == b'\t')?;
            match self.rule.apply(&rest[..end])? {
                Number::Dense(x) => row.dense[at] = x,
                Number::Categorical(key) => row.keys[at] = key,
            }
            rest = &rest[end + 1..];
        }
        for key in &mut row.keys[INTEGERS..INTEGERS + CATEGORIES - 1] {
            let end = category_end(rest)?;
            *key = key_of(&rest[..end]);
            rest = &rest[end + 1..];
        }
        if memchr(b'\t', rest).is_some() {
            return None;
        }
        row.keys[INTEGERS + CATEGORIES - 1] = key_of(rest);
        Some(())
    }

    /// The reason, for a line that [`Self::parse_line`] refuses.
    fn what_is_wrong(&self, line: &[u8]) -> String {
        let columns = memchr_iter(b'\t', line).count() + 1;
        if columns != COLUMNS {
            return format!("expected {COLUMNS} columns separated by tabs, got {columns}: {}", excerpt(line));
        }
        let mut fields = line.split(|&byte| byte == b'\t');
        let label = fields.next().unwrap_or_default();
        if label != b"0" && label != b"1" {
            return format!("expected the label 0 or 1 in column 1, got {}", excerpt(label));
        }
        let wrong = fields.take(INTEGERS).enumerate().find(|(_, field)| self.rule.apply(field).is_none());
        let (at, field) = wrong.unwrap_or_default();
        format!("expected a number or nothing in column {} (I{}), got {}", at + 2, at + 1, excerpt(field))
    }
}

/// Where the category at the start of `rest` ends. Nearly all have 8 digits: look there first.
#[inline]
fn category_end(rest: &[u8]) -> Option<usize> {
    if let Some((digits, [b'\t', ..])) = rest.split_first_chunk::<8>() {
        // A byte of `tabs` is zero where there is a tab (the zero-byte test of Hacker's Delight, section 6-1).
        let tabs = u64::from_le_bytes(*digits) ^ 0x0909_0909_0909_0909;
        if tabs.wrapping_sub(0x0101_0101_0101_0101) & !tabs & 0x8080_8080_8080_8080 == 0 {
            return Some(8);
        }
    }
    memchr(b'\t', rest)
}
