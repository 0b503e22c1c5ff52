//! Counter-based random numbers: pure functions of (seed, purpose, who, which), so that two runs that differ in
//! their gear draw the same time for the same batch of the same worker.
//!
//! The mix is SplitMix64's finaliser (variant 13 of David Stafford's constants).

use std::f64::consts::TAU;

/// What a number is drawn for; streams of different purposes do not touch.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Jitter = 1,
    Noise,
    WorkerNoise,
    Load,
    LoadedHour,
    Latency,
    Crash,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// 64 random bits.
pub(crate) fn bits(seed: u64, purpose: Purpose, who: u64, which: u64) -> u64 {
    let fold = |state: u64, word: u64| mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15) ^ mix(word));
    fold(fold(fold(mix(seed), purpose as u64), who), which)
}

/// Uniform in 0..1.
pub(crate) fn unit(seed: u64, purpose: Purpose, who: u64, which: u64) -> f64 {
    (bits(seed, purpose, who, which) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Standard normal (Box and Muller, 1958).
pub(crate) fn normal(seed: u64, purpose: Purpose, who: u64, which: u64) -> f64 {
    let one = unit(seed, purpose, who, which.wrapping_mul(2));
    let other = unit(seed, purpose, who, which.wrapping_mul(2).wrapping_add(1));
    (-2.0 * (1.0 - one).ln()).sqrt() * (TAU * other).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_have_mean_0_and_variance_1_and_differ_by_purpose() {
        let draw = |purpose| (0..20_000).map(move |which| normal(7, purpose, 3, which));
        let mean = draw(Purpose::Noise).sum::<f64>() / 20_000.0;
        let variance = draw(Purpose::Noise).map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        let both: f64 = draw(Purpose::Noise).zip(draw(Purpose::Jitter)).map(|(one, other)| one * other).sum();
        assert!((both / 20_000.0).abs() < 0.03, "purposes are correlated: {both}");
    }
}
