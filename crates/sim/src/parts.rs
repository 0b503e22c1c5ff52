//! Parsed parts of the data, shared by all simulations of one seed: parsed once, kept while one of them needs it.
#![allow(clippy::disallowed_types, reason = "the lock guards what is read, whoever parsed it first")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gearshift_data::{BadLineLimit, DataError, DataSet, EVALUATION_PART};
use gearshift_types::{Batch, PartId};

/// A parsed part.
#[derive(Debug, Default)]
pub struct Part {
    /// Its blocks in data order, rows shuffled inside as the data say.
    pub blocks: Vec<Batch>,
}

impl Part {
    /// Samples in it.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.blocks.iter().map(|block| block.samples() as u64).sum()
    }
}

/// Parts that have been asked for.
pub struct PartCache {
    data: Arc<dyn DataSet>,
    bad_line_share_max: f64,
    rows_max: u64,
    parts: Mutex<BTreeMap<PartId, Slot>>,
}

/// A part and the lock that lets one thread parse it while others wait for that part alone.
type Slot = Arc<Mutex<Weak<Part>>>;

/// Why a part cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The data cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// It would not fit into memory.
    #[error(
        "part {part} has more than {rows_max} rows, and whole parts are held in memory here; cut the data into smaller parts (data.split) or compare on fewer rows"
    )]
    TooLarge {
        /// The part.
        part: u32,
        /// The most rows that a part may have.
        rows_max: u64,
    },
}

impl PartCache {
    /// A cache over data. A part may have `rows_max` rows, of which a share of `bad_line_share_max` may be bad.
    #[must_use]
    pub fn new(data: Arc<dyn DataSet>, bad_line_share_max: f64, rows_max: u64) -> Self {
        Self { data, bad_line_share_max, rows_max, parts: Mutex::default() }
    }

    /// A part, from memory or parsed now.
    ///
    /// # Errors
    /// When it cannot be read or is too large.
    pub fn part(&self, part: PartId) -> Result<Arc<Part>, PartError> {
        let slot = {
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(parts.entry(part).or_default())
        };
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = held.upgrade() {
            return Ok(part);
        }
        let parsed = Arc::new(self.parse(part)?);
        *held = Arc::downgrade(&parsed);
        Ok(parsed)
    }

    fn parse(&self, part: PartId) -> Result<Part, PartError> {
        let mut reader =
            if part == EVALUATION_PART { self.data.open_evaluation()? } else { self.data.open(part)? };
        let parser = self.data.parser();
        let mut limit = BadLineLimit::new(self.bad_line_share_max);
        let (mut blocks, mut rows) = (Vec::new(), 0);
        while let Some(raw) = reader.next_block()? {
            let parsed = parser.parse(&raw)?;
            limit.add(&parsed)?;
            rows += parsed.batch.samples() as u64;
            if rows > self.rows_max {
                return Err(PartError::TooLarge { part: part.0, rows_max: self.rows_max });
            }
            blocks.push(parsed.batch);
        }
        Ok(Part { blocks })
    }
}
