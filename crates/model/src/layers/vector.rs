//! Products of a matrix and one vector: the last layer (one output) and the linear term over dense features.

use crate::simd::dispatch;

/// Partial sums of a dot product; a fixed number, so the bits do not depend on the instruction set.
const LANES: usize = 32;

dispatch! {
    /// `out[s] += sum over c of x[s, c] * weight[c]`; `x` is `[out.len(), weight.len()]` row-major.
    pub fn dot_rows(x: &[f32], weight: &[f32], out: &mut [f32]) = dot_rows_body;
}

dispatch! {
    /// `sum[c] += sum over s of scale[s] * x[s, c]`; `x` is `[scale.len(), sum.len()]` row-major.
    pub fn add_scaled_rows(x: &[f32], scale: &[f32], sum: &mut [f32]) = add_scaled_rows_body;
}

dispatch! {
    /// `out[s, c] = scale[s] * weight[c]` for the first `columns` entries of `weight`; `out` is
    /// `[scale.len(), columns]` row-major.
    pub fn outer(scale: &[f32], weight: &[f32], columns: usize, out: &mut [f32]) = outer_body;
}

#[inline(always)]
fn dot_rows_body(x: &[f32], weight: &[f32], out: &mut [f32]) {
    assert_eq!(x.len(), out.len() * weight.len(), "dot_rows: x");
    if weight.is_empty() {
        return;
    }
    for (row, out) in x.chunks_exact(weight.len()).zip(out) {
        let mut lanes = [0.0_f32; LANES];
        let (row_lanes, row_rest) = row.as_chunks::<LANES>();
        let (weight_lanes, weight_rest) = weight.as_chunks::<LANES>();
        for (a, b) in row_lanes.iter().zip(weight_lanes) {
            for lane in 0..LANES {
                lanes[lane] += a[lane] * b[lane];
            }
        }
        let rest: f32 = row_rest.iter().zip(weight_rest).map(|(a, b)| a * b).sum();
        *out += sum_lanes(lanes) + rest;
    }
}

/// Sums by halves; `N` is a power of two.
#[inline(always)]
pub(super) fn sum_lanes<const N: usize>(mut lanes: [f32; N]) -> f32 {
    let mut width = N / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn add_scaled_rows_body(x: &[f32], scale: &[f32], sum: &mut [f32]) {
    assert_eq!(x.len(), scale.len() * sum.len(), "add_scaled_rows: x");
    if sum.is_empty() {
        return;
    }
    for (row, &scale) in x.chunks_exact(sum.len()).zip(scale) {
        for (sum, &x) in sum.iter_mut().zip(row) {
            *sum += scale * x;
        }
    }
}

#[inline(always)]
fn outer_body(scale: &[f32], weight: &[f32], columns: usize, out: &mut [f32]) {
    assert_eq!(out.len(), scale.len() * columns, "outer: out");
    if columns == 0 {
        return;
    }
    let weight = &weight[..columns];
    for (row, &scale) in out.chunks_exact_mut(columns).zip(scale) {
        for (out, &weight) in row.iter_mut().zip(weight) {
            *out = scale * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_match_plain_loops() {
        for width in [0, 1, 13, 32, 77, 400] {
            let samples = 5;
            let x: Vec<f32> = (0..samples * width).map(|i| (i * 31 % 97) as f32 / 48.0 - 1.0).collect();
            let weight: Vec<f32> = (0..width).map(|i| (i * 17 % 89) as f32 / 44.0 - 1.0).collect();
            let scale: Vec<f32> = (0..samples).map(|i| i as f32 - 2.5).collect();

            let (mut dots, mut sums) = (vec![1.0; samples], vec![1.0; width]);
            dot_rows(&x, &weight, &mut dots);
            add_scaled_rows(&x, &scale, &mut sums);
            for s in 0..samples {
                let want: f64 = (0..width).map(|c| f64::from(x[s * width + c]) * f64::from(weight[c])).sum();
                assert!((f64::from(dots[s]) - 1.0 - want).abs() < 1e-4, "width {width}");
            }
            for c in 0..width {
                let want: f32 = (0..samples).map(|s| scale[s] * x[s * width + c]).sum();
                assert!((sums[c] - 1.0 - want).abs() < 1e-4, "width {width}");
            }

            let columns = width / 2;
            let mut out = vec![9.0; samples * columns];
            outer(&scale, &weight, columns, &mut out);
            for (i, &out) in out.iter().enumerate() {
                assert_eq!(out, scale[i / columns] * weight[i % columns]);
            }
        }
    }
}
