//! DeepFM by its definition, in f64 and plain loops: what the tests measure the fast one against.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test")]

use gearshift_model::{Learner, ModelOptions, build};
use gearshift_types::{
    FeatureSpec, IndexedBatch, IndexedFeature, Key, ModelSpec, Pooling, Rows, TableId, TableKeys,
};

/// A number in -1..1 from an integer; the same formula as in `tests/golden/deepfm.py`.
pub(crate) fn number(i: u64) -> f64 {
    let hash = (i.wrapping_mul(2_654_435_761).wrapping_add(12_345)) % (1 << 32);
    (hash >> 8) as f64 / f64::from(1 << 23) - 1.0
}

/// A model and one batch for it.
pub(crate) struct Problem {
    pub(crate) learner: Box<dyn Learner>,
    pub(crate) batch: IndexedBatch,
    pub(crate) rows: Vec<Rows>,
    pub(crate) dense: Vec<f32>,
}

/// How the features of a [`Problem`] look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Three features with one value each, a table each.
    Single,
    /// Five: single and multi-valued, sum and mean, empty bags, repeated rows, shared tables.
    Jagged,
    /// No dense features.
    NoDense,
    /// No categorical features.
    OnlyDense,
}

pub(crate) fn problem(shape: Shape, dim: usize, hidden: &[usize], samples: usize) -> Problem {
    let feature =
        |name: &str, table, pooling| FeatureSpec { name: name.to_owned(), table: TableId(table), pooling };
    let single =
        vec![feature("a", 0, Pooling::Sum), feature("b", 1, Pooling::Sum), feature("c", 2, Pooling::Mean)];
    let (features, tables) = match shape {
        Shape::Single | Shape::NoDense => (single, 3),
        Shape::OnlyDense => (vec![], 0),
        Shape::Jagged => {
            let mut all = single;
            all.push(feature("d", 0, Pooling::Sum));
            all.push(feature("e", 2, Pooling::Mean));
            (all, 4)
        }
    };
    let dense_width = if shape == Shape::NoDense { 0 } else { 4 };
    let names: Vec<String> = (0..tables).map(|i| format!("table {i}")).collect();
    let options = ModelOptions { embedding_dim: dim, hidden: hidden.to_vec(), ..Default::default() };
    let learner = build(&options, &features, &names, dense_width).unwrap();
    let mut seed = 1_u64 << 20;
    let mut next = |scale: f64| {
        seed += 1;
        (number(seed) * scale) as f32
    };
    let keys = 7_usize;
    let pick = |s: usize, i: usize, f: usize| ((s * 31 + i * 17 + f * 5) % keys) as u32;
    let batch = IndexedBatch {
        labels: (0..samples).map(|s| f32::from(u8::from(s % 3 == 0))).collect(),
        dense: (0..samples * dense_width).map(|_| next(1.0)).collect(),
        dense_width,
        features: (0..features.len()).map(|f| indexed(f >= 3, f, samples, &pick)).collect(),
        tables: (0..tables)
            .map(|t| TableKeys { table: TableId(t as u16), keys: (0..keys as u64).map(Key).collect() })
            .collect(),
    };
    let rows = (0..tables)
        .map(|_| Rows { dim: dim + 1, values: (0..keys * (dim + 1)).map(|_| next(0.6)).collect() })
        .collect();
    let dense = (0..learner.spec().dense_len()).map(|_| next(0.5)).collect();
    Problem { learner, batch, rows, dense }
}

fn indexed(
    jagged: bool,
    f: usize,
    samples: usize,
    pick: &impl Fn(usize, usize, usize) -> u32,
) -> IndexedFeature {
    let mut feature = IndexedFeature::default();
    let mut offsets = vec![0];
    for s in 0..samples {
        // Every third bag is empty, the others have up to four values, the first one twice.
        let len = if jagged { [0, 1, 4][(s + f) % 3] } else { 1 };
        feature.positions.extend((0..len).map(|i| pick(s, i % 3, f)));
        offsets.push(feature.positions.len() as u32);
    }
    feature.offsets = jagged.then_some(offsets);
    feature
}

/// Sum of the samples' log losses.
pub(crate) fn loss_sum(spec: &ModelSpec, batch: &IndexedBatch, rows: &[Vec<f64>], dense: &[f64]) -> f64 {
    logits(spec, batch, rows, dense)
        .iter()
        .zip(&batch.labels)
        .map(|(z, &label)| z.max(0.0) - z * f64::from(label) + (-z.abs()).exp().ln_1p())
        .sum()
}

/// The logit of every sample.
pub(crate) fn logits(spec: &ModelSpec, batch: &IndexedBatch, rows: &[Vec<f64>], dense: &[f64]) -> Vec<f64> {
    (0..batch.samples())
        .map(|s| {
            let (mut x, mut logit) = (Vec::new(), 0.0);
            let mut vectors = Vec::new();
            for (of, feature) in spec.features.iter().zip(&batch.features) {
                let table = usize::from(of.table.0);
                let pooled = pooled(of.pooling, feature, s, &rows[table], spec.tables[table].dim());
                let (first_order, vector) = pooled.split_last().unwrap();
                logit += first_order;
                x.extend_from_slice(vector);
                vectors.push(vector.to_vec());
            }
            for (f, a) in vectors.iter().enumerate() {
                for b in &vectors[..f] {
                    logit += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                }
            }
            let inputs = &batch.dense[s * spec.dense_width..(s + 1) * spec.dense_width];
            x.extend(inputs.iter().map(|&v| f64::from(v)));
            let linear = tensor(spec, dense, "linear.dense.weight");
            logit += linear.iter().zip(inputs).map(|(w, &v)| w * f64::from(v)).sum::<f64>();
            logit + deep(spec, dense, x)
        })
        .collect()
}

fn pooled(pooling: Pooling, feature: &IndexedFeature, s: usize, rows: &[f64], dim: usize) -> Vec<f64> {
    let bag = match &feature.offsets {
        None => &feature.positions[s..=s],
        Some(cut) => &feature.positions[cut[s] as usize..cut[s + 1] as usize],
    };
    let mut sum = vec![0.0; dim];
    for &position in bag {
        for (sum, row) in sum.iter_mut().zip(&rows[position as usize * dim..]) {
            *sum += row;
        }
    }
    if pooling == Pooling::Mean && !bag.is_empty() {
        sum.iter_mut().for_each(|sum| *sum /= bag.len() as f64);
    }
    sum
}

fn deep(spec: &ModelSpec, dense: &[f64], mut x: Vec<f64>) -> f64 {
    let layers = spec.dense.iter().filter(|t| t.name.ends_with(".bias")).count();
    for i in 0..layers {
        let weight = tensor(spec, dense, &format!("deep.{i}.weight"));
        let mut y = tensor(spec, dense, &format!("deep.{i}.bias")).to_vec();
        for (x, weights) in x.iter().zip(weight.chunks(y.len())) {
            y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * w);
        }
        if i + 1 < layers {
            y.iter_mut().for_each(|y| *y = y.max(0.0));
        }
        x = y;
    }
    x[0]
}

/// The slice of the flat dense parameters that holds tensor `name`; empty when there is none.
pub(crate) fn tensor<'a>(spec: &ModelSpec, dense: &'a [f64], name: &str) -> &'a [f64] {
    let mut start = 0;
    for tensor in &spec.dense {
        if tensor.name == name {
            return &dense[start..start + tensor.len()];
        }
        start += tensor.len();
    }
    &[]
}
