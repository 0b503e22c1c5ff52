//! How a gradient loses weight with staleness.

use crate::options::{DecayKind, GearOptions};

/// How old a gradient is when its step is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staleness {
    /// Step at commit minus token; negative when the batch came early.
    pub token_steps: i64,
    /// Step at commit minus version at pull.
    pub version_steps: u64,
}

/// Gives each gradient a weight from 0 to 1. Weight 0 drops it.
pub trait Decay: Send {
    /// The factor for a gradient of this age.
    fn weight(&self, staleness: Staleness) -> f32;
}

/// The decay that the options name.
#[must_use]
pub fn decay(options: &GearOptions) -> Box<dyn Decay> {
    match options.decay {
        DecayKind::Hard => Box::new(Hard { tolerance_steps: options.tolerance_steps }),
        DecayKind::Power => Box::new(Power { power: options.power }),
        DecayKind::None => Box::new(Undecayed),
        DecayKind::VersionPower => Box::new(VersionPower { power: options.power }),
    }
}

/// f(t, k) = 1 if k - t <= iota, else 0 (arXiv 2205.11048, the decay of severely stale gradients).
#[derive(Clone, Copy, Debug)]
pub struct Hard {
    /// Largest staleness of the token with weight 1 (iota).
    pub tolerance_steps: u32,
}

impl Decay for Hard {
    fn weight(&self, staleness: Staleness) -> f32 {
        if staleness.token_steps <= i64::from(self.tolerance_steps) { 1.0 } else { 0.0 }
    }
}

/// (1 + s)^-power for a token that is s > 0 steps old, else 1 (the polynomial form of FedAsync,
/// arXiv 1903.03934, its s_a, on the token).
#[derive(Clone, Copy, Debug)]
pub struct Power {
    /// The exponent; finite, not negative.
    pub power: f32,
}

impl Decay for Power {
    fn weight(&self, staleness: Staleness) -> f32 {
        one_plus_to_minus(staleness.token_steps.max(0) as f64, self.power)
    }
}

/// Always 1: K-batch-async with tokens that are only reported.
#[derive(Clone, Copy, Debug)]
pub struct Undecayed;

impl Decay for Undecayed {
    fn weight(&self, _: Staleness) -> f32 {
        1.0
    }
}

/// (1 + v)^-power, v = step at commit minus version at pull: the guard for more workers than local batches per
/// update, whose staleness of about 0.9 N/M position tokens do not see.
#[derive(Clone, Copy, Debug)]
pub struct VersionPower {
    /// The exponent; finite, not negative.
    pub power: f32,
}

impl Decay for VersionPower {
    fn weight(&self, staleness: Staleness) -> f32 {
        one_plus_to_minus(staleness.version_steps as f64, self.power)
    }
}

/// (1 + s)^-power.
fn one_plus_to_minus(staleness_steps: f64, power: f32) -> f32 {
    (1.0 + staleness_steps).powf(-f64::from(power)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aged(token_steps: i64, version_steps: u64) -> Staleness {
        Staleness { token_steps, version_steps }
    }

    #[test]
    fn hard_cuts_above_the_tolerance_only() {
        let hard = Hard { tolerance_steps: 3 };
        let weights = [-5, 0, 3, 4, i64::MAX].map(|steps| hard.weight(aged(steps, 9)));
        assert_eq!(weights, [1.0, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn powers_fall_with_their_own_staleness() {
        let power = Power { power: 0.5 };
        assert_eq!([-2, 0, 3, 8].map(|steps| power.weight(aged(steps, 99))), [1.0, 1.0, 0.5, 1.0 / 3.0]);
        let version = VersionPower { power: 1.0 };
        assert_eq!([0, 1, 3].map(|steps| version.weight(aged(99, steps))), [1.0, 0.5, 0.25]);
        assert_eq!(VersionPower { power: 0.0 }.weight(aged(0, u64::MAX)), 1.0);
        let tiny = Power { power: f32::MAX }.weight(aged(i64::MAX, 0));
        assert_eq!(tiny, 0.0, "an extreme power must not give NaN");
    }
}
