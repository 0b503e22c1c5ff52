//! Normal variates by table: 4096 equally likely quantiles, so that a hash yields several at once.

/// Quantiles of the table.
const SIZE: usize = 4096;

/// The quantile function of the standard normal at 4096 equally likely midpoints; its variance is 0.9995.
#[derive(Clone, Debug)]
pub(crate) struct Normals(Box<[f32; SIZE]>);

impl Normals {
    pub(crate) fn new() -> Self {
        let mut table = Box::new([0.0; SIZE]);
        for (at, value) in table.iter_mut().enumerate() {
            *value = quantile((at as f64 + 0.5) / SIZE as f64) as f32;
        }
        Self(table)
    }

    /// The variate of the low 12 bits.
    #[inline]
    pub(crate) fn of(&self, bits: u64) -> f32 {
        self.0[bits as usize % SIZE]
    }
}

/// Quantile function of the standard normal (Peter Acklam's rational approximation, relative error 1.2e-9).
fn quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    let horner = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    if p < 0.02425 {
        let q = (-2.0 * p.ln()).sqrt();
        return horner(&C, q) / horner(&D, q);
    }
    let q = p - 0.5;
    horner(&A, q * q) * q / horner(&B, q * q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959964), (0.01, -2.326348), (0.8413447, 1.0)] {
            assert!((quantile(p) - z).abs() < 1e-5, "{p}");
        }
    }

    #[test]
    fn mean_and_variance_of_the_table() {
        let normals = Normals::new();
        let mean = (0..4096).map(|at| f64::from(normals.of(at))).sum::<f64>() / 4096.0;
        let square = (0..4096).map(|at| f64::from(normals.of(at)).powi(2)).sum::<f64>() / 4096.0;
        assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-3, "{mean} {square}");
    }
}
