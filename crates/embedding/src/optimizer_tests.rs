//! Optimizers against PyTorch and against formulas written out again in f64.

use gearshift_types::Step;

use crate::formulas::{Mean, RowRule};
use crate::optimizer::{Optimizer, RowVisitor};
use crate::options::{OptimizerKind, OptimizerOptions};

/// A whole block of lanes and a rest.
const DIM: usize = 11;
const STEPS: u64 = 6;

// tests/golden/optimizers.py, torch 2.15.0
const ADAM: [f32; DIM] = [
    -0.625,
    -0.49640808,
    -0.4094911,
    -0.23722339,
    -0.11774319,
    -0.011747773,
    0.118106954,
    0.2278736,
    0.40066507,
    0.5282167,
    0.59440863,
];
const ADAM_DECAY: [f32; DIM] = [
    -0.5060869,
    -0.42565587,
    -0.3752111,
    -0.1942848,
    -0.09231048,
    -0.014478068,
    0.09419559,
    0.17380257,
    0.35658598,
    0.45442072,
    0.5288071,
];
const ADAGRAD: [f32; DIM] = [
    -0.625,
    -0.44489482,
    -0.46566442,
    -0.24707845,
    -0.11621498,
    -0.005144366,
    0.13048163,
    0.19203083,
    0.4122287,
    0.5833072,
    0.5719852,
];
const ADAGRAD_DECAY: [f32; DIM] = [
    -0.568866,
    -0.43648165,
    -0.3965983,
    -0.24211615,
    -0.08717454,
    0.008339998,
    0.105382144,
    0.20175041,
    0.35615715,
    0.5109198,
    0.55218774,
];
const SGD_DECAY: [f32; DIM] = [
    -0.6064828,
    -0.47731206,
    -0.38239914,
    -0.24736549,
    -0.112030245,
    0.0031936432,
    0.11831949,
    0.23334225,
    0.36837587,
    0.5037112,
    0.59892577,
];

fn gradient(step: u64) -> [f32; DIM] {
    std::array::from_fn(|i| {
        if i == 0 { 0.0 } else { ((step * 7 + i as u64 * 5) % 13) as f32 / 64.0 - 6.0 / 64.0 }
    })
}

fn start() -> [f32; DIM] {
    std::array::from_fn(|i| (i as f32 - 5.0) / 8.0)
}

struct Update<'a> {
    w: &'a mut [f32],
    slots: &'a mut [f32],
    sums: &'a [f32],
    mean: Mean,
}

impl RowVisitor for Update<'_> {
    type Output = ();

    fn visit<R: RowRule>(self, rule: R) {
        rule.update(self.mean, self.w, self.slots, self.sums);
    }
}

/// Values and slots after [`STEPS`] steps.
fn run(options: &OptimizerOptions) -> (Vec<f32>, Vec<f32>) {
    let optimizer = Optimizer::new(options);
    let mut w = start().to_vec();
    let mut slots = vec![0.0; options.kind.slot_floats(DIM)];
    optimizer.start_slots(&w, &mut slots);
    for step in 0..STEPS {
        // Sums of 4 samples of weight 1/2: exact in f32.
        let sums = gradient(step).map(|g| g * 8.0);
        let (clip, decay) = (optimizer.clip(), optimizer.decay());
        let mean = Mean { coefficient: 0.5, factor: 0.25, clip, decay };
        let update = Update { w: &mut w, slots: &mut slots, sums: &sums, mean };
        optimizer.visit(Step(step), update);
    }
    (w, slots)
}

#[track_caller]
fn near(got: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(got.len(), expected.len());
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        assert!((got - expected).abs() <= tolerance, "value {i}: {got}, expected {expected}");
    }
}

fn options(kind: OptimizerKind) -> OptimizerOptions {
    OptimizerOptions { kind, ..OptimizerOptions::default() }
}

#[test]
fn as_pytorch() {
    let adam = OptimizerOptions { rate: 0.01, ..options(OptimizerKind::Adam) };
    near(&run(&adam).0, &ADAM, 1e-7);
    let adam = OptimizerOptions {
        rate: 0.02,
        beta1: 0.8,
        beta2: 0.99,
        epsilon: 1e-6,
        weight_decay: 0.1,
        ..options(OptimizerKind::Adam)
    };
    near(&run(&adam).0, &ADAM_DECAY, 1e-7);
    near(&run(&options(OptimizerKind::Adagrad)).0, &ADAGRAD, 1e-7);
    let adagrad = OptimizerOptions {
        rate: 0.1,
        initial_accumulator: 0.1,
        epsilon: 1e-10,
        weight_decay: 0.05,
        ..options(OptimizerKind::Adagrad)
    };
    near(&run(&adagrad).0, &ADAGRAD_DECAY, 1e-7);
    let sgd = OptimizerOptions { rate: 0.1, weight_decay: 0.05, ..options(OptimizerKind::Sgd) };
    near(&run(&sgd).0, &SGD_DECAY, 1e-7);
}

#[test]
fn row_wise_adagrad_as_written_out() {
    let options = OptimizerOptions {
        initial_accumulator: 0.01,
        clip_value: Some(0.05),
        weight_decay: 0.125,
        ..options(OptimizerKind::RowWiseAdagrad)
    };
    let (mut w, mut accumulator) = (start().map(f64::from), 0.01);
    for step in 0..STEPS {
        let g: Vec<f64> = gradient(step)
            .iter()
            .zip(&w)
            .map(|(&g, w)| f64::from(g).clamp(-0.05, 0.05) + 0.125 * w)
            .collect();
        accumulator += g.iter().map(|g| g * g).sum::<f64>() / DIM as f64;
        w.iter_mut().zip(&g).for_each(|(w, g)| *w -= 0.05 * g / (accumulator.sqrt() + 1e-8));
    }
    let (got, slots) = run(&options);
    near(&got, &w.map(|w| w as f32), 1e-6);
    near(&slots, &[accumulator as f32], 1e-7);
}

#[test]
fn ftrl_as_written_out() {
    let (rate, beta, l1, l2) = (0.1, 0.5, 0.02, 0.3);
    let options =
        OptimizerOptions { rate: 0.1, ftrl_beta: 0.5, l1: 0.02, l2: 0.3, ..options(OptimizerKind::Ftrl) };
    let mut expected = Vec::new();
    for (i, w) in start().into_iter().enumerate() {
        let mut w = f64::from(w);
        // The start of z gives back the start of w at n = 0.
        let mut z = if w == 0.0 { 0.0 } else { -w * (beta / rate + l2) - l1 * w.signum() };
        let mut n: f64 = 0.0;
        for step in 0..STEPS {
            let g = f64::from(gradient(step)[i]);
            let sigma = ((n + g * g).sqrt() - n.sqrt()) / rate;
            z += g - sigma * w;
            n += g * g;
            w = if z.abs() <= l1 { 0.0 } else { -(z - l1 * z.signum()) / ((beta + n.sqrt()) / rate + l2) };
        }
        expected.push(w as f32);
    }
    let (got, _) = run(&options);
    near(&got, &expected, 1e-6);
    // No gradient, no move; and L1 makes exact zeros.
    near(&got[..1], &start()[..1], 1e-7);
    let strong = OptimizerOptions { l1: 10.0, ftrl_beta: 0.0, ..options };
    let zero = Optimizer::new(&strong);
    let (mut w, mut slots) = (vec![0.0], vec![0.0, 0.0]);
    let mean = Mean { coefficient: 1.0, factor: 1.0, clip: f32::INFINITY, decay: 0.0 };
    zero.visit(Step(0), Update { w: &mut w, slots: &mut slots, sums: &[0.5], mean });
    assert_eq!((w[0], slots), (0.0, vec![0.5, 0.25]));
}

#[test]
fn clipping_acts_on_the_mean() {
    let options = OptimizerOptions { rate: 1.0, clip_value: Some(0.25), ..options(OptimizerKind::Sgd) };
    let optimizer = Optimizer::new(&options);
    let mut w = vec![0.0; 9];
    let sums = [8.0, -8.0, 1.0, -1.0, 0.0, 4.0, 2.0, -2.0, 100.0];
    let mean = Mean { coefficient: 0.5, factor: 0.25, clip: optimizer.clip(), decay: 0.0 };
    optimizer.visit(Step(0), Update { w: &mut w, slots: &mut [], sums: &sums, mean });
    assert_eq!(w, [-0.25, 0.25, -0.125, 0.125, 0.0, -0.25, -0.25, 0.25, -0.25]);
}
