//! Makes keys unique per table, so that each row is pulled and pushed once. In the path of every batch.

use std::sync::Arc;

use gearshift_types::{Batch, FeatureSpec, IndexedBatch, IndexedFeature, Jagged, Key, TableId, TableKeys};

/// Indexes batches; keeps its scratch memory from batch to batch.
///
/// One open-addressing table serves all embedding tables in turn. Each slot carries the number of the turn in which
/// it was written, so nothing needs clearing; only as much of it is used as the values of the turn need.
#[derive(Clone, Debug, Default)]
pub struct Indexer {
    slots: Vec<Slot>,
    turn: u32,
    unique: Vec<Key>,
    /// Features of each table, ascending.
    members: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    key: Key,
    turn: u32,
    position: u32,
}

impl Indexer {
    /// Without scratch memory; it grows to what the batches need.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `batch` with the unique keys of each of `tables` tables, in order of first occurrence (features in order,
    /// then samples in order), and each value as a position in them.
    ///
    /// # Panics
    /// When `spec_features` does not match the batch's features, a table is not below `tables`, or the offsets of a
    /// feature are not `samples + 1` ascending numbers from 0 to its number of values.
    pub fn index(&mut self, batch: &Batch, spec_features: &[FeatureSpec], tables: usize) -> IndexedBatch {
        assert_eq!(batch.features.len(), spec_features.len(), "features of the batch and of the model");
        assert_eq!(batch.dense.len(), batch.samples() * batch.dense_width, "dense features of the batch");
        for members in &mut self.members {
            members.clear();
        }
        self.members.resize(tables, Vec::new());
        let mut features = Vec::with_capacity(batch.features.len());
        for (at, (feature, spec)) in batch.features.iter().zip(spec_features).enumerate() {
            check_offsets(feature, batch.samples(), &spec.name);
            self.members[usize::from(spec.table.0)].push(at as u32);
            features.push(IndexedFeature { positions: Vec::new(), offsets: feature.offsets.clone() });
        }
        let members = std::mem::take(&mut self.members);
        let tables = members
            .iter()
            .enumerate()
            .map(|(table, members)| self.index_table(TableId(table as u16), members, batch, &mut features))
            .collect();
        self.members = members;
        IndexedBatch {
            labels: batch.labels.clone(),
            dense: batch.dense.clone(),
            dense_width: batch.dense_width,
            features,
            tables,
        }
    }

    fn index_table(
        &mut self,
        table: TableId,
        members: &[u32],
        batch: &Batch,
        features: &mut [IndexedFeature],
    ) -> TableKeys {
        let values = members.iter().map(|&at| batch.features[at as usize].values.len()).sum::<usize>();
        let shift = self.next_turn(values);
        self.unique.clear();
        for &at in members {
            let at = at as usize;
            features[at].positions = self.positions(&batch.features[at].values, shift);
        }
        TableKeys { table, keys: Arc::from(self.unique.as_slice()) }
    }

    /// Makes room for `values` values, at most half full, and starts a turn. Returns by how many bits a mixed key
    /// is shifted right to get its slot.
    fn next_turn(&mut self, values: usize) -> u32 {
        let slots = (values * 2).next_power_of_two().max(2);
        if self.slots.len() < slots || self.turn == u32::MAX {
            let len = self.slots.len().max(slots);
            self.slots.clear();
            self.slots.resize(len, Slot::default());
            self.turn = 0;
        }
        self.turn += 1;
        64 - slots.trailing_zeros()
    }

    fn positions(&mut self, values: &[Key], shift: u32) -> Vec<u32> {
        let slots = &mut self.slots[..1 << (64 - shift)];
        let mask = slots.len() - 1;
        let (turn, unique) = (self.turn, &mut self.unique);
        values
            .iter()
            .map(|&key| {
                // The multiply spreads keys that are not well hashed.
                let mut at = (key.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize;
                loop {
                    let slot = &mut slots[at & mask];
                    if slot.turn != turn {
                        let position = unique.len() as u32;
                        *slot = Slot { key, turn, position };
                        unique.push(key);
                        return position;
                    }
                    if slot.key == key {
                        return slot.position;
                    }
                    at += 1;
                }
            })
            .collect()
    }
}

fn check_offsets(feature: &Jagged, samples: usize, name: &str) {
    match &feature.offsets {
        None => assert_eq!(feature.values.len(), samples, "values of feature {name}, one per sample"),
        Some(offsets) => {
            assert_eq!(offsets.len(), samples + 1, "offsets of feature {name}, samples + 1");
            assert!(
                offsets[0] == 0
                    && offsets[samples] as usize == feature.values.len()
                    && offsets.windows(2).all(|pair| pair[0] <= pair[1]),
                "offsets of feature {name} must ascend from 0 to its {} values",
                feature.values.len()
            );
        }
    }
}
