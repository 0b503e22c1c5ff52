//! Quality of predictions: exact over all of them ([`Metrics`]) or as they stream by ([`OnlineMetrics`]).

mod auc;
mod online;

pub use auc::auc;
pub use online::{AucHistogram, OnlineMetrics};

/// Predictions that cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MetricsError {
    /// Not one label per prediction.
    #[error("metrics: expected one label per prediction, got {predictions} predictions and {labels} labels")]
    Lengths {
        /// Number of predictions.
        predictions: usize,
        /// Number of labels.
        labels: usize,
    },
    /// No samples.
    #[error("metrics: expected at least one sample, got none")]
    Empty,
    /// A prediction outside 0..=1 or not a number.
    #[error("metrics: prediction of sample {sample}: expected 0 to 1, got {value}")]
    Prediction {
        /// Position of the sample.
        sample: usize,
        /// The prediction.
        value: f32,
    },
    /// A label other than 0 and 1.
    #[error("metrics: label of sample {sample}: expected 0 or 1, got {value}")]
    Label {
        /// Position of the sample.
        sample: usize,
        /// The label.
        value: f32,
    },
}

/// How good predictions are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Number of samples.
    pub samples: u64,
    /// Area under the ROC curve; `None` when the labels are all equal.
    pub auc: Option<f64>,
    /// Mean log loss, in nats. Predictions are cut off at [`PROBABILITY_MIN`] from both ends.
    pub log_loss: f64,
    /// Log loss over that of always predicting the label rate (He et al. 2014, "Practical Lessons from Predicting
    /// Clicks on Ads at Facebook", eq. 3): below 1 is better than that. `None` when the labels are all equal.
    pub normalized_entropy: Option<f64>,
    /// Sum of predictions over sum of labels (ibid., section 2.2); `None` without a positive label.
    pub calibration: Option<f64>,
    /// Share of positive labels.
    pub label_rate: f64,
    /// Mean prediction.
    pub prediction_mean: f64,
}

/// Predictions closer to 0 or 1 count as this far away in the log loss: an f32 prediction that rounded to 0 or 1
/// would make the mean infinite.
pub const PROBABILITY_MIN: f64 = 1e-15;

impl Metrics {
    /// Measures `predictions` (probabilities) against `labels` (0 or 1). Sorts, so `n log n`; exact.
    ///
    /// # Errors
    /// When the lengths differ or are 0, a prediction is no probability, or a label is neither 0 nor 1.
    pub fn of(predictions: &[f32], labels: &[f32]) -> Result<Self, MetricsError> {
        let mut sums = Sums::default();
        sums.add(predictions, labels)?;
        sums.metrics(auc(predictions, labels)).ok_or(MetricsError::Empty)
    }
}

/// What all figures but the AUC are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    samples: u64,
    positives: u64,
    predictions: f64,
    loss: f64,
}

impl Sums {
    /// Adds samples; all or, on an error, none.
    pub(crate) fn add(&mut self, predictions: &[f32], labels: &[f32]) -> Result<(), MetricsError> {
        check(predictions, labels)?;
        for (&prediction, &label) in predictions.iter().zip(labels) {
            let p = f64::from(prediction);
            let right = if label == 1.0 { p } else { 1.0 - p };
            self.loss -= right.max(PROBABILITY_MIN).ln();
            self.predictions += p;
            self.positives += u64::from(label == 1.0);
        }
        self.samples += predictions.len() as u64;
        Ok(())
    }

    /// Adds what `other` has seen.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.positives += other.positives;
        self.predictions += other.predictions;
        self.loss += other.loss;
    }

    /// The figures; `None` without samples.
    pub(crate) fn metrics(&self, auc: Option<f64>) -> Option<Metrics> {
        if self.samples == 0 {
            return None;
        }
        let (samples, positives) = (self.samples as f64, self.positives as f64);
        let (rate, log_loss) = (positives / samples, self.loss / samples);
        let entropy = -(rate * rate.ln() + (1.0 - rate) * (1.0 - rate).ln());
        let both_classes = self.positives > 0 && self.positives < self.samples;
        Some(Metrics {
            samples: self.samples,
            auc,
            log_loss,
            normalized_entropy: both_classes.then(|| log_loss / entropy),
            calibration: (self.positives > 0).then(|| self.predictions / positives),
            label_rate: rate,
            prediction_mean: self.predictions / samples,
        })
    }
}

fn check(predictions: &[f32], labels: &[f32]) -> Result<(), MetricsError> {
    if predictions.len() != labels.len() {
        return Err(MetricsError::Lengths { predictions: predictions.len(), labels: labels.len() });
    }
    if let Some(sample) = predictions.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(MetricsError::Prediction { sample, value: predictions[sample] });
    }
    if let Some(sample) = labels.iter().position(|&label| label != 0.0 && label != 1.0) {
        return Err(MetricsError::Label { sample, value: labels[sample] });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_match_their_definitions() {
        let metrics = Metrics::of(&[0.9, 0.2, 0.6, 0.1], &[1.0, 0.0, 0.0, 1.0]).unwrap();
        let loss = -(0.9_f64.ln() + 0.8_f64.ln() + 0.4_f64.ln() + 0.1_f64.ln()) / 4.0;
        assert_eq!(metrics.samples, 4);
        assert_eq!(metrics.auc, Some(0.5));
        assert!((metrics.log_loss - loss).abs() < 1e-6);
        assert!((metrics.normalized_entropy.unwrap() - loss / 2.0_f64.ln()).abs() < 1e-6);
        assert!((metrics.calibration.unwrap() - 0.9).abs() < 1e-6);
        assert_eq!(metrics.label_rate, 0.5);
        assert!((metrics.prediction_mean - 0.45).abs() < 1e-6);
    }

    #[test]
    fn predicting_the_label_rate_has_normalized_entropy_one() {
        let labels: Vec<f32> = (0..40).map(|i| f32::from(u8::from(i % 4 == 0))).collect();
        let metrics = Metrics::of(&[0.25; 40], &labels).unwrap();
        assert!((metrics.normalized_entropy.unwrap() - 1.0).abs() < 1e-12);
        assert!((metrics.calibration.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(metrics.auc, Some(0.5));
    }

    #[test]
    fn one_class_leaves_out_what_is_undefined() {
        let none = Metrics::of(&[0.2, 0.3], &[0.0, 0.0]).unwrap();
        assert_eq!((none.auc, none.normalized_entropy, none.calibration), (None, None, None));
        assert!(none.log_loss > 0.0);
        let all = Metrics::of(&[0.5, 0.5], &[1.0, 1.0]).unwrap();
        assert_eq!((all.auc, all.normalized_entropy, all.calibration), (None, None, Some(0.5)));
    }

    #[test]
    fn certain_and_wrong_is_bad_but_finite() {
        let metrics = Metrics::of(&[0.0, 1.0], &[1.0, 0.0]).unwrap();
        assert!(metrics.log_loss.is_finite() && metrics.log_loss > 30.0);
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(Metrics::of(&[], &[]), Err(MetricsError::Empty));
        assert_eq!(Metrics::of(&[0.5], &[]), Err(MetricsError::Lengths { predictions: 1, labels: 0 }));
        assert_eq!(
            Metrics::of(&[0.5, 1.5], &[0.0, 1.0]),
            Err(MetricsError::Prediction { sample: 1, value: 1.5 })
        );
        assert!(matches!(Metrics::of(&[f32::NAN], &[0.0]), Err(MetricsError::Prediction { sample: 0, .. })));
        assert_eq!(Metrics::of(&[0.5], &[0.5]), Err(MetricsError::Label { sample: 0, value: 0.5 }));
    }
}
