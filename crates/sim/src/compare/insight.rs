//! Why gba works, measured on the user's data: gradient norms by the number of samples averaged, and how often
//! rows recur from one global batch to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use gearshift_data::Indexer;
use gearshift_embedding::Shard;
use gearshift_types::{Batch, Gradients, Key, PartId, PartitionMap, ServerId};
use serde::{Deserialize, Serialize};

use super::Stage;
use super::part::CompareError;
use super::score::{batches, pull};
use crate::parts::Part;
use crate::simulation::Checkpoint;
use crate::training::TrainingWorld;
use crate::world::World;

/// Both measurements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Insight {
    /// By the number of local batches in an update, ascending.
    pub gradient_norms: Vec<GradientNorms>,
    /// By how far back is looked, ascending.
    pub recurrence: Vec<Recurrence>,
}

/// L2 norms of the mean gradient of an update, parameters frozen at the base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GradientNorms {
    /// Local batches in an update.
    pub batches: u32,
    /// Samples in an update.
    pub samples: u32,
    /// Of the dense parameters.
    pub dense: Quantiles,
    /// Of all rows together.
    pub rows: Quantiles,
}

/// Of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// 5 %.
    pub p05: f64,
    /// 50 %.
    pub median: f64,
    /// 95 %.
    pub p95: f64,
}

/// Shares of a global batch's rows that one of the global batches before it held too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recurrence {
    /// Global batches looked back over.
    pub global_batches: u32,
    /// Of the distinct rows, 0 to 1.
    pub unique: f64,
    /// Of all occurrences, 0 to 1.
    pub occurrences: f64,
}

/// Measures both on `part`, with the parameters of `base` frozen: norms of updates of 1, `of_step` / 4 and `of_step`
/// local batches.
///
/// # Errors
/// When data or model cannot be used.
pub fn insight(stage: &Stage, base: &Checkpoint, part: PartId) -> Result<Insight, CompareError> {
    let world = TrainingWorld::new(
        stage.data.schema(),
        Arc::clone(&stage.parts),
        &stage.model,
        &stage.update,
        stage.scheduler.servers,
        stage.seed,
    )
    .map_err(CompareError::Job)?;
    let part = stage.parts.part(part)?;
    let batch = stage.scheduler.batch;
    let per_step = (batch.global / batch.local.max(1)).max(1);
    let local = gradients(stage, &world, base, &part, batch.local)?;
    let mut sizes = vec![1, per_step.div_ceil(4), per_step];
    sizes.dedup();
    Ok(Insight {
        gradient_norms: sizes.into_iter().map(|batches| norms(&local, batches, batch.local)).collect(),
        recurrence: recurrence(&world, &part, batch.global, &[1, 3, 10]),
    })
}

/// Gradient sums of one local batch.
struct LocalGradient {
    dense: Vec<f32>,
    rows: Vec<((u16, Key), Vec<f32>)>,
}

/// At most so many local batches are looked at.
const BATCHES_MAX: usize = 1024;

fn gradients(
    stage: &Stage,
    world: &TrainingWorld,
    base: &Checkpoint,
    part: &Part,
    local: u32,
) -> Result<Vec<LocalGradient>, CompareError> {
    let map = PartitionMap::new(stage.scheduler.servers);
    let servers = (0..map.servers()).map(ServerId);
    let shards = servers.map(|server| world.store(server, Some(&base.files)));
    let mut shards: Vec<Shard> = shards.collect::<Result<_, _>>().map_err(CompareError::Job)?;
    let mut learner = world.learner().map_err(CompareError::Job)?;
    let spec = Arc::clone(world.spec());
    let mut indexer = Indexer::new();
    let mut all = Vec::new();
    let whole = batches(part, local).filter(|batch| batch.samples() == local as usize);
    for batch in whole.take(BATCHES_MAX) {
        let indexed = indexer.index(&batch, &spec.features, spec.tables.len());
        let (rows, dense) = pull(&mut shards, map, &spec, &indexed).map_err(CompareError::Job)?;
        let mut gradients = Gradients::default();
        let trained = learner.train(&indexed, &rows, &dense, &mut gradients);
        trained.map_err(|error| CompareError::Job(error.to_string()))?;
        let mut rows = Vec::new();
        for ((table, values), spec) in indexed.tables.iter().zip(&gradients.rows).zip(&spec.tables) {
            let of_rows = table.keys.iter().zip(values.chunks_exact(spec.dim()));
            rows.extend(of_rows.map(|(&key, row)| ((table.table.0, key), row.to_vec())));
        }
        all.push(LocalGradient { dense: gradients.dense, rows });
    }
    Ok(all)
}

/// Norms of the mean gradients of so many local batches each.
fn norms(local: &[LocalGradient], batches: u32, samples: u32) -> GradientNorms {
    let (mut of_dense, mut of_rows) = (Vec::new(), Vec::new());
    for group in local.chunks_exact(batches as usize) {
        let mut dense = vec![0.0_f64; group[0].dense.len()];
        let mut rows: BTreeMap<(u16, Key), Vec<f64>> = BTreeMap::new();
        for gradient in group {
            for (sum, &value) in dense.iter_mut().zip(&gradient.dense) {
                *sum += f64::from(value);
            }
            for (key, row) in &gradient.rows {
                let sums = rows.entry(*key).or_insert_with(|| vec![0.0; row.len()]);
                for (sum, &value) in sums.iter_mut().zip(row) {
                    *sum += f64::from(value);
                }
            }
        }
        let divisor = f64::from(batches) * f64::from(samples);
        let norm = |squares: f64| squares.sqrt() / divisor;
        of_dense.push(norm(dense.iter().map(|value| value * value).sum()));
        of_rows.push(norm(rows.values().flatten().map(|value| value * value).sum()));
    }
    GradientNorms {
        batches,
        samples: batches * samples,
        dense: quantiles(of_dense),
        rows: quantiles(of_rows),
    }
}

fn quantiles(mut values: Vec<f64>) -> Quantiles {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| match values.len() {
        0 => 0.0,
        len => values[((len - 1) as f64 * share).round() as usize],
    };
    Quantiles { p05: at(0.05), median: at(0.5), p95: at(0.95) }
}

/// For each look-back the shares of rows seen, over all global batches that have so many before them.
fn recurrence(world: &TrainingWorld, part: &Part, global: u32, back: &[u32]) -> Vec<Recurrence> {
    let spec = world.spec();
    let rows_of = |batch: &Batch| {
        let mut rows: BTreeMap<(u16, Key), u64> = BTreeMap::new();
        for (feature, spec) in batch.features.iter().zip(&spec.features) {
            for &key in &feature.values {
                *rows.entry((spec.table.0, key)).or_default() += 1;
            }
        }
        rows
    };
    let steps: Vec<BTreeMap<(u16, Key), u64>> = batches(part, global)
        .filter(|batch| batch.samples() == global as usize)
        .map(|batch| rows_of(&batch))
        .take(BATCHES_MAX)
        .collect();
    let look = |&back: &u32| {
        let (mut unique, mut occurrences, mut seen, mut all) = (0, 0, 0, 0);
        for now in back as usize..steps.len() {
            for (row, &count) in &steps[now] {
                let recurs = steps[now - back as usize..now].iter().any(|step| step.contains_key(row));
                (unique, all) = (unique + 1, all + count);
                if recurs {
                    (seen, occurrences) = (seen + 1, occurrences + count);
                }
            }
        }
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        Recurrence { global_batches: back, unique: share(seen, unique), occurrences: share(occurrences, all) }
    };
    back.iter().filter(|&&back| (back as usize) < steps.len()).map(look).collect()
}
