//! gba: Global Batch gradients Aggregation (arXiv 2205.11048). One update per G samples, whoever computes them;
//! tokens tell how old a gradient's data are, and the decay takes the weight of those that are too old.
//!
//! Workers start at once and never wait for tokens. Every M = G/B gradients make a commit with divisor G, those
//! without weight included: a drop shrinks the update.

use gearshift_types::{Step, Token};

use crate::arrivals::Arrivals;
use crate::buffer::Held;
use crate::decay::{Decay, Staleness, decay};
use crate::flow::{Flow, Terms};
use crate::options::{Engagement, Gear, GearOptions, TokenKind};

pub(crate) struct Gba {
    tokens: TokenKind,
    decay: Box<dyn Decay>,
}

/// The rule. `at.batch.local` divides `at.batch.global`.
pub(crate) fn gba(options: &GearOptions, at: Engagement) -> Flow<Gba, Arrivals> {
    let terms = Gba { tokens: options.tokens, decay: decay(options) };
    Flow::new(terms, Arrivals::default(), at, at.batch.global / at.batch.local)
}

impl Terms for Gba {
    fn gear(&self) -> Gear {
        Gear::Gba
    }

    fn token(&self, position: Token, step: Step) -> Token {
        match self.tokens {
            TokenKind::Position => position,
            TokenKind::Version => Token(step.0),
        }
    }

    fn weight(&self, step: Step, gradient: &Held, version: Step) -> f32 {
        let version_steps = step.0.saturating_sub(version.0);
        let token_steps = match self.tokens {
            TokenKind::Position => step.staleness_steps(gradient.token),
            TokenKind::Version => version_steps as i64,
        };
        self.decay.weight(Staleness { token_steps, version_steps })
    }
}
