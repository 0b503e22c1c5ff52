//! Predictions from shards, as they stand.

use std::ops::Range;

use gearshift_data::{Indexer, gather};
use gearshift_embedding::{Shard, Store};
use gearshift_model::{Learner, Metrics, MetricsError};
use gearshift_types::{Batch, IndexedBatch, ModelSpec, PartitionMap, PullRequest, Rows, ServerId, TableKeys};

use crate::parts::Part;

/// All rows that a batch needs and the dense parameters, pulled from every server. Creates no rows.
pub(super) fn pull(
    shards: &mut [Shard],
    map: PartitionMap,
    spec: &ModelSpec,
    batch: &IndexedBatch,
) -> Result<(Vec<Rows>, Vec<f32>), String> {
    let mut rows: Vec<Rows> = batch
        .tables
        .iter()
        .zip(&spec.tables)
        .map(|(keys, table)| Rows { dim: table.dim(), values: vec![0.0; keys.keys.len() * table.dim()] })
        .collect();
    let mut dense = vec![0.0; spec.dense_len()];
    for (server, shard) in (0..).map(ServerId).zip(shards) {
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(batch.tables.len());
        let mut tables = Vec::with_capacity(batch.tables.len());
        for entry in &batch.tables {
            let keys = entry.keys.iter().copied().enumerate();
            let own = keys.filter(|(_, key)| map.server_of_key(entry.table, *key) == server);
            let (place, keys): (Vec<usize>, Vec<_>) = own.unzip();
            places.push(place);
            tables.push(TableKeys { table: entry.table, keys: keys.into() });
        }
        let request = PullRequest { tables, dense_known: None };
        let reply = shard.pull(&request).map_err(|error| error.to_string())?;
        for ((into, from), places) in rows.iter_mut().zip(&reply.rows).zip(&places) {
            let dim = into.dim;
            for (row, &place) in from.values.chunks_exact(dim).zip(places) {
                into.values[place * dim..][..dim].copy_from_slice(row);
            }
        }
        if let Some(own) = reply.dense {
            dense[map.dense_range_of(server, spec.dense_len())].copy_from_slice(&own);
        }
    }
    Ok((rows, dense))
}

/// Figures of the shards' parameters on a part; `None` when a model that has diverged predicts no numbers.
pub(super) fn score(
    shards: &mut [Shard],
    map: PartitionMap,
    learner: &mut dyn Learner,
    part: &Part,
    batch_rows: u32,
) -> Result<Option<Metrics>, String> {
    let spec = learner.spec().clone();
    let mut indexer = Indexer::new();
    let (mut labels, mut all) = (Vec::new(), Vec::new());
    for batch in batches(part, batch_rows) {
        let indexed = indexer.index(&batch, &spec.features, spec.tables.len());
        let (rows, dense) = pull(shards, map, &spec, &indexed)?;
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
        let part = Part { blocks, bad_lines: 0 };
        let got: Vec<Vec<f32>> = batches(&part, 2).map(|batch| batch.labels).collect();
        assert_eq!(got, vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0], vec![7.0]]);
        assert_eq!(batches(&part, 100).map(|batch| batch.samples()).collect::<Vec<_>>(), vec![7]);
    }
}
