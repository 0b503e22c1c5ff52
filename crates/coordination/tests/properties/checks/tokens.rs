//! Tokens: the step under way (synchronous, backup_workers, version tokens) or the position in the grant order,
//! each value M times net of losses.

use std::collections::BTreeMap;

use gearshift_coordination::{Decision, Gear, TokenKind};

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Tokens {
    /// How often each value was given while nothing was lost.
    times: BTreeMap<u64, u64>,
}

impl Check for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        let Decision::Grant { token, batch, .. } = decision else { return Ok(()) };
        let setup = &before.setup;
        let by_version = setup.gear == Gear::Gba && setup.options.tokens == TokenKind::Version;
        if !setup.flows() || by_version {
            hold!(token.0 == before.step.0, "batch {batch}: token {token} at step {}", before.step);
            return Ok(());
        }
        let per_step = setup.per_step();
        let position = before.grants - before.losses;
        let expected = setup.at.step.0 + position / per_step;
        hold!(
            token.0 == expected,
            "batch {batch}: token {token} at position {position}, expected {expected}"
        );
        if before.losses == 0 {
            let times = self.times.entry(token.0).or_default();
            *times += 1;
            hold!(*times <= per_step, "token {token} given {times} times, M = {per_step}");
            let complete = self.times.range(..token.0).all(|(_, &times)| times == per_step);
            hold!(complete, "token {token} given before the one before it was given {per_step} times");
        }
        Ok(())
    }
}
