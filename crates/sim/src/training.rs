//! A world in which a real model is trained on real data.

use std::collections::BTreeMap;
use std::sync::Arc;

use gearshift_data::{Indexer, Schema};
use gearshift_embedding::{Shard, ShardDigest, UpdateOptions};
use gearshift_model::{Learner, ModelOptions};
use gearshift_types::{IndexedBatch, ModelSpec, PartId, PartitionMap, RowRange, ServerId};

use crate::parts::{Part, PartCache};
use crate::shards::Shards;
use crate::world::World;

/// Shards, learners and samples of a job.
pub struct TrainingWorld {
    schema: Schema,
    model: ModelOptions,
    shards: Shards,
    parts: Arc<PartCache>,
    open: BTreeMap<PartId, Arc<Part>>,
    indexer: Indexer,
}

impl TrainingWorld {
    /// The world of a job over `servers` servers. `seed` is that of the start values.
    ///
    /// # Errors
    /// When the model's settings make no sense.
    pub fn new(
        schema: &Schema,
        parts: Arc<PartCache>,
        model: &ModelOptions,
        update: &UpdateOptions,
        servers: u32,
        seed: u64,
    ) -> Result<Self, String> {
        let learner = gearshift_model::build(model, &schema.features, &schema.tables, schema.dense.len());
        let spec = Arc::new(learner.map_err(|error| error.to_string())?.spec().clone());
        Ok(Self {
            schema: schema.clone(),
            model: model.clone(),
            shards: Shards { spec, update: update.clone(), map: PartitionMap::new(servers), seed },
            parts,
            open: BTreeMap::new(),
            indexer: Indexer::new(),
        })
    }

    /// What the model's parameters look like.
    #[must_use]
    pub fn spec(&self) -> &Arc<ModelSpec> {
        &self.shards.spec
    }

    /// All parameters of checkpoint files in one shard.
    pub(crate) fn whole(&self, files: &[Vec<u8>]) -> Result<Shard, String> {
        self.shards.whole(Some(files))
    }
}

impl World for TrainingWorld {
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
        let schema = &self.schema;
        gearshift_model::build(&self.model, &schema.features, &schema.tables, schema.dense.len())
            .map_err(|error| error.to_string())
    }

    fn open(&mut self, part: PartId) -> Result<Vec<u32>, String> {
        let opened = self.parts.part(part).map_err(|error| error.to_string())?;
        let rows = opened.blocks.iter().map(|block| block.samples() as u32).collect();
        self.open.clear();
        self.open.insert(part, opened);
        Ok(rows)
    }

    fn load(&mut self, ranges: &[RowRange]) -> Result<IndexedBatch, String> {
        let open = &self.open;
        let block = |range: &RowRange| open.get(&range.part)?.blocks.get(range.block as usize);
        self.shards.load(&mut self.indexer, ranges, block)
    }

    fn dense_len(&self) -> usize {
        self.shards.spec.dense_len()
    }
}
