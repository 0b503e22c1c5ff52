//! Generated data: a Criteo-shaped stream with a known teacher. Any size, nothing stored: parsing a block makes it.
//!
//! A sample is a function of (options, seed, part, row), so neither the block size nor the order of reading matters.
//! Per field an ID is drawn from a Zipf distribution; its category is 8 hexadecimal digits, hashed as if read from
//! a file. With `new_ids_every_parts` = n each rank of a field stands for a new ID after every n parts, at a phase of
//! its own, so that IDs come and go one by one. Dense features are whole numbers, floor of a log-normal variate.

mod auc;
mod normal;
mod teacher;
mod write;
mod zipf;

use std::path::PathBuf;
use std::sync::Arc;

use gearshift_types::{Batch, Jagged, Key, PartId};

pub use auc::teacher_auc;
use teacher::{Sample, Teacher};
pub use write::write_criteo_tsv;

use crate::hash::key_of;
use crate::numbers::Logs;
use crate::options::{DataOptions, GeneratorOptions, OnBadLine};
use crate::schema::plain_schema;
use crate::shuffle::shuffle;
use crate::source::{BlockParser, BlockReader, DataError, DataSet, Parsed, RawBlock, Schema};

/// The largest vocabulary: categories have 32 bits.
const VOCABULARY_MAX: u64 = 1 << 32;

pub(crate) struct Generated {
    schema: Schema,
    parts: Vec<String>,
    block_rows: u32,
    samples_per_part: u64,
    parser: Arc<Generator>,
}

struct Generator {
    teacher: Teacher,
    shuffle_seed: Option<u64>,
    logs: Logs,
}

impl Generated {
    /// The options have passed [`problems`].
    pub(crate) fn new(options: &DataOptions, seed: u64) -> Self {
        let generated = &options.generated;
        Self {
            schema: plain_schema(0, generated.vocabularies.len(), generated.dense),
            parts: (1..=generated.parts).map(|part| format!("part {part} of {}", generated.parts)).collect(),
            block_rows: options.block_rows,
            samples_per_part: generated.samples_per_part,
            parser: Arc::new(Generator {
                teacher: Teacher::new(generated, seed),
                shuffle_seed: options.shuffle.then_some(seed),
                logs: Logs::new(),
            }),
        }
    }
}

/// What is wrong with the options of `[data.generated]`.
pub(crate) fn problems(options: &GeneratorOptions, problems: &mut Vec<String>) {
    let mut expect = |good: bool, text: String| {
        if !good {
            problems.push(format!("generated: {text}"));
        }
    };
    expect(options.parts >= 1, "parts = 0; give at least 1".to_owned());
    expect(options.samples_per_part >= 1, "samples_per_part = 0; give at least 1".to_owned());
    expect(!options.vocabularies.is_empty(), "vocabularies is empty; give the size of each field".to_owned());
    expect(options.vocabularies.len() <= 4096, "more than 4096 vocabularies".to_owned());
    expect(options.dense <= 4096, format!("dense = {}; at most 4096", options.dense));
    for (at, &size) in options.vocabularies.iter().enumerate() {
        let good = (1..=VOCABULARY_MAX).contains(&size);
        expect(good, format!("vocabularies[{at}] = {size}; sizes are 1 to {VOCABULARY_MAX}"));
    }
    let zipf = options.zipf;
    expect((0.0..=10.0).contains(&zipf), format!("zipf = {zipf}; the exponent is 0 to 10, usually about 1"));
    let strengths =
        [("bias", options.bias), ("first_order", options.first_order), ("pairwise", options.pairwise)];
    for (name, value) in strengths {
        expect(value.is_finite(), format!("{name} = {value}; a finite number is needed"));
    }
    let drift = options.drift;
    expect(drift.is_finite() && drift >= 0.0, format!("drift = {drift}; radians per part, 0 or more"));
}

impl DataSet for Generated {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn parts(&self) -> &[String] {
        &self.parts
    }

    fn has_evaluation(&self) -> bool {
        false
    }

    fn open(&self, part: PartId) -> Result<Box<dyn BlockReader>, DataError> {
        if part.0 as usize >= self.parts.len() {
            return Err(DataError::Options(format!(
                "part {} asked for, but there are {} parts (counted from 0)",
                part.0,
                self.parts.len()
            )));
        }
        Ok(Box::new(GeneratedReader {
            part,
            block: 0,
            next: 0,
            samples: self.samples_per_part,
            block_rows: self.block_rows,
            file: Arc::new(PathBuf::new()),
        }))
    }

    fn open_evaluation(&self) -> Result<Box<dyn BlockReader>, DataError> {
        Err(DataError::Options(
            "kind = \"generated\" has no final evaluation set; the next part evaluates each part".to_owned(),
        ))
    }

    fn parser(&self) -> Arc<dyn BlockParser> {
        self.parser.clone()
    }

    fn on_bad_line(&self) -> OnBadLine {
        OnBadLine::Stop
    }
}

struct GeneratedReader {
    part: PartId,
    block: u32,
    next: u64,
    samples: u64,
    block_rows: u32,
    file: Arc<PathBuf>,
}

impl BlockReader for GeneratedReader {
    fn next_block(&mut self) -> Result<Option<RawBlock>, DataError> {
        let lines = (self.samples - self.next).min(u64::from(self.block_rows)) as u32;
        if lines == 0 {
            return Ok(None);
        }
        let raw = RawBlock {
            part: self.part,
            block: self.block,
            file: self.file.clone(),
            first_line: self.next + 1,
            lines,
            text: Vec::new(),
        };
        self.block += 1;
        self.next += u64::from(lines);
        Ok(Some(raw))
    }

    fn position(&self) -> (u64, u64) {
        (self.next, self.samples)
    }
}

impl BlockParser for Generator {
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError> {
        let rows = raw.lines as usize;
        let first = raw.first_line - 1;
        let day = self.teacher.day(raw.part.0);
        let mut sample = Sample::default();
        let mut columns: Vec<Vec<Key>> = Vec::new();
        let mut batch = Batch { labels: Vec::with_capacity(rows), ..Batch::default() };
        for row in first..first + rows as u64 {
            day.sample(row, &mut sample);
            columns.resize_with(sample.categories.len(), || Vec::with_capacity(rows));
            batch.labels.push(f32::from(u8::from(sample.clicked)));
            batch.dense_width = sample.dense.len();
            batch.dense.extend(sample.dense.iter().map(|&x| self.logs.of_whole(i64::from(x))));
            for (column, &category) in columns.iter_mut().zip(&sample.categories) {
                column.push(key_of(&hex(category)));
            }
        }
        batch.features = columns.into_iter().map(|values| Jagged { values, offsets: None }).collect();
        if let Some(seed) = self.shuffle_seed {
            batch = shuffle(&batch, seed, raw.part, raw.block);
        }
        Ok(Parsed { batch, ..Parsed::default() })
    }
}

/// The 8 lower-case hexadecimal digits of a category.
#[inline]
fn hex(category: u32) -> [u8; 8] {
    // One nibble per byte, the highest first in memory, then all eight turned into digits at once.
    let mut x = u64::from(category);
    x = (x | (x << 16)) & 0x0000_FFFF_0000_FFFF;
    x = (x | (x << 8)) & 0x00FF_00FF_00FF_00FF;
    x = (x | (x << 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    let letters = ((x + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (x + 0x3030_3030_3030_3030 + letters * 0x27).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_agrees_with_the_formatter() {
        for x in [0, 9, 10, 0xF, 0x1234_5678, 0x9ABC_DEF0, u32::MAX, 0x0a9b_0c8d] {
            assert_eq!(hex(x), format!("{x:08x}").as_bytes());
        }
    }
}
