//! Exact area under the ROC curve.

/// The probability that a positive sample is predicted above a negative one, ties counting half (the
/// Mann-Whitney statistic; Hanley and McNeil 1982, section "The meaning of the area"). A label above 0.5 is
/// positive. `None` when either class is missing or the lengths differ.
///
/// Counts pairs in integers, so it is exact up to 2^63 pairs. NaN predictions sort above all others.
#[must_use]
pub fn auc(predictions: &[f32], labels: &[f32]) -> Option<f64> {
    if predictions.len() != labels.len() {
        return None;
    }
    // One integer per sample sorts faster than indices: order-preserving bits of the prediction, then the label.
    let mut samples: Vec<u64> = predictions
        .iter()
        .zip(labels)
        .map(|(&prediction, &label)| u64::from(ordered(prediction)) << 1 | u64::from(label > 0.5))
        .collect();
    samples.sort_unstable();
    let (mut positives, mut negatives, mut half_pairs) = (0_u64, 0_u64, 0_u128);
    for ties in samples.chunk_by(|a, b| a >> 1 == b >> 1) {
        let positive = ties.iter().map(|sample| sample & 1).sum::<u64>();
        let negative = ties.len() as u64 - positive;
        half_pairs += u128::from(positive) * u128::from(2 * negatives + negative);
        positives += positive;
        negatives += negative;
    }
    let pairs = u128::from(positives) * u128::from(negatives);
    (pairs > 0).then(|| half_pairs as f64 / (2.0 * pairs as f64))
}

/// Bits that sort like the number; -0 equals 0.
fn ordered(value: f32) -> u32 {
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brute_force(predictions: &[f32], labels: &[f32]) -> Option<f64> {
        let (mut wins, mut pairs) = (0.0, 0.0);
        for (p, _) in predictions.iter().zip(labels).filter(|(_, l)| **l == 1.0) {
            for (n, _) in predictions.iter().zip(labels).filter(|(_, l)| **l == 0.0) {
                pairs += 1.0;
                wins += if p > n {
                    1.0
                } else if p == n {
                    0.5
                } else {
                    0.0
                };
            }
        }
        (pairs > 0.0).then(|| wins / pairs)
    }

    #[test]
    fn agrees_with_all_pairs() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        };
        // Few distinct values make many ties; negative ones check the bit order.
        for levels in [1.0, 2.0, 7.0, 1e6] {
            for samples in [0, 1, 2, 3, 50, 301] {
                let predictions: Vec<f32> =
                    (0..samples).map(|_| (random() * levels).floor() / levels - 0.5).collect();
                let labels: Vec<f32> = (0..samples).map(|_| f32::from(u8::from(random() < 0.3))).collect();
                assert_eq!(auc(&predictions, &labels), brute_force(&predictions, &labels));
            }
        }
    }

    #[test]
    fn ends_of_the_scale() {
        assert_eq!(auc(&[0.1, 0.9], &[0.0, 1.0]), Some(1.0));
        assert_eq!(auc(&[0.1, 0.9], &[1.0, 0.0]), Some(0.0));
        assert_eq!(auc(&[-0.0, 0.0], &[1.0, 0.0]), Some(0.5));
        assert_eq!(auc(&[0.1, 0.9], &[1.0, 1.0]), None);
        assert_eq!(auc(&[0.1], &[]), None);
    }
}
