//! A world in which a real model is trained on real data.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gearshift_data::{Indexer, Schema, gather};
use gearshift_embedding::{Shard, ShardDigest, UpdateOptions};
use gearshift_model::{Learner, ModelOptions};
use gearshift_types::{Batch, IndexedBatch, ModelSpec, PartId, PartitionMap, RowRange, ServerId};

use crate::parts::{Part, PartCache};
use crate::world::World;

/// Shards, learners and samples of a job.
pub struct TrainingWorld {
    schema: Schema,
    model: ModelOptions,
    update: UpdateOptions,
    seed: u64,
    spec: Arc<ModelSpec>,
    map: PartitionMap,
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
            update: update.clone(),
            seed,
            spec,
            map: PartitionMap::new(servers),
            parts,
            open: BTreeMap::new(),
            indexer: Indexer::new(),
        })
    }

    /// What the model's parameters look like.
    #[must_use]
    pub fn spec(&self) -> &Arc<ModelSpec> {
        &self.spec
    }
}

impl World for TrainingWorld {
    type Store = Shard;

    fn store(&self, server: ServerId, files: Option<&[Vec<u8>]>) -> Result<Shard, String> {
        let spec = Arc::clone(&self.spec);
        match files {
            None => {
                Shard::new(spec, &self.update, self.map, server, self.seed).map_err(|error| error.to_string())
            }
            Some(files) => {
                let files: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
                Shard::restore(spec, &self.update, self.map, server, self.seed, &files)
                    .map_err(|error| error.to_string())
            }
        }
    }

    fn file(&self, store: &Shard) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        store.write_checkpoint(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
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
        let mut pieces: Vec<(&Batch, Range<u32>)> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let block = self.open.get(&range.part).and_then(|part| part.blocks.get(range.block as usize));
            let block = block.filter(|block| range.end as usize <= block.samples());
            let block = block.ok_or_else(|| {
                format!(
                    "rows {}..{} of block {} are not in the open part",
                    range.start, range.end, range.block
                )
            })?;
            pieces.push((block, range.start..range.end));
        }
        let batch = gather(&pieces);
        Ok(self.indexer.index(&batch, &self.spec.features, self.spec.tables.len()))
    }

    fn dense_len(&self) -> usize {
        self.spec.dense_len()
    }
}
