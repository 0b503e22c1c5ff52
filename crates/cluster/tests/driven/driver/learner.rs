//! The real DeepFM, and one whose gradients are not finite now and then.

use gearshift_model::{Learner, ModelOptions, ShapeError};
use gearshift_types::{Gradients, IndexedBatch, ModelSpec, Rows};

use super::data::{DENSE_WIDTH, TABLES, features};
use super::numbers::Numbers;

/// Dense parameters of four chunks, so that several servers hold some and the fifth none.
pub(crate) fn deepfm() -> Box<dyn Learner> {
    let options =
        ModelOptions { embedding_dim: 4, hidden: vec![64, 32], embedding_std: 0.1, ..Default::default() };
    gearshift_model::build(&options, &features(), &TABLES.map(str::to_owned), DENSE_WIDTH).unwrap()
}

/// Makes one value of a gradient NaN, once in so many batches.
pub(crate) struct Poisoned {
    pub(crate) inner: Box<dyn Learner>,
    pub(crate) numbers: Numbers,
    pub(crate) one_in: usize,
}

impl Learner for Poisoned {
    fn spec(&self) -> &ModelSpec {
        self.inner.spec()
    }

    fn train(
        &mut self,
        batch: &IndexedBatch,
        rows: &[Rows],
        dense: &[f32],
        out: &mut Gradients,
    ) -> Result<(), ShapeError> {
        self.inner.train(batch, rows, dense, out)?;
        if self.numbers.one_in(self.one_in) {
            let into = if self.numbers.one_in(2) { &mut out.dense } else { &mut out.rows[0] };
            let at = self.numbers.below(into.len());
            into[at] = f32::NAN;
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
        self.inner.predict(batch, rows, dense, predictions)
    }
}
