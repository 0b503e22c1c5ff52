//! DeepFM (arXiv 1703.04247): a factorization machine and a multilayer perceptron over the same embeddings.
//!
//! `logit = deep(x) + first-order weights + linear.dense . dense + FM(field vectors)` with `x` the field vectors
//! one after the other, then the dense features (paper: eq. 1 to 4; dense features as in its Criteo set-up). The
//! bias is the one of the last deep layer. The loss is the log loss summed over samples.

mod check;
mod spec;

use std::ops::Range;

use gearshift_types::{FeatureSpec, Gradients, IndexedBatch, ModelSpec, Rows};

use crate::layers::{
    FactorizationMachine, FieldLookup, Mlp, MlpScratch, Total, add_scaled_rows, dot_rows, log_loss, sigmoid,
};
use crate::{Learner, ModelOptions, ShapeError};

/// Samples worked through at a time, so that activations stay in the second-level cache. Measured at the
/// benchmark's shape (`cargo bench -p gearshift-model`): the weight gradient runs at 153 GFLOP/s in blocks of
/// 256, at 143 in blocks of 1024 and more.
pub const BLOCK: usize = 256;

/// The model: sizes, and scratch space that grows to the largest block seen.
pub struct DeepFm {
    spec: ModelSpec,
    fields: Vec<FieldLookup>,
    fm: FactorizationMachine,
    mlp: Mlp,
    scratch: Scratch,
}

/// What a block leaves between forward and backward.
#[derive(Default)]
struct Scratch {
    /// `[samples, fields * dim + dense_width]`: input of the perceptron.
    x: Vec<f32>,
    /// `[samples, dim]`: sums of field vectors.
    sums: Vec<f32>,
    logits: Vec<f32>,
    d_logits: Vec<f32>,
    /// `[samples, fields * dim]`: gradient at the field vectors.
    dx: Vec<f32>,
    mlp: MlpScratch,
}

impl DeepFm {
    /// The model over checked options; see [`crate::build`].
    pub(crate) fn new(
        options: &ModelOptions,
        features: &[FeatureSpec],
        tables: &[String],
        dense_width: usize,
    ) -> Self {
        let dim = options.embedding_dim;
        let fields = features
            .iter()
            .enumerate()
            .map(|(i, feature)| FieldLookup { dim, column: i * dim, pooling: feature.pooling })
            .collect();
        let mlp = Mlp::new(features.len() * dim + dense_width, &options.hidden);
        Self {
            spec: spec::model_spec(options, features, tables, dense_width, &mlp),
            fields,
            fm: FactorizationMachine { fields: features.len(), dim },
            mlp,
            scratch: Scratch::default(),
        }
    }

    /// Width of all field vectors of a sample.
    fn field_width(&self) -> usize {
        self.fm.fields * self.fm.dim
    }

    /// Width of a row of the perceptron's input.
    fn width(&self) -> usize {
        self.field_width() + self.spec.dense_width
    }

    /// Fills `scratch.logits` for the samples of `block`.
    fn forward(&mut self, batch: &IndexedBatch, rows: &[Rows], dense: &[f32], block: Range<usize>) {
        let (width, field_width) = (self.width(), self.field_width());
        let samples = block.len();
        let Scratch { x, sums, logits, d_logits: first_order, mlp, .. } = &mut self.scratch;
        x.resize(samples * width, 0.0);
        sums.resize(samples * self.fm.dim, 0.0);
        logits.resize(samples, 0.0);

        let inputs = dense_of(batch, &block);
        if !inputs.is_empty() {
            for (x, inputs) in x.chunks_exact_mut(width).zip(inputs.chunks_exact(batch.dense_width)) {
                x[field_width..].copy_from_slice(inputs);
            }
        }
        // The gather writes the field vectors and starts the logits with the first-order weights; they wait in
        // `d_logits` while the perceptron overwrites `logits`.
        first_order.clear();
        first_order.resize(samples, 0.0);
        for ((field, feature), of) in self.fields.iter().zip(&batch.features).zip(&self.spec.features) {
            let rows = &rows[usize::from(of.table.0)].values;
            field.forward(feature, block.clone(), rows, x, width, first_order);
        }
        let (deep, linear) = dense.split_at(self.mlp.parameters());
        self.mlp.forward(x, deep, mlp, logits);
        for (logit, first_order) in logits.iter_mut().zip(first_order) {
            *logit += *first_order;
        }
        dot_rows(inputs, linear, logits);
        self.fm.forward(x, width, sums, logits);
    }

    /// Adds the gradients of the samples of `block` to `out`, from `scratch.d_logits`.
    fn backward(&mut self, batch: &IndexedBatch, dense: &[f32], block: Range<usize>, out: &mut Gradients) {
        let (width, field_width) = (self.width(), self.field_width());
        let Scratch { x, sums, d_logits, dx, mlp, .. } = &mut self.scratch;
        dx.resize(block.len() * field_width, 0.0);
        let (deep, _) = dense.split_at(self.mlp.parameters());
        let (d_deep, d_linear) = out.dense.split_at_mut(self.mlp.parameters());
        let total = Total { values: d_deep, accumulate: block.start > 0 };
        self.mlp.backward(x, deep, mlp, d_logits, total, dx);
        self.fm.backward(x, width, sums, d_logits, dx);
        add_scaled_rows(dense_of(batch, &block), d_logits, d_linear);
        for ((field, feature), of) in self.fields.iter().zip(&batch.features).zip(&self.spec.features) {
            let d_rows = &mut out.rows[usize::from(of.table.0)];
            field.backward(feature, block.clone(), dx, field_width, d_logits, d_rows);
        }
    }

    /// Sizes the buffers of `out` and zeroes those that blocks add to.
    fn start(&self, batch: &IndexedBatch, rows: &[Rows], out: &mut Gradients) {
        out.samples = batch.samples() as u32;
        out.loss_sum = 0.0;
        out.predictions.resize(batch.samples(), 0.0);
        out.dense.resize(self.spec.dense_len(), 0.0);
        // The first block overwrites the perceptron's part.
        let added_to = if batch.samples() == 0 { 0 } else { self.mlp.parameters() };
        out.dense[added_to..].fill(0.0);
        out.rows.resize_with(rows.len(), Vec::new);
        for (d_rows, rows) in out.rows.iter_mut().zip(rows) {
            d_rows.clear();
            d_rows.resize(rows.values.len(), 0.0);
        }
    }
}

impl Learner for DeepFm {
    fn spec(&self) -> &ModelSpec {
        &self.spec
    }

    fn train(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        out: &mut Gradients,
    ) -> Result<(), ShapeError> {
        check::shapes(&self.spec, batch, rows, dense)?;
        self.start(batch, rows, out);
        for block in blocks(batch.samples()) {
            self.forward(batch, rows, dense, block.clone());
            let Scratch { logits, d_logits, .. } = &mut self.scratch;
            let (labels, predictions) = (&batch.labels[block.clone()], &mut out.predictions[block.clone()]);
            out.loss_sum += log_loss(logits, labels, predictions, d_logits);
            self.backward(batch, dense, block, out);
        }
        Ok(())
    }

    fn predict(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        predictions: &mut Vec<f32>,
    ) -> Result<(), ShapeError> {
        check::shapes(&self.spec, batch, rows, dense)?;
        predictions.resize(batch.samples(), 0.0);
        for block in blocks(batch.samples()) {
            self.forward(batch, rows, dense, block.clone());
            for (prediction, &logit) in predictions[block].iter_mut().zip(&self.scratch.logits) {
                *prediction = sigmoid(f64::from(logit)) as f32;
            }
        }
        Ok(())
    }
}

/// The dense features of the samples of `block`.
fn dense_of<'a>(batch: &'a IndexedBatch, block: &Range<usize>) -> &'a [f32] {
    &batch.dense[block.start * batch.dense_width..block.end * batch.dense_width]
}

/// Cuts `samples` into blocks of [`BLOCK`].
fn blocks(samples: usize) -> impl Iterator<Item = Range<usize>> {
    (0..samples).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(samples))
}
