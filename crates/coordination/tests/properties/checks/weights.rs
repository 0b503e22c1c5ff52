//! Weights: those of the decay (gba), else 1; 0 for failed gradients and where there is nothing to divide by.

use gearshift_coordination::{DecayKind, Decision, Gear, TokenKind};
use gearshift_types::Step;

use super::{Check, Checked, hold};
use crate::books::{Books, Gradient};

pub(crate) struct Weights;

impl Check for Weights {
    fn name(&self) -> &'static str {
        "weights"
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        let Decision::Commit(commit) = decision else { return Ok(()) };
        for member in &commit.members {
            let Some(gradient) = before.held.get(&member.batch) else { continue };
            let expected = match gradient.version {
                None => 0.0,
                Some(_) if commit.divisor_samples == 0 => 0.0,
                Some(version) if before.setup.gear == Gear::Gba => decayed(before, gradient, version),
                Some(_) => 1.0,
            };
            let close = (f64::from(member.weight) - expected).abs() < 1e-6;
            hold!(close, "batch {} has weight {}, expected {expected}", member.batch, member.weight);
        }
        Ok(())
    }
}

/// What the options promise, from the definitions.
fn decayed(books: &Books, gradient: &Gradient, version: Step) -> f64 {
    let options = &books.setup.options;
    let version_steps = books.step.0 as f64 - version.0 as f64;
    let token_steps = match options.tokens {
        TokenKind::Position => books.step.0 as f64 - gradient.token.0 as f64,
        TokenKind::Version => version_steps,
    };
    let power = |steps: f64| 1.0 / (1.0 + steps).powf(options.power.into());
    match options.decay {
        DecayKind::Hard if token_steps > options.tolerance_steps.into() => 0.0,
        DecayKind::Hard | DecayKind::None => 1.0,
        DecayKind::Power if token_steps > 0.0 => power(token_steps),
        DecayKind::Power => 1.0,
        DecayKind::VersionPower => power(version_steps),
    }
}
