//! One server's range of the dense parameters with its optimizer slots.

use std::ops::Range;
use std::sync::Arc;

use gearshift_types::{ModelSpec, Step};

use crate::formulas::{Mean, RowRule};
use crate::optimizer::{Optimizer, RowVisitor};
use crate::options::OptimizerOptions;
use crate::simd::{self, Kernel};
use crate::start::fill_dense;

/// A contiguous range of the flat dense parameters.
#[derive(Debug)]
pub(crate) struct DenseRange {
    start: usize,
    values: Vec<f32>,
    /// Slot after slot, each as long as `values`.
    slots: Vec<f32>,
    optimizer: Optimizer,
    /// The values as handed out for a version.
    handed_out: Option<(Step, Arc<[f32]>)>,
}

impl DenseRange {
    /// The start values of `range`: functions of seed, tensor name and position in the tensor.
    pub(crate) fn new(spec: &ModelSpec, range: Range<usize>, options: &OptimizerOptions, seed: u64) -> Self {
        let mut values = vec![0.0; range.len()];
        let mut tensor_start = 0;
        for tensor in &spec.dense {
            let tensor_end = tensor_start + tensor.len();
            let (from, to) = (range.start.max(tensor_start), range.end.min(tensor_end));
            if from < to {
                let part = &mut values[from - range.start..to - range.start];
                fill_dense(seed, tensor, from - tensor_start, part);
            }
            tensor_start = tensor_end;
        }
        let optimizer = Optimizer::new(options);
        let mut slots = vec![0.0; options.kind.slot_floats(values.len())];
        optimizer.start_slots(&values, &mut slots);
        Self { start: range.start, values, slots, optimizer, handed_out: None }
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.values.len()
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    pub(crate) fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// The floats of slot `slot`, as long as the range.
    pub(crate) fn slot(&self, slot: usize) -> &[f32] {
        &self.slots[slot * self.values.len()..][..self.values.len()]
    }

    /// Floats of the values (`None`) or of a slot, to fill from a checkpoint.
    pub(crate) fn part_mut(&mut self, slot: Option<usize>) -> &mut [f32] {
        let len = self.values.len();
        match slot {
            None => &mut self.values,
            Some(slot) => &mut self.slots[slot * len..][..len],
        }
    }

    /// The values, copied at most once per version.
    pub(crate) fn shared(&mut self, version: Step) -> Arc<[f32]> {
        match &self.handed_out {
            Some((copied, values)) if *copied == version => Arc::clone(values),
            _ => {
                let values: Arc<[f32]> = self.values.as_slice().into();
                self.handed_out = Some((version, Arc::clone(&values)));
                values
            }
        }
    }

    /// Runs the optimizer; the mean gradient is `sums * coefficient * factor`.
    pub(crate) fn update(&mut self, step: Step, sums: &[f32], coefficient: f32, factor: f32) {
        assert_eq!(sums.len(), self.values.len(), "dense gradients");
        let (clip, decay) = (self.optimizer.clip(), self.optimizer.decay());
        let mean = Mean { coefficient, factor, clip, decay };
        let visitor = DenseVisitor { values: &mut self.values, slots: &mut self.slots, sums, mean };
        self.optimizer.visit(step, visitor);
    }

    /// Bytes allocated, the copy handed out included.
    pub(crate) fn bytes(&self) -> usize {
        let copy = self.handed_out.as_ref().map_or(0, |(_, values)| values.len());
        (self.values.capacity() + self.slots.capacity() + copy) * 4
    }
}

struct DenseVisitor<'a> {
    values: &'a mut [f32],
    slots: &'a mut [f32],
    sums: &'a [f32],
    mean: Mean,
}

impl RowVisitor for DenseVisitor<'_> {
    type Output = ();

    fn visit<R: RowRule>(self, rule: R) {
        simd::run(DenseKernel { of: self, rule });
    }
}

struct DenseKernel<'a, R> {
    of: DenseVisitor<'a>,
    rule: R,
}

impl<R: RowRule> Kernel for DenseKernel<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.rule.update(self.of.mean, self.of.values, self.of.slots, self.of.sums);
    }
}
