//! The arithmetic of the optimizers, value by value, with one operation order on every CPU.

use std::array::from_fn;

/// Values handled at a time: one 256-bit vector.
const LANES: usize = 8;

/// Turns a summed gradient into the mean gradient that a formula sees:
/// `clip(sum * coefficient * factor) + decay * w`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mean {
    /// Weight of the only member, or 1 when members have been summed with their weights.
    pub(crate) coefficient: f32,
    /// `scale / divisor`.
    pub(crate) factor: f32,
    /// Clips to `-clip..=clip`; infinite for none.
    pub(crate) clip: f32,
    /// Weight decay.
    pub(crate) decay: f32,
}

impl Mean {
    #[inline(always)]
    fn gradient(self, sum: f32, w: f32) -> f32 {
        let mean = sum * self.coefficient * self.factor;
        let low = if mean < -self.clip { -self.clip } else { mean };
        let clipped = if low > self.clip { self.clip } else { low };
        clipped + self.decay * w
    }
}

/// One value's update with `SLOTS` slots.
pub(crate) trait Formula<const SLOTS: usize>: Copy {
    /// New value and slots from gradient, value and slots.
    fn update(self, g: f32, w: f32, slots: [f32; SLOTS]) -> (f32, [f32; SLOTS]);
}

/// One vector's update.
pub(crate) trait RowRule: Copy {
    /// `slots` lie slot after slot; `sums` is the vector's summed gradient.
    fn update(self, mean: Mean, w: &mut [f32], slots: &mut [f32], sums: &[f32]);
}

/// Plain gradient descent: `w -= rate * g`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sgd {
    pub(crate) rate: f32,
}

impl Formula<0> for Sgd {
    #[inline(always)]
    fn update(self, g: f32, w: f32, slots: [f32; 0]) -> (f32, [f32; 0]) {
        (w - self.rate * g, slots)
    }
}

/// Adagrad (Duchi, Hazan, Singer 2011, JMLR 12, diagonal case): `a += g^2; w -= rate * g / (sqrt(a) + epsilon)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adagrad {
    pub(crate) rate: f32,
    pub(crate) epsilon: f32,
}

impl Formula<1> for Adagrad {
    #[inline(always)]
    fn update(self, g: f32, w: f32, [accumulator]: [f32; 1]) -> (f32, [f32; 1]) {
        let accumulator = accumulator + g * g;
        (w - self.rate * g / (accumulator.sqrt() + self.epsilon), [accumulator])
    }
}

/// Adam (Kingma, Ba 2015, arXiv 1412.6980, algorithm 1) in the form of `torch.optim.Adam`:
/// `m += (1 - beta1)(g - m); v = beta2 v + (1 - beta2) g^2;
/// w -= rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adam {
    /// Rate over `1 - beta1^t`.
    pub(crate) rate: f32,
    /// `sqrt(1 - beta2^t)`.
    pub(crate) root: f32,
    /// `1 - beta1`.
    pub(crate) gain1: f32,
    pub(crate) beta2: f32,
    /// `1 - beta2`.
    pub(crate) gain2: f32,
    pub(crate) epsilon: f32,
}

impl Formula<2> for Adam {
    #[inline(always)]
    fn update(self, g: f32, w: f32, [m, v]: [f32; 2]) -> (f32, [f32; 2]) {
        let m = m + self.gain1 * (g - m);
        let v = self.beta2 * v + self.gain2 * g * g;
        (w - self.rate * m / (v.sqrt() / self.root + self.epsilon), [m, v])
    }
}

/// FTRL-proximal (McMahan and others, "Ad click prediction: a view from the trenches", KDD 2013, algorithm 1):
/// `sigma = (sqrt(n + g^2) - sqrt(n)) / rate; z += g - sigma w; n += g^2`, then `w` is 0 where `|z| <= l1`, else
/// `-(z - sign(z) l1) / ((beta + sqrt(n)) / rate + l2)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ftrl {
    pub(crate) rate: f32,
    pub(crate) beta: f32,
    pub(crate) l1: f32,
    pub(crate) l2: f32,
}

impl Ftrl {
    /// The `z` for which the closed form gives the start value `w` at `n = 0`. With `z = 0` the first update
    /// would forget a random start, and vectors that start equal stay equal. Zero for `w = 0`, as in the paper.
    pub(crate) fn start_z(self, w: f32) -> f32 {
        if w == 0.0 { 0.0 } else { -w * (self.beta / self.rate + self.l2) - self.l1.copysign(w) }
    }
}

impl Formula<2> for Ftrl {
    #[inline(always)]
    fn update(self, g: f32, w: f32, [z, n]: [f32; 2]) -> (f32, [f32; 2]) {
        let next = n + g * g;
        let root = next.sqrt();
        let z = z + g - (root - n.sqrt()) / self.rate * w;
        let shrunk = z - if z < 0.0 { -self.l1 } else { self.l1 };
        let w = -shrunk / ((self.beta + root) / self.rate + self.l2);
        (if z.abs() <= self.l1 { 0.0 } else { w }, [z, next])
    }
}

/// A formula run on each value of a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerValue<F, const SLOTS: usize>(pub(crate) F);

impl<F: Formula<SLOTS>, const SLOTS: usize> RowRule for PerValue<F, SLOTS> {
    #[inline(always)]
    fn update(self, mean: Mean, w: &mut [f32], slots: &mut [f32], sums: &[f32]) {
        let dim = w.len();
        let mut rest = slots;
        let slots: [&mut [f32]; SLOTS] = from_fn(|_| {
            let (slot, after) = std::mem::take(&mut rest).split_at_mut(dim);
            rest = after;
            slot
        });
        let (w_blocks, w_rest) = w.as_chunks_mut::<LANES>();
        let (sum_blocks, sum_rest) = sums.as_chunks::<LANES>();
        let mut slots = slots.map(|slot| slot.as_chunks_mut::<LANES>());
        for (i, (w, sums)) in w_blocks.iter_mut().zip(sum_blocks).enumerate() {
            lanes(self.0, mean, w, slots.each_mut().map(|slot| &mut slot.0[i]), sums);
        }
        for (i, (w, &sum)) in w_rest.iter_mut().zip(sum_rest).enumerate() {
            let old = from_fn(|slot| slots[slot].1[i]);
            let (value, new) = self.0.update(mean.gradient(sum, *w), *w, old);
            *w = value;
            for (slot, new) in slots.iter_mut().zip(new) {
                slot.1[i] = new;
            }
        }
    }
}

/// [`LANES`] values at once.
#[inline(always)]
fn lanes<F: Formula<SLOTS>, const SLOTS: usize>(
    formula: F,
    mean: Mean,
    w: &mut [f32; LANES],
    slots: [&mut [f32; LANES]; SLOTS],
    sums: &[f32; LANES],
) {
    let old_w = *w;
    let old: [[f32; LANES]; SLOTS] = from_fn(|slot| *slots[slot]);
    let mut new_w = [0.0; LANES];
    let mut new = [[0.0; LANES]; SLOTS];
    for i in 0..LANES {
        let (value, values) =
            formula.update(mean.gradient(sums[i], old_w[i]), old_w[i], from_fn(|slot| old[slot][i]));
        new_w[i] = value;
        for slot in 0..SLOTS {
            new[slot][i] = values[slot];
        }
    }
    *w = new_w;
    for (slot, new) in slots.into_iter().zip(new) {
        *slot = new;
    }
}

/// Adagrad with one accumulator per row: `a += mean(g^2)` (Naumov and others, DLRM, arXiv 1906.00091, and
/// FBGEMM's `EXACT_ROWWISE_ADAGRAD`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWise(pub(crate) Adagrad);

impl RowRule for RowWise {
    #[inline(always)]
    fn update(self, mean: Mean, w: &mut [f32], slots: &mut [f32], sums: &[f32]) {
        let squares = sum_in_lanes(w.iter().zip(sums).map(|(&w, &sum)| {
            let g = mean.gradient(sum, w);
            g * g
        }));
        let accumulator = slots[0] + squares / w.len() as f32;
        slots[0] = accumulator;
        let step = self.0.rate / (accumulator.sqrt() + self.0.epsilon);
        for (w, &sum) in w.iter_mut().zip(sums) {
            *w -= step * mean.gradient(sum, *w);
        }
    }
}

/// Sums in eight interleaved lanes, then the lanes from first to last: a fixed order that vectorises.
#[inline(always)]
fn sum_in_lanes(values: impl Iterator<Item = f32>) -> f32 {
    let mut lanes = [0.0; LANES];
    for (i, value) in values.enumerate() {
        lanes[i % LANES] += value;
    }
    lanes.iter().fold(0.0, |sum, lane| sum + lane)
}

/// Squared L2 norm of the mean gradient of `sums`, in f64, in the order of the values.
#[inline(always)]
pub(crate) fn squared_norm(sums: &[f32], coefficient: f32, factor: f32) -> f64 {
    let mut total = 0.0;
    for &sum in sums {
        let g = f64::from(sum * coefficient * factor);
        total += g * g;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Kernel, Level, run_at};

    struct Steps<'a, R> {
        rule: R,
        w: &'a mut [f32],
        slots: &'a mut [f32],
        sums: &'a [f32],
    }

    impl<R: RowRule> Kernel for Steps<'_, R> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            let mean = Mean { coefficient: 0.7, factor: 1.0 / 384.0, clip: 0.002, decay: 0.01 };
            for _ in 0..5 {
                self.rule.update(mean, self.w, self.slots, self.sums);
            }
        }
    }

    /// Floats of many magnitudes.
    fn floats(seed: u32, len: usize) -> Vec<f32> {
        let float = |i: u32| {
            let bits = (i ^ seed).wrapping_mul(0x9E37_79B1).rotate_left(13).wrapping_mul(0x85EB_CA77);
            (bits as f32 / u32::MAX as f32 - 0.5) * 10_f32.powi((bits % 7) as i32 - 4)
        };
        (0..len as u32).map(float).collect()
    }

    fn same_on_every_level<R: RowRule>(rule: R, slots: usize) {
        for dim in [1, 7, 8, 9, 16, 17, 33, 1000] {
            let sums: Vec<f32> = floats(3, dim).iter().map(|x| x * 100.0).collect();
            let results = Level::available().into_iter().map(|level| {
                let mut w = floats(1, dim);
                let mut state: Vec<f32> = floats(2, slots * dim).iter().map(|x| x.abs()).collect();
                run_at(level, Steps { rule, w: &mut w, slots: &mut state, sums: &sums });
                let bits: Vec<u32> = w.iter().chain(&state).map(|x| x.to_bits()).collect();
                assert!(w.iter().all(|x| x.is_finite()));
                bits
            });
            let results: Vec<Vec<u32>> = results.collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "dim {dim}");
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let adagrad = Adagrad { rate: 0.05, epsilon: 1e-8 };
        same_on_every_level(PerValue(Sgd { rate: 0.05 }), 0);
        same_on_every_level(PerValue(adagrad), 1);
        same_on_every_level(RowWise(adagrad), 1);
        same_on_every_level(PerValue(Ftrl { rate: 0.05, beta: 1.0, l1: 0.001, l2: 0.1 }), 2);
        let adam = Adam { rate: 0.01, root: 0.03, gain1: 0.1, beta2: 0.999, gain2: 0.001, epsilon: 1e-8 };
        same_on_every_level(PerValue(adam), 2);
    }
}
