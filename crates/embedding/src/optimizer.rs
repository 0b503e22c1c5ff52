//! What an optimizer keeps per value (slots), where it starts, and which formula it runs at a step.

use gearshift_types::Step;

use crate::formulas::{Adagrad, Adam, Ftrl, PerValue, RowRule, RowWise, Sgd};
use crate::options::{OptimizerKind, OptimizerOptions};

/// One slot of an optimizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotSpec {
    /// Name, as in checkpoints.
    pub name: &'static str,
    /// One float per value of the vector; else one per row.
    pub per_value: bool,
}

impl SlotSpec {
    /// Floats that the slot takes for a vector of `dim` floats.
    #[must_use]
    pub fn width(&self, dim: usize) -> usize {
        if self.per_value { dim } else { 1 }
    }
}

impl OptimizerKind {
    /// The slots, in the order in which they follow a row's vector.
    #[must_use]
    pub fn slots(self) -> &'static [SlotSpec] {
        const fn value(name: &'static str) -> SlotSpec {
            SlotSpec { name, per_value: true }
        }
        match self {
            Self::Sgd => &[],
            Self::Adagrad => &[const { value("accumulator") }],
            Self::RowWiseAdagrad => &[SlotSpec { name: "accumulator", per_value: false }],
            Self::Adam => &[const { value("moment1") }, const { value("moment2") }],
            Self::Ftrl => &[const { value("z") }, const { value("n") }],
        }
    }

    /// Floats of all slots for a vector of `dim` floats.
    #[must_use]
    pub fn slot_floats(self, dim: usize) -> usize {
        self.slots().iter().map(|slot| slot.width(dim)).sum()
    }
}

/// An optimizer of rows or dense parameters.
#[derive(Clone, Debug)]
pub(crate) struct Optimizer {
    options: OptimizerOptions,
}

impl Optimizer {
    pub(crate) fn new(options: &OptimizerOptions) -> Self {
        Self { options: options.clone() }
    }

    pub(crate) fn kind(&self) -> OptimizerKind {
        self.options.kind
    }

    /// Largest magnitude of a mean gradient's value.
    pub(crate) fn clip(&self) -> f32 {
        self.options.clip_value.unwrap_or(f32::INFINITY)
    }

    pub(crate) fn decay(&self) -> f32 {
        self.options.weight_decay
    }

    /// Writes the start of all slots (slot after slot) for a vector that starts as `vector`.
    pub(crate) fn start_slots(&self, vector: &[f32], slots: &mut [f32]) {
        match self.options.kind {
            OptimizerKind::Sgd => {}
            OptimizerKind::Adagrad | OptimizerKind::RowWiseAdagrad => {
                slots.fill(self.options.initial_accumulator);
            }
            OptimizerKind::Adam => slots.fill(0.0),
            OptimizerKind::Ftrl => {
                let formula = self.ftrl();
                let (z, n) = slots.split_at_mut(vector.len());
                for (z, &w) in z.iter_mut().zip(vector) {
                    *z = formula.start_z(w);
                }
                n.fill(0.0);
            }
        }
    }

    /// Calls `visitor` with the formula that makes version `step` into version `step + 1`.
    pub(crate) fn visit<V: RowVisitor>(&self, step: Step, visitor: V) -> V::Output {
        let options = &self.options;
        let rate = options.rate;
        match options.kind {
            OptimizerKind::Sgd => visitor.visit(PerValue(Sgd { rate })),
            OptimizerKind::Adagrad => visitor.visit(PerValue(Adagrad { rate, epsilon: options.epsilon })),
            OptimizerKind::RowWiseAdagrad => {
                visitor.visit(RowWise(Adagrad { rate, epsilon: options.epsilon }))
            }
            OptimizerKind::Adam => visitor.visit(PerValue(self.adam(step))),
            OptimizerKind::Ftrl => visitor.visit(PerValue(self.ftrl())),
        }
    }

    fn ftrl(&self) -> Ftrl {
        let options = &self.options;
        Ftrl { rate: options.rate, beta: options.ftrl_beta, l1: options.l1, l2: options.l2 }
    }

    fn adam(&self, step: Step) -> Adam {
        let (beta1, beta2) = (decimal(self.options.beta1), decimal(self.options.beta2));
        let t = step.0 + 1;
        Adam {
            rate: (decimal(self.options.rate) / (1.0 - power(beta1, t))) as f32,
            root: (1.0 - power(beta2, t)).sqrt() as f32,
            gain1: (1.0 - beta1) as f32,
            beta2: beta2 as f32,
            gain2: (1.0 - beta2) as f32,
            epsilon: self.options.epsilon,
        }
    }
}

/// Takes a formula whose type is known at compile time.
pub(crate) trait RowVisitor {
    /// What it gives back.
    type Output;
    /// Uses the formula.
    fn visit<R: RowRule>(self, rule: R) -> Self::Output;
}

/// The f64 that the job file's decimal means: 0.999 as f32 is off by 1.3e-8, which is 1.3e-5 of 1 - 0.999.
fn decimal(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

/// `base^exponent` by squaring: unlike `powi`, the same bits on every platform.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_and_decimal() {
        assert_eq!(power(2.0, 10), 1024.0);
        assert_eq!(power(0.9, 0), 1.0);
        assert!((power(0.999, 1_000_000) - 0.0).abs() < 1e-300);
        assert_eq!(decimal(0.999), 0.999_f64);
    }
}
