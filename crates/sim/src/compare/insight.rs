//! Why gba works, measured on the user's data: gradient norms by the number of samples averaged, and how often
//! rows recur from one global batch to the next.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use gearshift_data::Indexer;
use gearshift_types::{Batch, Gradients, Key, PartId};
use serde::{Deserialize, Serialize};

use super::Stage;
use super::part::{CompareError, world};
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
    let world = world(stage)?;
    let part = stage.parts.part(part)?;
    let batch = stage.scheduler.batch;
    let per_step = (batch.global / batch.local.max(1)).max(1);
    let mut sizes = vec![1, per_step.div_ceil(4), per_step];
    sizes.dedup();
    let mut sums: Vec<Sum> = sizes.into_iter().map(|batches| Sum::new(batches, batch.local)).collect();
    gradients(&world, base, &part, batch.local, &mut |gradient| {
        sums.iter_mut().for_each(|sum| sum.add(gradient));
    })?;
    Ok(Insight {
        gradient_norms: sums.into_iter().map(Sum::norms).collect(),
        recurrence: recurrence(&world, &part, batch.global, &[1, 3, 10]),
    })
}

/// Gradient sums of one local batch.
struct LocalGradient {
    dense: Vec<f32>,
    rows: Vec<((u16, Key), Vec<f32>)>,
}

/// At most so many local batches, and so many global ones, are looked at.
const BATCHES_MAX: usize = 1024;

/// Computes the gradients of a part's whole local batches, one after the other: together they may be far larger than
/// the data.
fn gradients(
    world: &TrainingWorld,
    base: &Checkpoint,
    part: &Part,
    local: u32,
    take: &mut dyn FnMut(&LocalGradient),
) -> Result<(), CompareError> {
    let mut shard = world.whole(&base.files).map_err(CompareError::Job)?;
    let mut learner = world.learner().map_err(CompareError::Job)?;
    let spec = Arc::clone(world.spec());
    let mut indexer = Indexer::new();
    let whole = batches(part, local).filter(|batch| batch.samples() == local as usize);
    for batch in whole.take(BATCHES_MAX) {
        let indexed = indexer.index(&batch, &spec.features, spec.tables.len());
        let (rows, dense) = pull(&mut shard, &indexed).map_err(CompareError::Job)?;
        let mut gradients = Gradients::default();
        let trained = learner.train(&indexed, &rows, &dense, &mut gradients);
        trained.map_err(|error| CompareError::Job(error.to_string()))?;
        let mut rows = Vec::new();
        for ((table, values), spec) in indexed.tables.iter().zip(&gradients.rows).zip(&spec.tables) {
            let of_rows = table.keys.iter().zip(values.chunks_exact(spec.dim()));
            rows.extend(of_rows.map(|(&key, row)| ((table.table.0, key), row.to_vec())));
        }
        take(&LocalGradient { dense: gradients.dense, rows });
    }
    Ok(())
}

/// Gradients of an update under way, and the norms of those before it.
#[derive(Default)]
struct Sum {
    /// Local batches of an update, and samples of each.
    batches: u32,
    local: u32,
    /// Local batches of the one under way.
    added: u32,
    dense: Vec<f64>,
    rows: BTreeMap<(u16, Key), Vec<f64>>,
    dense_norms: Vec<f64>,
    row_norms: Vec<f64>,
}

impl Sum {
    fn new(batches: u32, local: u32) -> Self {
        Self { batches, local, ..Self::default() }
    }

    fn add(&mut self, gradient: &LocalGradient) {
        self.dense.resize(gradient.dense.len(), 0.0);
        for (sum, &value) in self.dense.iter_mut().zip(&gradient.dense) {
            *sum += f64::from(value);
        }
        for (key, row) in &gradient.rows {
            let sums = self.rows.entry(*key).or_insert_with(|| vec![0.0; row.len()]);
            for (sum, &value) in sums.iter_mut().zip(row) {
                *sum += f64::from(value);
            }
        }
        self.added += 1;
        if self.added == self.batches {
            let divisor = f64::from(self.batches) * f64::from(self.local);
            let norm = |squares: f64| squares.sqrt() / divisor;
            self.dense_norms.push(norm(self.dense.iter().map(|value| value * value).sum()));
            self.row_norms.push(norm(self.rows.values().flatten().map(|value| value * value).sum()));
            self.added = 0;
            self.dense.clear();
            self.rows.clear();
        }
    }

    fn norms(self) -> GradientNorms {
        GradientNorms {
            batches: self.batches,
            samples: self.batches * self.local,
            dense: quantiles(self.dense_norms),
            rows: quantiles(self.row_norms),
        }
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

/// The rows of a global batch, each with how often it occurs.
type RowCounts = BTreeMap<(u16, Key), u64>;

/// What has been seen at one look-back.
#[derive(Clone, Copy, Default)]
struct Seen {
    rows: u64,
    recurring: u64,
    occurrences: u64,
    recurring_occurrences: u64,
}

/// For each look-back (ascending) the shares of rows seen, over all global batches that have so many before them.
fn recurrence(world: &TrainingWorld, part: &Part, global: u32, back: &[u32]) -> Vec<Recurrence> {
    let spec = world.spec();
    let rows_of = |batch: &Batch| {
        let mut rows = RowCounts::new();
        for (feature, spec) in batch.features.iter().zip(&spec.features) {
            for &key in &feature.values {
                *rows.entry((spec.table.0, key)).or_default() += 1;
            }
        }
        rows
    };
    let whole = batches(part, global).filter(|batch| batch.samples() == global as usize);
    recurrence_of(whole.take(BATCHES_MAX).map(|batch| rows_of(&batch)), back)
}

fn recurrence_of(steps: impl Iterator<Item = RowCounts>, back: &[u32]) -> Vec<Recurrence> {
    let most = back.last().map_or(0, |&back| back as usize);
    let mut seen = vec![Seen::default(); back.len()];
    // The latest first.
    let mut before: VecDeque<RowCounts> = VecDeque::new();
    for now in steps {
        for (seen, &back) in seen.iter_mut().zip(back).filter(|(_, back)| **back as usize <= before.len()) {
            for (row, &count) in &now {
                seen.rows += 1;
                seen.occurrences += count;
                if before.iter().take(back as usize).any(|step| step.contains_key(row)) {
                    seen.recurring += 1;
                    seen.recurring_occurrences += count;
                }
            }
        }
        before.push_front(now);
        before.truncate(most);
    }
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let looked = back.iter().zip(seen).filter(|(_, seen)| seen.rows > 0);
    looked
        .map(|(&global_batches, seen)| Recurrence {
            global_batches,
            unique: share(seen.recurring, seen.rows),
            occurrences: share(seen.recurring_occurrences, seen.occurrences),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_of_the_mean_over_the_samples_of_an_update() {
        let gradient = |dense: [f32; 2], key: u64, row: f32| LocalGradient {
            dense: dense.to_vec(),
            rows: vec![((0, Key(key)), vec![row])],
        };
        let all = [gradient([3.0, 0.0], 1, 6.0), gradient([0.0, 4.0], 1, 2.0), gradient([9.0, 9.0], 2, 1.0)];
        let norms = |batches| {
            let mut sum = Sum::new(batches, 2);
            all.iter().for_each(|gradient| sum.add(gradient));
            let norms = sum.norms();
            (norms.samples, norms.dense.median, norms.rows.median)
        };
        assert_eq!(norms(1), (2, 2.0, 1.0));
        // One update of 4 samples; the third batch is the beginning of the next one.
        assert_eq!(norms(2), (4, 5.0 / 4.0, 8.0 / 4.0));
    }

    #[test]
    fn rows_recur_when_a_batch_before_holds_them() {
        let step = |rows: &[(u64, u64)]| rows.iter().map(|&(key, count)| ((0, Key(key)), count)).collect();
        let steps: [RowCounts; 4] =
            [step(&[(1, 5)]), step(&[(1, 3), (2, 1)]), step(&[(3, 1)]), step(&[(1, 1), (3, 7)])];
        let got = recurrence_of(steps.into_iter(), &[1, 3, 10]);
        // Looking back one batch: rows 1 of the second and 3 of the fourth; over three: 1 and 3 of the fourth.
        let expected = [(1, 2.0 / 5.0, 10.0 / 13.0), (3, 1.0, 1.0)];
        let got: Vec<_> = got.iter().map(|one| (one.global_batches, one.unique, one.occurrences)).collect();
        assert_eq!(got, expected);
    }
}
