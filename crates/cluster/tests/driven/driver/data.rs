//! Small synthetic data in memory: parts of blocks of rows, with a multi-valued feature and dense features.

use std::collections::BTreeSet;

use gearshift_data::EVALUATION_PART;
use gearshift_types::{Batch, FeatureSpec, Jagged, Key, PartId, Pooling, TableId};

use super::numbers::Numbers;

pub(crate) const TABLES: [&str; 2] = ["users", "things"];
pub(crate) const DENSE_WIDTH: usize = 2;

pub(crate) fn features() -> Vec<FeatureSpec> {
    let feature =
        |name: &str, table, pooling| FeatureSpec { name: name.into(), table: TableId(table), pooling };
    vec![
        feature("user", 0, Pooling::Sum),
        feature("item", 1, Pooling::Sum),
        feature("tags", 1, Pooling::Mean),
    ]
}

/// All parts and the final evaluation set, as blocks.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    parts: Vec<Vec<Batch>>,
    evaluation: Vec<Batch>,
}

impl Data {
    /// Parts with blocks of the given sizes.
    pub(crate) fn new(seed: u64, parts: &[&[usize]]) -> Self {
        let mut numbers = Numbers(seed);
        let part = |blocks: &[usize], numbers: &mut Numbers| -> Vec<Batch> {
            blocks.iter().map(|&rows| block(rows, numbers)).collect()
        };
        let parts = parts.iter().map(|blocks| part(blocks, &mut numbers)).collect();
        Self { parts, evaluation: part(&[9, 0, 23], &mut numbers) }
    }

    /// Parts of random blocks, some of them empty.
    pub(crate) fn random(seed: u64, parts: usize, rows_per_part: usize) -> Self {
        let mut numbers = Numbers(seed ^ 0xDA7A);
        let mut sizes = Vec::new();
        for _ in 0..parts {
            let (mut blocks, mut rows) = (Vec::new(), 0);
            while rows < rows_per_part {
                let block = if numbers.one_in(8) { 0 } else { 1 + numbers.below(60) };
                blocks.push(block);
                rows += block;
            }
            sizes.push(blocks);
        }
        let sizes: Vec<&[usize]> = sizes.iter().map(Vec::as_slice).collect();
        Self::new(seed, &sizes)
    }

    pub(crate) fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    pub(crate) fn blocks(&self, part: PartId) -> &[Batch] {
        if part == EVALUATION_PART { &self.evaluation } else { &self.parts[part.0 as usize] }
    }

    pub(crate) fn part_rows(&self, part: PartId) -> u64 {
        self.blocks(part).iter().map(|block| block.samples() as u64).sum()
    }

    /// Rows of all training parts.
    pub(crate) fn rows(&self) -> u64 {
        (0..self.parts()).map(|part| self.part_rows(PartId(part))).sum()
    }

    /// All keys of the training parts, by table.
    pub(crate) fn keys(&self) -> BTreeSet<(TableId, Key)> {
        let mut keys = BTreeSet::new();
        for block in self.parts.iter().flatten() {
            for (feature, spec) in block.features.iter().zip(features()) {
                keys.extend(feature.values.iter().map(|&key| (spec.table, key)));
            }
        }
        keys
    }
}

fn key(of: usize, numbers: &mut Numbers) -> Key {
    // Squared: some keys are in almost every batch, others are seen once.
    let skewed = numbers.below(of) * numbers.below(of) / of;
    Key((skewed as u64 + 1).wrapping_mul(0x0123_4567_89AB_CDEF))
}

fn block(rows: usize, numbers: &mut Numbers) -> Batch {
    let mut batch = Batch { dense_width: DENSE_WIDTH, ..Batch::default() };
    let (mut users, mut items, mut tags) = (Vec::new(), Vec::new(), Vec::new());
    let mut offsets = vec![0];
    for _ in 0..rows {
        users.push(key(150, numbers));
        items.push(key(60, numbers));
        let worth = numbers.float();
        tags.extend((0..numbers.below(4)).map(|_| key(40, numbers)));
        offsets.push(tags.len() as u32);
        batch.dense.extend([worth, numbers.float()]);
        batch.labels.push(f32::from(worth + 0.5 * numbers.float() > 0.3));
    }
    batch.features = vec![
        Jagged { values: users, offsets: None },
        Jagged { values: items, offsets: None },
        Jagged { values: tags, offsets: Some(offsets) },
    ];
    batch
}
