//! Predictions from a shard that holds all parameters.

use std::ops::Range;
use std::sync::Arc;

use gearshift_data::{Indexer, gather};
use gearshift_embedding::{Shard, Store};
use gearshift_model::{Learner, Metrics, MetricsError};
use gearshift_types::{Batch, IndexedBatch, PullRequest, Rows};

use crate::parts::Part;

/// All rows that a batch needs and the dense parameters. Creates no rows.
pub(super) fn pull(shard: &mut Shard, batch: &IndexedBatch) -> Result<(Vec<Rows>, Arc<[f32]>), String> {
    let request = PullRequest { tables: batch.tables.clone(), dense_known: None };
    let reply = shard.pull(&request).map_err(|error| error.to_string())?;
    Ok((reply.rows, reply.dense.unwrap_or_default()))
}

/// Figures of a shard's parameters, which are all of the model's, on a part; `None` when a model that has diverged predicts no numbers.
pub(super) fn score(
    shard: &mut Shard,
    learner: &mut dyn Learner,
    part: &Part,
    batch_rows: u32,
) -> Result<Option<Metrics>, String> {
    let spec = learner.spec().clone();
    let mut indexer = Indexer::new();
    let (mut labels, mut all) = (Vec::new(), Vec::new());
    for batch in batches(part, batch_rows) {
        let indexed = indexer.index(&batch, &spec.features, spec.tables.len());
        let (rows, dense) = pull(shard, &indexed)?;
        let mut predictions = Vec::new();
        let scored = learner.predict(&indexed, &rows, &dense, &mut predictions);
        scored.map_err(|error| error.to_string())?;
        all.extend(predictions);
        labels.extend(batch.labels);
    }
    match Metrics::of(&all, &labels) {
        Ok(metrics) => Ok(Some(metrics)),
        Err(MetricsError::Prediction { .. } | MetricsError::Empty) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// A part in batches of `rows` rows, across blocks; the last one may have fewer.
pub(super) fn batches(part: &Part, rows: u32) -> impl Iterator<Item = Batch> + '_ {
    let rows = rows.max(1);
    let (mut block, mut start) = (0, 0);
    std::iter::from_fn(move || {
        let mut pieces: Vec<(&Batch, Range<u32>)> = Vec::new();
        let mut missing = rows;
        while missing > 0 && block < part.blocks.len() {
            let samples = part.blocks[block].samples() as u32;
            let end = samples.min(start + missing);
            if end > start {
                pieces.push((&part.blocks[block], start..end));
                missing -= end - start;
            }
            (block, start) = if end == samples { (block + 1, 0) } else { (block, end) };
        }
        (!pieces.is_empty()).then(|| gather(&pieces))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_run_across_blocks() {
        let block = |labels: &[f32]| Batch { labels: labels.to_vec(), ..Batch::default() };
        let blocks = vec![block(&[1.0, 2.0, 3.0]), block(&[]), block(&[4.0]), block(&[5.0, 6.0, 7.0])];
        let part = Part { blocks };
        let got: Vec<Vec<f32>> = batches(&part, 2).map(|batch| batch.labels).collect();
        assert_eq!(got, vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0], vec![7.0]]);
        assert_eq!(batches(&part, 100).map(|batch| batch.samples()).collect::<Vec<_>>(), vec![7]);
    }
}
