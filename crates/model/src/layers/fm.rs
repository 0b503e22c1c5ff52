//! The second-order term of a factorization machine (Rendle 2010, eq. 1, by the linear-time form of lemma 3.1;
//! in DeepFM arXiv 1703.04247 eq. 2): the sum of the dot products of all pairs of a sample's field vectors.

use crate::layers::vector::sum_lanes;
use crate::simd::dispatch;

/// `0.5 * sum over d of ((sum over f of v[f, d])^2 - sum over f of v[f, d]^2)` per sample, with the field vectors
/// `v` `[fields, dim]` at the front of each row of `x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorizationMachine {
    /// Field vectors per sample.
    pub fields: usize,
    /// Length of one.
    pub dim: usize,
}

impl FactorizationMachine {
    /// Adds the term to `logits`. `x` is `[samples, stride]` with `stride >= fields * dim`; `sums`
    /// (`[samples, dim]`, overwritten) takes the sums over fields for the backward pass.
    pub fn forward(&self, x: &[f32], stride: usize, sums: &mut [f32], logits: &mut [f32]) {
        if self.fields == 0 {
            sums.fill(0.0);
            return;
        }
        match self.dim {
            8 => forward_8(self.fields, x, stride, sums, logits),
            16 => forward_16(self.fields, x, stride, sums, logits),
            32 => forward_32(self.fields, x, stride, sums, logits),
            dim => forward_any(self.fields, dim, x, stride, sums, logits),
        }
    }

    /// Adds `d_logits[s] * (sums[s] - v[s, f])` to `dx` (`[samples, fields * dim]`), the gradient at the field
    /// vectors.
    pub fn backward(&self, x: &[f32], stride: usize, sums: &[f32], d_logits: &[f32], dx: &mut [f32]) {
        if self.fields == 0 {
            return;
        }
        match self.dim {
            8 => backward_8(self.dim, x, stride, sums, d_logits, dx),
            16 => backward_16(self.dim, x, stride, sums, d_logits, dx),
            32 => backward_32(self.dim, x, stride, sums, d_logits, dx),
            dim => backward_any(dim, x, stride, sums, d_logits, dx),
        }
    }
}

macro_rules! fixed_dim {
    ($forward:ident, $backward:ident, $dim:literal) => {
        dispatch! {
            fn $forward(fields: usize, x: &[f32], stride: usize, sums: &mut [f32], logits: &mut [f32])
                = forward_fixed::<$dim>;
        }
        dispatch! {
            fn $backward(dim: usize, x: &[f32], stride: usize, sums: &[f32], d_logits: &[f32], dx: &mut [f32])
                = backward_fixed::<$dim>;
        }
    };
}

fixed_dim!(forward_8, backward_8, 8);
fixed_dim!(forward_16, backward_16, 16);
fixed_dim!(forward_32, backward_32, 32);

dispatch! {
    fn forward_any(fields: usize, dim: usize, x: &[f32], stride: usize, sums: &mut [f32], logits: &mut [f32])
        = forward_any_body;
}

dispatch! {
    fn backward_any(dim: usize, x: &[f32], stride: usize, sums: &[f32], d_logits: &[f32], dx: &mut [f32])
        = backward_any_body;
}

#[inline(always)]
fn forward_fixed<const DIM: usize>(
    fields: usize,
    x: &[f32],
    stride: usize,
    sums: &mut [f32],
    logits: &mut [f32],
) {
    let (sums, _) = sums.as_chunks_mut::<DIM>();
    for ((row, sums), logit) in x.chunks_exact(stride).zip(sums).zip(logits) {
        let (vectors, _) = row[..fields * DIM].as_chunks::<DIM>();
        let (mut sum, mut squares) = ([0.0_f32; DIM], [0.0_f32; DIM]);
        for vector in vectors {
            for d in 0..DIM {
                sum[d] += vector[d];
                squares[d] += vector[d] * vector[d];
            }
        }
        *sums = sum;
        let mut difference = [0.0_f32; DIM];
        for d in 0..DIM {
            difference[d] = sum[d] * sum[d] - squares[d];
        }
        *logit += 0.5 * sum_lanes(difference);
    }
}

/// `dim` equals `DIM`, but as a step that the compiler does not know: else it vectorizes across the vectors, with
/// transpositions, instead of along them (measured: the whole term took half as long again).
#[inline(always)]
fn backward_fixed<const DIM: usize>(
    dim: usize,
    x: &[f32],
    stride: usize,
    sums: &[f32],
    d_logits: &[f32],
    dx: &mut [f32],
) {
    let width = dx.len().checked_div(d_logits.len()).unwrap_or(1);
    let (sums, _) = sums.as_chunks::<DIM>();
    for (((row, dx), sum), &d_logit) in
        x.chunks_exact(stride).zip(dx.chunks_exact_mut(width)).zip(sums).zip(d_logits)
    {
        let mut at = 0;
        while at < width {
            let (Some(vector), Some(gradient)) =
                (row[at..].first_chunk::<DIM>(), dx[at..].first_chunk_mut::<DIM>())
            else {
                break;
            };
            for d in 0..DIM {
                gradient[d] += d_logit * (sum[d] - vector[d]);
            }
            at += dim;
        }
    }
}

/// As [`forward_fixed`] for any dim; a second walk over the row finds the squares, as no buffer is at hand.
#[inline(always)]
fn forward_any_body(
    fields: usize,
    dim: usize,
    x: &[f32],
    stride: usize,
    sums: &mut [f32],
    logits: &mut [f32],
) {
    for ((row, sum), logit) in x.chunks_exact(stride).zip(sums.chunks_exact_mut(dim)).zip(logits) {
        let row = &row[..fields * dim];
        sum.fill(0.0);
        for vector in row.chunks_exact(dim) {
            for (sum, &value) in sum.iter_mut().zip(vector) {
                *sum += value;
            }
        }
        let squares: f32 = row.iter().map(|value| value * value).sum();
        *logit += 0.5 * (sum.iter().map(|sum| sum * sum).sum::<f32>() - squares);
    }
}

#[inline(always)]
fn backward_any_body(dim: usize, x: &[f32], stride: usize, sums: &[f32], d_logits: &[f32], dx: &mut [f32]) {
    let width = dx.len().checked_div(d_logits.len()).unwrap_or(1);
    for (((row, dx), sum), &d_logit) in
        x.chunks_exact(stride).zip(dx.chunks_exact_mut(width)).zip(sums.chunks_exact(dim)).zip(d_logits)
    {
        for (vector, gradient) in row.chunks_exact(dim).zip(dx.chunks_exact_mut(dim)) {
            for ((gradient, &value), &sum) in gradient.iter_mut().zip(vector).zip(sum) {
                *gradient += d_logit * (sum - value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs, one after the other.
    fn pairs(fm: &FactorizationMachine, row: &[f64]) -> f64 {
        let vector = |f: usize| &row[f * fm.dim..(f + 1) * fm.dim];
        let mut sum = 0.0;
        for f in 0..fm.fields {
            for g in 0..f {
                sum += vector(f).iter().zip(vector(g)).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        sum
    }

    #[test]
    fn forward_is_the_sum_over_pairs_and_backward_its_finite_difference() {
        for (fields, dim) in [(1, 8), (4, 8), (5, 16), (3, 32), (6, 5), (2, 1), (0, 16)] {
            let fm = FactorizationMachine { fields, dim };
            let (samples, width) = (3, fields * dim);
            let stride = width + 2;
            let x: Vec<f32> = (0..samples * stride).map(|i| (i * 29 % 83) as f32 / 40.0 - 1.0).collect();
            let (mut sums, mut logits) = (vec![7.0; samples * dim], vec![0.25; samples]);
            fm.forward(&x, stride, &mut sums, &mut logits);
            let d_logits = [0.5_f32, -1.0, 2.0];
            let mut dx = vec![0.125; samples * width];
            fm.backward(&x, stride, &sums, &d_logits, &mut dx);
            for s in 0..samples {
                let row: Vec<f64> = x[s * stride..][..width].iter().map(|&v| f64::from(v)).collect();
                assert!((f64::from(logits[s]) - 0.25 - pairs(&fm, &row)).abs() < 1e-4, "{fields} x {dim}");
                for i in 0..width {
                    let at = |delta: f64| {
                        let mut row = row.clone();
                        row[i] += delta;
                        pairs(&fm, &row)
                    };
                    let want = f64::from(d_logits[s]) * (at(1e-4) - at(-1e-4)) / 2e-4;
                    let got = f64::from(dx[s * width + i]) - 0.125;
                    assert!((got - want).abs() < 1e-4, "{fields} x {dim}: {got} for {want}");
                }
            }
        }
    }
}
