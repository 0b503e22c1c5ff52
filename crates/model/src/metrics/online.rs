//! Metrics of a stream in fixed memory: for progress lines, where keeping every prediction is too much.

use crate::metrics::{Metrics, MetricsError, Sums};

/// Bins per doubling of the prediction.
const BINS_PER_OCTAVE_LOG2: u32 = 10;
/// Smallest prediction told apart from 0: 2^-24.
const OCTAVES: u32 = 24;
const BINS: usize = ((OCTAVES << BINS_PER_OCTAVE_LOG2) + 2) as usize;

/// Counts of positive and negative samples by prediction, 24,578 bins (393 kB): each doubling from 2^-24 to 1 has
/// 1024, since click rates are small and their ratios matter. All below is one bin.
///
/// Its AUC counts pairs within a bin as ties. It is off the exact one by at most half the share of such pairs,
/// which [`AucHistogram::error_bound`] gives; a bin is 0.1 % wide or narrower, so with predictions spread over a
/// factor of two or more the bound is below 0.001.
#[derive(Clone, Debug, PartialEq)]
pub struct AucHistogram {
    positives: Vec<u64>,
    negatives: Vec<u64>,
}

impl Default for AucHistogram {
    fn default() -> Self {
        Self { positives: vec![0; BINS], negatives: vec![0; BINS] }
    }
}

impl AucHistogram {
    /// Counts one sample; a prediction outside 0..=1 counts as the nearer end, NaN as 1.
    pub fn add(&mut self, prediction: f32, positive: bool) {
        let counts = if positive { &mut self.positives } else { &mut self.negatives };
        counts[bin(prediction)] += 1;
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.positives.iter_mut().zip(&other.positives) {
            *own += other;
        }
        for (own, other) in self.negatives.iter_mut().zip(&other.negatives) {
            *own += other;
        }
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.positives.fill(0);
        self.negatives.fill(0);
    }

    /// Area under the ROC curve; `None` when a class is missing.
    #[must_use]
    pub fn auc(&self) -> Option<f64> {
        let (mut below, mut half_pairs) = (0_u64, 0_u128);
        for (&positive, &negative) in self.positives.iter().zip(&self.negatives) {
            half_pairs += u128::from(positive) * u128::from(2 * below + negative);
            below += negative;
        }
        self.pairs().map(|pairs| half_pairs as f64 / (2.0 * pairs))
    }

    /// Largest possible difference between [`AucHistogram::auc`] and the exact one: half the share of pairs
    /// (one positive, one negative) that share a bin. `None` when a class is missing.
    #[must_use]
    pub fn error_bound(&self) -> Option<f64> {
        let tied: u128 =
            self.positives.iter().zip(&self.negatives).map(|(&p, &n)| u128::from(p) * u128::from(n)).sum();
        self.pairs().map(|pairs| tied as f64 / (2.0 * pairs))
    }

    fn pairs(&self) -> Option<f64> {
        let positives: u64 = self.positives.iter().sum();
        let negatives: u64 = self.negatives.iter().sum();
        (positives > 0 && negatives > 0).then_some(positives as f64 * negatives as f64)
    }
}

/// Bin of a prediction: the top bits of an f32 (exponent and start of the mantissa) are its logarithm, piecewise
/// linear. Monotone.
fn bin(prediction: f32) -> usize {
    const SHIFT: u32 = f32::MANTISSA_DIGITS - 1 - BINS_PER_OCTAVE_LOG2;
    const FIRST: u32 = (127 - OCTAVES) << BINS_PER_OCTAVE_LOG2;
    if prediction <= 0.0 {
        return 0;
    }
    // NaN compares false above and is `min`'s loser here.
    let top = prediction.min(1.0).to_bits() >> SHIFT;
    if top < FIRST { 0 } else { (top - FIRST + 1) as usize }
}

/// All metrics of a stream; the AUC is that of an [`AucHistogram`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnlineMetrics {
    sums: Sums,
    histogram: AucHistogram,
}

impl OnlineMetrics {
    /// Adds samples; on an error none of them.
    ///
    /// # Errors
    /// As [`Metrics::of`], but no samples are fine.
    pub fn add(&mut self, predictions: &[f32], labels: &[f32]) -> Result<(), MetricsError> {
        self.sums.add(predictions, labels)?;
        for (&prediction, &label) in predictions.iter().zip(labels) {
            self.histogram.add(prediction, label == 1.0);
        }
        Ok(())
    }

    /// Adds what `other` has seen, as of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.sums.merge(&other.sums);
        self.histogram.merge(&other.histogram);
    }

    /// Forgets all samples.
    pub fn clear(&mut self) {
        self.sums = Sums::default();
        self.histogram.clear();
    }

    /// The figures so far; `None` without samples.
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        self.sums.metrics(self.histogram.auc())
    }

    /// Bound of the AUC's error; `None` when a class is missing.
    #[must_use]
    pub fn auc_error_bound(&self) -> Option<f64> {
        self.histogram.error_bound()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::auc;

    fn click_like(samples: u64, spread: f64) -> (Vec<f32>, Vec<f32>) {
        let mut state = 3_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..samples)
            .map(|_| {
                let logit = -3.0 + spread * (random() + random() + random() - 1.5);
                let p = 1.0 / (1.0 + (-logit).exp());
                (p as f32, f32::from(u8::from(random() < p)))
            })
            .unzip()
    }

    #[test]
    fn streamed_auc_is_within_its_bound_of_the_exact_one() {
        // A spread of 0 puts every pair in one bin: the bound must say so.
        for (spread, bound_max) in [(0.0, 0.5), (0.0001, 0.5), (0.05, 0.05), (0.5, 0.002), (3.0, 0.0005)] {
            let (predictions, labels) = click_like(20_000, spread);
            let mut online = OnlineMetrics::default();
            for (p, l) in predictions.chunks(777).zip(labels.chunks(777)) {
                online.add(p, l).unwrap();
            }
            let exact = Metrics::of(&predictions, &labels).unwrap();
            let streamed = online.metrics().unwrap();
            let bound = online.auc_error_bound().unwrap();
            let error = (streamed.auc.unwrap() - exact.auc.unwrap()).abs();
            assert!(error <= bound + 1e-12, "spread {spread}: error {error}, bound {bound}");
            assert!(bound <= bound_max, "spread {spread}: bound {bound}");
            assert!((streamed.log_loss - exact.log_loss).abs() < 1e-9);
            assert_eq!(streamed.normalized_entropy.is_some(), exact.normalized_entropy.is_some());
        }
    }

    #[test]
    fn the_bound_is_reached_by_the_worst_case() {
        // Two predictions in one bin, in the right and in the wrong order: exact 1 and 0, streamed 0.5.
        for (predictions, exact) in [([0.5, 0.500_01], 1.0), ([0.500_01, 0.5], 0.0)] {
            let mut histogram = AucHistogram::default();
            histogram.add(predictions[0], false);
            histogram.add(predictions[1], true);
            assert_eq!(auc(&predictions, &[0.0, 1.0]), Some(exact));
            assert_eq!((histogram.auc(), histogram.error_bound()), (Some(0.5), Some(0.5)));
        }
    }

    #[test]
    fn bins_are_monotone_and_stay_inside() {
        let mut last = 0;
        for i in 0..=100_000 {
            let prediction = (f64::from(i) / 100_000.0).powi(4) as f32;
            let at = bin(prediction);
            assert!(at >= last && at < BINS);
            last = at;
        }
        assert_eq!(bin(1.0), BINS - 1);
        for (odd, at) in [(-1.0, 0), (f32::NAN, BINS - 1), (f32::INFINITY, BINS - 1), (1e-40, 0)] {
            assert_eq!(bin(odd), at);
        }
    }

    #[test]
    fn merging_workers_equals_one_stream() {
        let (predictions, labels) = click_like(3_000, 2.0);
        let (mut one, mut first, mut second) =
            (OnlineMetrics::default(), OnlineMetrics::default(), OnlineMetrics::default());
        one.add(&predictions, &labels).unwrap();
        first.add(&predictions[..1000], &labels[..1000]).unwrap();
        second.add(&predictions[1000..], &labels[1000..]).unwrap();
        first.merge(&second);
        let (one, merged) = (one.metrics().unwrap(), first.metrics().unwrap());
        assert_eq!((one.auc, one.samples), (merged.auc, merged.samples));
        assert!((one.log_loss - merged.log_loss).abs() < 1e-12);
        first.clear();
        assert_eq!(first.metrics(), None);
        assert!(first.add(&[0.5, 2.0], &[0.0, 1.0]).is_err());
        assert_eq!(first.metrics(), None, "a refused batch leaves no trace");
    }
}
