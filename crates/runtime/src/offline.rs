//! Predictions from a checkpoint without a cluster: for `evaluate` and `predict`. Creates no rows.

use std::sync::Arc;

use gearshift_data::{BadLineLimit, DataSet, EVALUATION_PART, Indexer, slice};
use gearshift_embedding::{Shard, Store, UpdateOptions};
use gearshift_model::{Learner, ModelOptions, ShapeError};
use gearshift_types::{Batch, ModelSpec, PartId, PartitionMap, PullRequest, ServerId};

use crate::checkpoint::Checkpoint;
use crate::local::RunError;

/// A model at rest.
pub struct Scorer {
    shard: Shard,
    learner: Box<dyn Learner>,
    indexer: Indexer,
    spec: Arc<ModelSpec>,
}

impl Scorer {
    /// Loads all shards of a checkpoint into one.
    ///
    /// # Errors
    /// When the checkpoint is damaged or belongs to another model or other data.
    pub fn open(
        checkpoint: &Checkpoint,
        data: &dyn DataSet,
        model: &ModelOptions,
        update: &UpdateOptions,
        seed: u64,
    ) -> Result<Self, RunError> {
        let schema = data.schema();
        let learner = gearshift_model::build(model, &schema.features, &schema.tables, schema.dense.len())?;
        let spec = Arc::new(learner.spec().clone());
        let map = PartitionMap::new(1);
        let shard = checkpoint.restore(Arc::clone(&spec), update, map, ServerId(0), seed)?;
        Ok(Self { shard, learner, indexer: Indexer::new(), spec })
    }

    /// The predicted probability of each sample.
    ///
    /// # Errors
    /// When the batch does not fit the model.
    pub fn score(&mut self, batch: &Batch) -> Result<Vec<f32>, RunError> {
        let indexed = self.indexer.index(batch, &self.spec.features, self.spec.tables.len());
        let request = PullRequest { tables: indexed.tables.clone(), dense_known: None };
        let pulled = self.shard.pull(&request).map_err(|error| RunError::Role(error.to_string()))?;
        let dense = pulled.dense.unwrap_or_default();
        let mut predictions = Vec::new();
        let scored = self.learner.predict(&indexed, &pulled.rows, &dense, &mut predictions);
        scored.map_err(|error: ShapeError| RunError::Role(error.to_string()))?;
        Ok(predictions)
    }
}

/// Hands out a part (or the final evaluation set, [`EVALUATION_PART`]) in batches of at most `size` samples, in
/// data order. `each` also gets how far the part has been read: done and all, in the reader's unit. Returns the
/// number of bad lines left out.
///
/// # Errors
/// When the part cannot be read, or what `each` returns.
pub fn for_each_batch(
    data: &dyn DataSet,
    part: PartId,
    size: u32,
    bad_line_share_max: f64,
    mut each: impl FnMut(&Batch, (u64, u64)) -> Result<(), RunError>,
) -> Result<u64, RunError> {
    let mut reader = if part == EVALUATION_PART { data.open_evaluation()? } else { data.open(part)? };
    let parser = data.parser();
    let mut limit = BadLineLimit::new(bad_line_share_max);
    while let Some(raw) = reader.next_block()? {
        let parsed = parser.parse(&raw)?;
        limit.add(&parsed)?;
        let rows = parsed.batch.samples() as u32;
        let mut start = 0;
        while start < rows {
            let end = rows.min(start + size.max(1));
            each(&slice(&parsed.batch, start..end), reader.position())?;
            start = end;
        }
    }
    Ok(limit.bad())
}
