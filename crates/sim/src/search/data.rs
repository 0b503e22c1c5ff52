//! Small data in memory, drawn from a seed: parts of blocks of rows, with a multi-valued and dense features.

use gearshift_data::EVALUATION_PART;
use gearshift_types::{Batch, FeatureSpec, Jagged, Key, PartId, Pooling, TableId};

use super::dice::Dice;

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
pub struct Data {
    parts: Vec<Vec<Batch>>,
    evaluation: Vec<Batch>,
}

impl Data {
    /// Parts of random blocks, some of them empty; now and then a whole part is.
    pub(crate) fn random(dice: &mut Dice, parts: u32, rows_per_part: u32) -> Self {
        let parts = (0..parts).map(|_| {
            let rows = if dice.one_in(25) { 0 } else { dice.between(1, rows_per_part) };
            part(dice, rows)
        });
        let parts = parts.collect();
        let rows = dice.between(1, 60);
        Self { parts, evaluation: part(dice, rows) }
    }

    /// Blocks of a part.
    #[must_use]
    pub fn blocks(&self, part: PartId) -> &[Batch] {
        if part == EVALUATION_PART {
            return &self.evaluation;
        }
        self.parts.get(part.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Rows of all training parts.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.parts.iter().flatten().map(|block| block.samples() as u64).sum()
    }
}

fn part(dice: &mut Dice, rows: u32) -> Vec<Batch> {
    let mut blocks = Vec::new();
    let mut left = rows;
    loop {
        if dice.one_in(8) {
            blocks.push(block(dice, 0));
        }
        if left == 0 {
            return blocks;
        }
        let rows = dice.between(1, 60).min(left);
        blocks.push(block(dice, rows));
        left -= rows;
    }
}

/// Some keys are in almost every batch, others are seen once.
fn key(dice: &mut Dice, of: usize) -> Key {
    let skewed = dice.below(of) * dice.below(of) / of;
    Key((skewed as u64 + 1).wrapping_mul(0x0123_4567_89AB_CDEF))
}

fn block(dice: &mut Dice, rows: u32) -> Batch {
    let mut batch = Batch { dense_width: DENSE_WIDTH, ..Batch::default() };
    let (mut users, mut items, mut tags) = (Vec::new(), Vec::new(), Vec::new());
    let mut offsets = vec![0];
    for _ in 0..rows {
        users.push(key(dice, 100));
        items.push(key(dice, 40));
        tags.extend((0..dice.below(4)).map(|_| key(dice, 30)).collect::<Vec<_>>());
        offsets.push(tags.len() as u32);
        let worth = dice.float(-1.0, 1.0) as f32;
        batch.dense.extend([worth, dice.float(-1.0, 1.0) as f32]);
        batch.labels.push(f32::from(u8::from(worth + dice.float(-0.5, 0.5) as f32 > 0.3)));
    }
    batch.features = vec![
        Jagged { values: users, offsets: None },
        Jagged { values: items, offsets: None },
        Jagged { values: tags, offsets: Some(offsets) },
    ];
    batch
}
