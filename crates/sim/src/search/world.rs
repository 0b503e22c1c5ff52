//! A world small enough to be trained a hundred times a second: a tiny DeepFM over the scenario's data.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use gearshift_data::Indexer;
use gearshift_embedding::{Shard, ShardDigest};
use gearshift_model::{Learner, ModelOptions, ShapeError};
use gearshift_types::{Gradients, IndexedBatch, ModelSpec, PartId, PartitionMap, RowRange, Rows, ServerId};

use super::data::{DENSE_WIDTH, Data, TABLES, features};
use super::dice::Dice;
use super::scenario::Scenario;
use crate::shards::Shards;
use crate::world::World;

/// Shards, learners and samples of a scenario.
pub struct TinyWorld {
    data: Rc<Data>,
    shards: Shards,
    indexer: Indexer,
    /// One gradient in so many is not finite; 0 = none.
    pub(crate) poison_one_in: u32,
    learners: Cell<u64>,
    read_row_us: f64,
}

fn deepfm() -> Result<Box<dyn Learner>, String> {
    let options =
        ModelOptions { embedding_dim: 2, hidden: vec![4], embedding_std: 0.1, ..ModelOptions::default() };
    let tables = TABLES.map(str::to_owned);
    gearshift_model::build(&options, &features(), &tables, DENSE_WIDTH).map_err(|error| error.to_string())
}

impl TinyWorld {
    /// The world of a scenario over `servers` servers.
    ///
    /// # Errors
    /// When the model cannot be built.
    pub fn new(scenario: &Scenario, servers: u32) -> Result<Self, String> {
        let spec = Arc::new(deepfm()?.spec().clone());
        let (update, map) = (scenario.update.clone(), PartitionMap::new(servers));
        Ok(Self {
            data: Rc::clone(&scenario.data),
            shards: Shards { spec, update, map, seed: scenario.seed },
            indexer: Indexer::new(),
            poison_one_in: scenario.poison_one_in,
            learners: Cell::new(0),
            read_row_us: scenario.read_row_us,
        })
    }
}

impl World for TinyWorld {
    type Store = Shard;

    fn store(&self, server: ServerId, files: Option<&[Vec<u8>]>) -> Result<Shard, String> {
        self.shards.of(server, files)
    }

    fn file(&self, store: &Shard) -> Result<Vec<u8>, String> {
        self.shards.file(store)
    }

    fn held(&self, store: &Shard) -> usize {
        store.held()
    }

    fn digest(&self, store: &Shard) -> Option<ShardDigest> {
        Some(store.digest())
    }

    fn learner(&self) -> Result<Box<dyn Learner>, String> {
        let inner = deepfm()?;
        if self.poison_one_in == 0 {
            return Ok(inner);
        }
        self.learners.set(self.learners.get() + 1);
        let dice = Dice::new(self.shards.seed ^ self.learners.get().wrapping_mul(0xBAD_5EED));
        Ok(Box::new(Poisoned { inner, dice, one_in: self.poison_one_in as usize }))
    }

    fn open(&mut self, part: PartId) -> Result<Vec<u32>, String> {
        Ok(self.data.blocks(part).iter().map(|block| block.samples() as u32).collect())
    }

    fn read_seconds(&self, rows: u32) -> f64 {
        f64::from(rows) * self.read_row_us * 1e-6
    }

    fn load(&mut self, ranges: &[RowRange]) -> Result<IndexedBatch, String> {
        let data = &self.data;
        let block = |range: &RowRange| data.blocks(range.part).get(range.block as usize);
        self.shards.load(&mut self.indexer, ranges, block)
    }

    fn dense_len(&self) -> usize {
        self.shards.spec.dense_len()
    }
}

/// Makes one value of a gradient NaN, once in so many batches.
struct Poisoned {
    inner: Box<dyn Learner>,
    dice: Dice,
    one_in: usize,
}

impl Learner for Poisoned {
    fn spec(&self) -> &ModelSpec {
        self.inner.spec()
    }

    fn train(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        out: &mut Gradients,
    ) -> Result<(), ShapeError> {
        self.inner.train(batch, rows, dense, out)?;
        if self.dice.one_in(self.one_in) {
            let into = if self.dice.one_in(2) { &mut out.dense } else { &mut out.rows[0] };
            let at = self.dice.below(into.len());
            into[at] = f32::NAN;
        }
        Ok(())
    }

    fn predict(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        predictions: &mut Vec<f32>,
    ) -> Result<(), ShapeError> {
        self.inner.predict(batch, rows, dense, predictions)
    }
}
