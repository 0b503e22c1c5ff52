//! DeepFM against its definition in f64: loss, predictions, every gradient by finite differences; and what a
//! learner promises: same arguments same bits, no panic on bad shapes.
#![allow(clippy::unwrap_used, reason = "a test")]

mod reference;

use gearshift_model::ShapeError;
use gearshift_types::{Gradients, IndexedBatch, IndexedFeature, Key, Rows, TableId, TableKeys};
use reference::{Problem, Shape, logits, loss_sum, problem};

const SHAPES: [Shape; 4] = [Shape::Single, Shape::Jagged, Shape::NoDense, Shape::OnlyDense];

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

fn train(problem: &mut Problem) -> Gradients {
    let mut out = Gradients::default();
    problem.learner.train(&problem.batch, &problem.rows, &problem.dense, &mut out).unwrap();
    out
}

/// Slope of the reference loss along `value` of `values` (taken by `loss`).
fn slope(values: &mut [f64], i: usize, loss: impl Fn(&[f64]) -> f64) -> f64 {
    let start = values[i];
    values[i] = start + 1e-6;
    let high = loss(values);
    values[i] = start - 1e-6;
    let low = loss(values);
    values[i] = start;
    (high - low) / 2e-6
}

fn check_gradients(shape: Shape, dim: usize, hidden: &[usize], samples: usize) {
    let mut problem = problem(shape, dim, hidden, samples);
    let got = train(&mut problem);
    let spec = problem.learner.spec().clone();
    let rows: Vec<Vec<f64>> = problem.rows.iter().map(|rows| wide(&rows.values)).collect();
    let mut dense = wide(&problem.dense);
    let name = format!("{shape:?} dim {dim} hidden {hidden:?} samples {samples}");
    let near = |got: f64, want: f64, what: &str| {
        assert!(
            (got - want).abs() < 2e-5 * (1.0 + want.abs()) * (samples as f64).sqrt(),
            "{name}: {what}: {got} for {want}"
        );
    };

    assert_eq!(got.samples as usize, samples);
    near(got.loss_sum, loss_sum(&spec, &problem.batch, &rows, &dense), "loss");
    for (s, z) in logits(&spec, &problem.batch, &rows, &dense).iter().enumerate() {
        near(f64::from(got.predictions[s]), 1.0 / (1.0 + (-z).exp()), "prediction");
    }
    assert_eq!(got.dense.len(), spec.dense_len());
    for i in 0..dense.len() {
        let want = slope(&mut dense, i, |dense| loss_sum(&spec, &problem.batch, &rows, dense));
        near(f64::from(got.dense[i]), want, &format!("dense {i}"));
    }
    assert_eq!(got.rows.len(), rows.len());
    for table in 0..rows.len() {
        assert_eq!(got.rows[table].len(), rows[table].len());
        for i in 0..rows[table].len() {
            let mut values = rows[table].clone();
            let want = slope(&mut values, i, |values| {
                let mut rows = rows.clone();
                rows[table].copy_from_slice(values);
                loss_sum(&spec, &problem.batch, &rows, &dense)
            });
            near(f64::from(got.rows[table][i]), want, &format!("table {table} value {i}"));
        }
    }
}

#[test]
fn gradients_match_finite_differences() {
    for shape in SHAPES {
        check_gradients(shape, 3, &[6, 5], 11);
        check_gradients(shape, 4, &[], 5);
    }
    check_gradients(Shape::Jagged, 8, &[9], 7);
    check_gradients(Shape::Jagged, 16, &[17, 4], 7);
    check_gradients(Shape::Jagged, 1, &[1, 1], 4);
}

#[test]
fn gradients_of_several_blocks_add_up() {
    // More samples than one block; the last one is short.
    check_gradients(Shape::Jagged, 2, &[3], 600);
    check_gradients(Shape::Single, 2, &[], 513);
}

#[test]
fn training_and_predicting_agree_bit_for_bit() {
    let mut problem = problem(Shape::Jagged, 16, &[32, 16], 700);
    let trained = train(&mut problem);
    let mut predictions = vec![0.5; 3];
    problem.learner.predict(&problem.batch, &problem.rows, &problem.dense, &mut predictions).unwrap();
    assert_eq!(predictions, trained.predictions);
}

#[test]
fn the_result_is_a_function_of_the_arguments_alone() {
    let mut first = problem(Shape::Jagged, 8, &[24, 12], 300);
    let fresh = train(&mut first);
    // The same learner after larger, smaller and poisoned batches, into a used output.
    let mut out = Gradients::default();
    for (samples, poison) in [(900, false), (10, true), (0, false)] {
        let mut other = problem(Shape::Jagged, 8, &[24, 12], samples);
        if poison {
            other.dense.fill(f32::NAN);
            other.rows.iter_mut().for_each(|rows| rows.values.fill(f32::NAN));
        }
        first.learner.train(&other.batch, &other.rows, &other.dense, &mut out).unwrap();
        assert_eq!(out.loss_sum.is_nan(), poison, "bad values must be seen, not hidden");
    }
    first.learner.train(&first.batch, &first.rows, &first.dense, &mut out).unwrap();
    assert_eq!(out, fresh);
}

#[test]
fn an_empty_batch_has_zero_gradients() {
    let mut problem = problem(Shape::Jagged, 4, &[5], 0);
    let got = train(&mut problem);
    assert_eq!((got.samples, got.loss_sum, got.predictions.len()), (0, 0.0, 0));
    assert!(got.dense.iter().chain(got.rows.iter().flatten()).all(|&value| value == 0.0));
    assert_eq!(got.dense.len(), problem.learner.spec().dense_len());
}

/// One way to break a problem's arguments, and a word of the error it must give.
type Break = (fn(&mut IndexedBatch, &mut Vec<Rows>, &mut Vec<f32>), &'static str);

const BREAKS: [Break; 16] = [
    (|batch, _, _| batch.labels.push(0.0), "dense values"),
    (|batch, _, _| batch.dense_width = 5, "dense features per sample"),
    (|batch, _, _| batch.dense.truncate(3), "dense values"),
    (|_, _, dense| dense.push(0.0), "dense parameters"),
    (|batch, _, _| batch.tables.truncate(2), "tables of the batch"),
    (|batch, _, _| batch.tables[1].table = TableId(2), "\"table 1\": position"),
    (|_, rows, _| rows.truncate(1), "pulled tables"),
    (|_, rows, _| rows[2].dim = 4, "\"table 2\": floats per row"),
    (|_, rows, _| rows[2].values.truncate(4), "\"table 2\": floats of all rows"),
    (|batch, _, _| batch.features.truncate(4), "features of the batch"),
    (|batch, _, _| batch.features[0].positions.push(0), "\"a\": positions"),
    (|batch, _, _| batch.features[0].positions[3] = 7, "\"a\": largest position"),
    (|batch, _, _| batch.features[3].offsets = Some(vec![]), "\"d\": offsets"),
    (|batch, _, _| batch.features[3].offsets.as_mut().unwrap()[0] = 1, "\"d\": first offset"),
    (|batch, _, _| batch.features[3].offsets.as_mut().unwrap()[4] = u32::MAX, "\"d\": offset 5"),
    (|batch, _, _| batch.features[3].positions.truncate(1), "\"d\": last offset"),
];

#[test]
fn shapes_that_do_not_fit_are_errors() {
    for (i, (break_it, word)) in BREAKS.into_iter().enumerate() {
        let mut problem = problem(Shape::Jagged, 4, &[5], 8);
        break_it(&mut problem.batch, &mut problem.rows, &mut problem.dense);
        let mut out = Gradients::default();
        let error: ShapeError =
            problem.learner.train(&problem.batch, &problem.rows, &problem.dense, &mut out).unwrap_err();
        assert!(error.to_string().contains(word), "break {i}: {word} not in: {error}");
        let predicted = problem.learner.predict(&problem.batch, &problem.rows, &problem.dense, &mut vec![]);
        assert_eq!(predicted, Err(error));
        assert_eq!(out, Gradients::default(), "a refused batch writes nothing");
    }
}

#[test]
fn a_table_without_keys_is_fine_when_nothing_points_at_it() {
    let mut problem = problem(Shape::Jagged, 4, &[5], 8);
    // Table 3 belongs to no feature; table 0 to two, one of them emptied.
    problem.batch.tables[3] = TableKeys { table: TableId(3), keys: [].into() };
    problem.rows[3].values.clear();
    problem.batch.features[3] = IndexedFeature { positions: vec![], offsets: Some(vec![0; 9]) };
    problem.batch.tables[0].keys = (0..7).map(Key).collect();
    let got = train(&mut problem);
    assert!(got.rows[3].is_empty());
    assert!(got.loss_sum.is_finite());
}
