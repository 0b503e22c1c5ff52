//! Training in step with PyTorch: 20 updates with SGD and with Adagrad, against `tests/golden/deepfm.json`
//! (made by `tests/golden/deepfm.py`, which documents the problem; the constants here are the same).
#![allow(clippy::unwrap_used, reason = "a test")]

use gearshift_model::{ModelOptions, build};
use gearshift_types::{
    FeatureSpec, Gradients, IndexedBatch, IndexedFeature, Key, Pooling, Rows, TableId, TableKeys,
};

const TABLES: usize = 3;
const KEYS: usize = 20;
const DIM: usize = 6;
const DENSE: usize = 3;
const SAMPLES: usize = 32;
/// Table, pooling, whether there are 0 to 3 values per sample.
const FEATURES: [(u16, Pooling, bool); 4] =
    [(0, Pooling::Sum, false), (1, Pooling::Sum, false), (0, Pooling::Sum, true), (2, Pooling::Mean, true)];

/// Follows PyTorch's losses to this at every step.
const TOLERANCE: f64 = 1e-4;

fn hashed(stream: u32, i: usize) -> u32 {
    let mut x = (i as u32).wrapping_add(stream.wrapping_mul(0x9E37_79B9));
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

fn number(stream: u32, i: usize) -> f64 {
    f64::from(hashed(stream, i) >> 8) / f64::from(1 << 23) - 1.0
}

fn batch(step: usize) -> IndexedBatch {
    let samples = step * SAMPLES..(step + 1) * SAMPLES;
    let mut batch = IndexedBatch { dense_width: DENSE, ..Default::default() };
    for s in samples.clone() {
        batch.dense.extend((0..DENSE).map(|c| number(2, s * DENSE + c) as f32));
        let positive = number(3, s) + number(2, s * DENSE) > 0.3;
        batch.labels.push(f32::from(u8::from(positive)));
    }
    for (f, (_, _, jagged)) in FEATURES.into_iter().enumerate() {
        let (mut positions, mut offsets) = (vec![], vec![0]);
        for s in samples.clone() {
            let len = if jagged { hashed(5, s * 10 + f) as usize % 4 } else { 1 };
            positions.extend((0..len).map(|i| hashed(4, (s * 10 + f) * 10 + i) % KEYS as u32));
            offsets.push(positions.len() as u32);
        }
        batch.features.push(IndexedFeature { positions, offsets: jagged.then_some(offsets) });
    }
    batch.tables = (0..TABLES as u16)
        .map(|t| TableKeys { table: TableId(t), keys: (0..KEYS as u64).map(Key).collect() })
        .collect();
    batch
}

/// `update(parameter, accumulator, mean gradient)`.
type Update = fn(&mut f32, &mut f32, f32);

fn sgd(parameter: &mut f32, _: &mut f32, gradient: f32) {
    *parameter -= 0.2 * gradient;
}

fn adagrad(parameter: &mut f32, accumulator: &mut f32, gradient: f32) {
    *accumulator += gradient * gradient;
    *parameter -= 0.05 * gradient / (accumulator.sqrt() + 1e-8);
}

fn follows(name: &str, update: Update) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/deepfm.json");
    let golden: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let golden = &golden[name];
    let floats = |field: &str| -> Vec<f64> {
        golden[field].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };

    let features: Vec<FeatureSpec> = FEATURES
        .iter()
        .enumerate()
        .map(|(i, &(table, pooling, _))| FeatureSpec {
            name: format!("f{i}"),
            table: TableId(table),
            pooling,
        })
        .collect();
    let tables: Vec<String> = (0..TABLES).map(|t| format!("t{t}")).collect();
    let options = ModelOptions { embedding_dim: DIM, hidden: vec![16, 8], ..Default::default() };
    let mut learner = build(&options, &features, &tables, DENSE).unwrap();

    let start = |stream, i| (0.4 * number(stream, i)) as f32;
    let size = KEYS * (DIM + 1);
    let mut rows: Vec<Rows> = (0..TABLES)
        .map(|t| Rows { dim: DIM + 1, values: (0..size).map(|i| start(0, t * size + i)).collect() })
        .collect();
    let mut dense: Vec<f32> = (0..learner.spec().dense_len()).map(|i| start(1, i)).collect();
    let mut row_accumulators = vec![vec![1e-8_f32; size]; TABLES];
    let mut dense_accumulators = vec![1e-8_f32; dense.len()];

    let mut out = Gradients::default();
    let losses = floats("losses");
    assert_eq!(losses.len(), 20);
    for (step, want) in losses.into_iter().enumerate() {
        learner.train(&batch(step), &rows, &dense, &mut out).unwrap();
        let loss = out.loss_sum / SAMPLES as f64;
        assert!((loss - want).abs() < TOLERANCE, "{name}: step {step}: loss {loss}, PyTorch {want}");
        let mean = |sum: f32| sum / SAMPLES as f32;
        for ((rows, accumulators), sums) in rows.iter_mut().zip(&mut row_accumulators).zip(&out.rows) {
            for ((value, accumulator), &sum) in rows.values.iter_mut().zip(accumulators).zip(sums) {
                update(value, accumulator, mean(sum));
            }
        }
        for ((value, accumulator), &sum) in dense.iter_mut().zip(&mut dense_accumulators).zip(&out.dense) {
            update(value, accumulator, mean(sum));
        }
    }
    for (got, want) in out.predictions.iter().zip(floats("last_predictions")) {
        assert!((f64::from(*got) - want).abs() < TOLERANCE, "{name}: prediction {got}, PyTorch {want}");
    }
    let sum = |values: &[f32]| values.iter().map(|&value| f64::from(value)).sum::<f64>();
    for (rows, want) in rows.iter().zip(floats("final_row_sums")) {
        let got = sum(&rows.values);
        assert!((got - want).abs() < 10.0 * TOLERANCE, "{name}: rows sum to {got}, PyTorch's to {want}");
    }
    let (got, want) = (sum(&dense), golden["final_dense_sum"].as_f64().unwrap());
    assert!((got - want).abs() < 10.0 * TOLERANCE, "{name}: dense sums to {got}, PyTorch's to {want}");
}

#[test]
fn sgd_follows_pytorch() {
    follows("sgd", sgd);
}

#[test]
fn adagrad_follows_pytorch() {
    follows("adagrad", adagrad);
}
