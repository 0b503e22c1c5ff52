//! Samples made before the clock starts; a data set without end that hands them out in turns.

use std::path::PathBuf;
use std::sync::Arc;

use gearshift_data::{BlockParser, BlockReader, DataError, DataSet, Parsed, RawBlock, Schema};
use gearshift_types::{Batch, FeatureSpec, Jagged, Key, PartId, Pooling, TableId};

use super::{BATCHES, DENSE, FIELDS, IDS, ZIPF};

/// Sixteen batches, each a block.
#[derive(Clone)]
pub(crate) struct Data {
    schema: Schema,
    parts: Vec<String>,
    blocks: Arc<Vec<Batch>>,
}

impl Data {
    /// With `batch` samples a block.
    pub(crate) fn new(batch: usize) -> Self {
        let names: Vec<String> = (0..FIELDS).map(|i| format!("c{i}")).collect();
        let features = names.iter().enumerate().map(|(i, name)| FeatureSpec {
            name: name.clone(),
            table: TableId(i as u16),
            pooling: Pooling::Sum,
        });
        let schema = Schema {
            features: features.collect(),
            tables: names.clone(),
            dense: (0..DENSE).map(|i| format!("d{i}")).collect(),
        };
        let mut random = Random(1);
        let mut total = 0.0;
        let weight = |rank: usize| (rank as f64).powf(-ZIPF);
        let ends = (1..=IDS).map(|rank| {
            total += weight(rank);
            total
        });
        let ends: Vec<f64> = ends.collect();
        let blocks = (0..BATCHES).map(|_| block(batch, &ends, &mut random)).collect();
        Self { schema, parts: vec!["endless".to_owned()], blocks: Arc::new(blocks) }
    }

    /// In all blocks.
    pub(crate) fn samples(&self) -> u64 {
        self.blocks.iter().map(|block| block.samples() as u64).sum()
    }
}

fn block(samples: usize, ends: &[f64], random: &mut Random) -> Batch {
    let features = (0..FIELDS).map(|table| {
        let value = |_| {
            let at = random.uniform() * ends[IDS - 1];
            let id = ends.partition_point(|&end| end < at).min(IDS - 1);
            // Hashed, as the keys of real data are.
            Key(mix((table * IDS + id) as u64))
        };
        Jagged { values: (0..samples).map(value).collect(), offsets: None }
    });
    let features = features.collect();
    Batch {
        labels: (0..samples).map(|_| f32::from(u8::from(random.uniform() < 0.25))).collect(),
        dense: (0..samples * DENSE).map(|_| random.normal() as f32).collect(),
        dense_width: DENSE,
        features,
    }
}

/// Random numbers by `SplitMix64`.
struct Random(u64);

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.uniform()).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

impl DataSet for Data {
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
        Ok(Box::new(Reader { part, next: 0, rows: self.blocks[0].samples() as u32 }))
    }

    fn open_evaluation(&self) -> Result<Box<dyn BlockReader>, DataError> {
        Err(DataError::Options("the benchmark has no evaluation set".to_owned()))
    }

    fn parser(&self) -> Arc<dyn BlockParser> {
        Arc::new(Parser(Arc::clone(&self.blocks)))
    }

    fn on_bad_line(&self) -> gearshift_data::options::OnBadLine {
        gearshift_data::options::OnBadLine::Stop
    }
}

struct Reader {
    part: PartId,
    next: u32,
    rows: u32,
}

impl BlockReader for Reader {
    fn next_block(&mut self) -> Result<Option<RawBlock>, DataError> {
        let block = self.next;
        self.next += 1;
        Ok(Some(RawBlock {
            part: self.part,
            block,
            file: Arc::new(PathBuf::new()),
            first_line: u64::from(block) * u64::from(self.rows) + 1,
            lines: self.rows,
            text: Vec::new(),
        }))
    }

    fn position(&self) -> (u64, u64) {
        (u64::from(self.next) * u64::from(self.rows), u64::MAX)
    }
}

struct Parser(Arc<Vec<Batch>>);

impl BlockParser for Parser {
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError> {
        let batch = self.0[raw.block as usize % self.0.len()].clone();
        Ok(Parsed { batch, ..Default::default() })
    }
}
