//! From pulled rows to field vectors: gather and pool, and the scatter of their gradients back into rows.
//!
//! A row is `dim` embedding values followed by one first-order weight; pooling treats both alike.

use std::ops::Range;

use gearshift_types::{IndexedFeature, Pooling};

use crate::simd::dispatch;

/// How one feature becomes a vector at a fixed place in each sample's input row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLookup {
    /// Embedding values per row; the row is one longer.
    pub dim: usize,
    /// Where the vector starts in a row of the input.
    pub column: usize,
    /// How several rows become one; an empty bag gives zeros.
    pub pooling: Pooling,
}

impl FieldLookup {
    /// Writes the pooled vectors of `samples` into `x` (`[samples, stride]`, at [`FieldLookup::column`]) and adds
    /// the pooled first-order weights to `logits`. `rows` is `[keys, dim + 1]`.
    ///
    /// # Panics
    /// When a position lies outside `rows` or an offset outside the positions.
    pub fn forward(
        &self,
        feature: &IndexedFeature,
        samples: Range<usize>,
        rows: &[f32],
        x: &mut [f32],
        stride: usize,
        logits: &mut [f32],
    ) {
        let (positions, offsets, mean) = self.bags(feature, &samples);
        let out = Place { column: self.column, stride, dim: self.dim };
        match (offsets, self.dim) {
            (None, 8) => gather_8(positions, rows, out, x, logits),
            (None, 16) => gather_16(positions, rows, out, x, logits),
            (None, 32) => gather_32(positions, rows, out, x, logits),
            (None, _) => gather_any(positions, rows, out, x, logits),
            (Some(offsets), _) => pool(positions, offsets, mean, rows, out, x, logits),
        }
    }

    /// Adds the gradients of `samples` to `d_rows` (`[keys, dim + 1]`): from `dx` (`[samples, stride]`) for the
    /// embedding values and `d_logits` for the first-order weights.
    ///
    /// # Panics
    /// When a position lies outside `d_rows` or an offset outside the positions.
    pub fn backward(
        &self,
        feature: &IndexedFeature,
        samples: Range<usize>,
        dx: &[f32],
        stride: usize,
        d_logits: &[f32],
        d_rows: &mut [f32],
    ) {
        let (positions, offsets, mean) = self.bags(feature, &samples);
        let from = Place { column: self.column, stride, dim: self.dim };
        match (offsets, self.dim) {
            (None, 8) => scatter_8(positions, dx, from, d_logits, d_rows),
            (None, 16) => scatter_16(positions, dx, from, d_logits, d_rows),
            (None, 32) => scatter_32(positions, dx, from, d_logits, d_rows),
            (None, _) => scatter_any(positions, dx, from, d_logits, d_rows),
            (Some(offsets), _) => spread(positions, offsets, mean, dx, from, d_logits, d_rows),
        }
    }

    /// The positions (of the samples alone when there is one each), the samples' offsets, whether to average.
    fn bags<'a>(
        &self,
        feature: &'a IndexedFeature,
        samples: &Range<usize>,
    ) -> (&'a [u32], Option<&'a [u32]>, bool) {
        let mean = self.pooling == Pooling::Mean;
        match &feature.offsets {
            None => (&feature.positions[samples.clone()], None, mean),
            Some(offsets) => (&feature.positions, Some(&offsets[samples.start..=samples.end]), mean),
        }
    }
}

/// Where a field's vectors lie in a row-major matrix.
#[derive(Clone, Copy)]
struct Place {
    column: usize,
    stride: usize,
    dim: usize,
}

macro_rules! fixed_dim {
    ($gather:ident, $scatter:ident, $dim:literal) => {
        dispatch! {
            fn $gather(positions: &[u32], rows: &[f32], out: Place, x: &mut [f32], logits: &mut [f32])
                = gather_body::<$dim>;
        }
        dispatch! {
            fn $scatter(positions: &[u32], dx: &[f32], from: Place, d_logits: &[f32], d_rows: &mut [f32])
                = scatter_body::<$dim>;
        }
    };
}

fixed_dim!(gather_8, scatter_8, 8);
fixed_dim!(gather_16, scatter_16, 16);
fixed_dim!(gather_32, scatter_32, 32);
// 0: the dim is known at run time only.
fixed_dim!(gather_any, scatter_any, 0);

#[inline(always)]
fn gather_body<const DIM: usize>(
    positions: &[u32],
    rows: &[f32],
    out: Place,
    x: &mut [f32],
    logits: &mut [f32],
) {
    let dim = if DIM == 0 { out.dim } else { DIM };
    for ((&position, x), logit) in positions.iter().zip(x.chunks_exact_mut(out.stride)).zip(logits) {
        let row = &rows[position as usize * (dim + 1)..][..dim + 1];
        x[out.column..][..dim].copy_from_slice(&row[..dim]);
        *logit += row[dim];
    }
}

#[inline(always)]
fn scatter_body<const DIM: usize>(
    positions: &[u32],
    dx: &[f32],
    from: Place,
    d_logits: &[f32],
    d_rows: &mut [f32],
) {
    let dim = if DIM == 0 { from.dim } else { DIM };
    for ((&position, dx), &d_logit) in positions.iter().zip(dx.chunks_exact(from.stride)).zip(d_logits) {
        let d_row = &mut d_rows[position as usize * (dim + 1)..][..dim + 1];
        for (d_row, &dx) in d_row.iter_mut().zip(&dx[from.column..][..dim]) {
            *d_row += dx;
        }
        d_row[dim] += d_logit;
    }
}

dispatch! {
    fn pool(
        positions: &[u32], offsets: &[u32], mean: bool, rows: &[f32], out: Place, x: &mut [f32], logits: &mut [f32],
    ) = pool_body;
}

dispatch! {
    fn spread(
        positions: &[u32], offsets: &[u32], mean: bool, dx: &[f32], from: Place, d_logits: &[f32], d_rows: &mut [f32],
    ) = spread_body;
}

/// Factor of each row of a bag of `len`.
#[inline(always)]
fn factor(mean: bool, len: usize) -> f32 {
    if mean && len > 0 { 1.0 / len as f32 } else { 1.0 }
}

#[inline(always)]
fn pool_body(
    positions: &[u32],
    offsets: &[u32],
    mean: bool,
    rows: &[f32],
    out: Place,
    x: &mut [f32],
    logits: &mut [f32],
) {
    let dim = out.dim;
    for ((cut, x), logit) in offsets.windows(2).zip(x.chunks_exact_mut(out.stride)).zip(logits) {
        let bag = &positions[cut[0] as usize..cut[1] as usize];
        let factor = factor(mean, bag.len());
        let vector = &mut x[out.column..][..dim];
        vector.fill(0.0);
        let mut first_order = 0.0;
        for &position in bag {
            let row = &rows[position as usize * (dim + 1)..][..dim + 1];
            for (value, &row) in vector.iter_mut().zip(&row[..dim]) {
                *value += row;
            }
            first_order += row[dim];
        }
        if factor != 1.0 {
            for value in vector {
                *value *= factor;
            }
        }
        *logit += first_order * factor;
    }
}

#[inline(always)]
fn spread_body(
    positions: &[u32],
    offsets: &[u32],
    mean: bool,
    dx: &[f32],
    from: Place,
    d_logits: &[f32],
    d_rows: &mut [f32],
) {
    let dim = from.dim;
    for ((cut, dx), &d_logit) in offsets.windows(2).zip(dx.chunks_exact(from.stride)).zip(d_logits) {
        let bag = &positions[cut[0] as usize..cut[1] as usize];
        let factor = factor(mean, bag.len());
        let vector = &dx[from.column..][..dim];
        for &position in bag {
            let d_row = &mut d_rows[position as usize * (dim + 1)..][..dim + 1];
            for (d_row, &dx) in d_row.iter_mut().zip(vector) {
                *d_row += dx * factor;
            }
            d_row[dim] += d_logit * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: usize = 5;

    fn features() -> Vec<IndexedFeature> {
        vec![
            IndexedFeature { positions: vec![4, 0, 4, 2], offsets: None },
            // An empty bag, a bag with the same row twice.
            IndexedFeature { positions: vec![1, 3, 3, 0, 2, 3], offsets: Some(vec![0, 1, 1, 4, 6]) },
        ]
    }

    /// Sum over samples of `weights . (vector, first order)`, by the definition; linear in `rows`.
    fn objective(field: &FieldLookup, feature: &IndexedFeature, rows: &[f64], weights: &[f32]) -> f64 {
        let width = field.dim + 1;
        let mut total = 0.0;
        for (s, weights) in weights.chunks(width).enumerate() {
            let bag = match &feature.offsets {
                None => &feature.positions[s..=s],
                Some(cut) => &feature.positions[cut[s] as usize..cut[s + 1] as usize],
            };
            for &position in bag {
                let row = &rows[position as usize * width..][..width];
                let dot: f64 = row.iter().zip(weights).map(|(a, &b)| a * f64::from(b)).sum();
                total += if field.pooling == Pooling::Mean { dot / bag.len() as f64 } else { dot };
            }
        }
        total
    }

    #[test]
    fn pooled_vectors_and_their_gradients_match_the_definition() {
        for dim in [1, 3, 8, 16, 32] {
            for feature in features() {
                for pooling in [Pooling::Sum, Pooling::Mean] {
                    let field = FieldLookup { dim, column: 2, pooling };
                    let (width, stride) = (dim + 1, dim + 5);
                    let rows: Vec<f32> =
                        (0..KEYS * width).map(|i| (i * 19 % 71) as f32 / 30.0 - 1.0).collect();
                    let weights: Vec<f32> =
                        (0..4 * width).map(|i| (i * 43 % 67) as f32 / 30.0 - 1.0).collect();
                    let (mut x, mut logits) = (vec![9.0; 4 * stride], vec![0.5; 4]);
                    // In two blocks, as a large batch is worked through.
                    field.forward(&feature, 0..1, &rows, &mut x[..stride], stride, &mut logits[..1]);
                    field.forward(&feature, 1..4, &rows, &mut x[stride..], stride, &mut logits[1..]);
                    let mut got = 0.0;
                    let mut dx = vec![0.0; 4 * stride];
                    let mut d_logits = [0.0; 4];
                    for s in 0..4 {
                        let vector = &x[s * stride + 2..][..dim];
                        assert!(x[s * stride..][..2].iter().all(|&v| v == 9.0), "wrote left of the column");
                        assert!(x[s * stride + 2 + dim..(s + 1) * stride].iter().all(|&v| v == 9.0));
                        let w = &weights[s * width..][..width];
                        got += vector.iter().zip(w).map(|(a, b)| a * b).sum::<f32>()
                            + (logits[s] - 0.5) * w[dim];
                        dx[s * stride + 2..][..dim].copy_from_slice(&w[..dim]);
                        d_logits[s] = w[dim];
                    }
                    let rows: Vec<f64> = rows.iter().map(|&v| f64::from(v)).collect();
                    let want = objective(&field, &feature, &rows, &weights);
                    assert!((f64::from(got) - want).abs() < 1e-3, "{field:?}: {got} for {want}");

                    let mut d_rows = vec![0.25; KEYS * width];
                    field.backward(&feature, 0..1, &dx[..stride], stride, &d_logits[..1], &mut d_rows);
                    field.backward(&feature, 1..4, &dx[stride..], stride, &d_logits[1..], &mut d_rows);
                    for i in 0..rows.len() {
                        let mut moved = rows.clone();
                        moved[i] += 1.0;
                        let slope = objective(&field, &feature, &moved, &weights) - want;
                        assert!(
                            (f64::from(d_rows[i]) - 0.25 - slope).abs() < 1e-5,
                            "{field:?} row value {i}"
                        );
                    }
                }
            }
        }
    }
}
