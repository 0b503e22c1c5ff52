//! The position in the token list: grants less losses.

use gearshift_types::{Step, Token};

/// Counts batches in grant order. A lost lease steps it back by one, so that lost tokens do not make the list
/// run away from the step: unfixed, 309 losses of 16,000 shift every healthy staleness by -38 (M = 8).
#[derive(Debug)]
pub(crate) struct Position {
    engaged_at: Step,
    grants: u64,
    losses: u64,
}

impl Position {
    /// The list of a gear that was engaged at `engaged_at` (k0).
    pub(crate) fn new(engaged_at: Step) -> Self {
        Self { engaged_at, grants: 0, losses: 0 }
    }

    /// The token of the next batch with `per_step` (M) batches per update: k0 + floor((grants - losses) / M)
    /// (arXiv 2205.11048, token list; the losses are ours).
    pub(crate) fn token(&self, per_step: u64) -> Token {
        Token(self.engaged_at.0 + (self.grants - self.losses) / per_step)
    }

    /// A batch was granted.
    pub(crate) fn granted(&mut self) {
        self.grants += 1;
    }

    /// A granted batch was lost.
    pub(crate) fn lost(&mut self) {
        self.losses += 1;
        assert!(self.losses <= self.grants, "more tokens lost than granted");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_occurs_per_step_times_and_a_loss_steps_back() {
        let mut position = Position::new(Step(5));
        let mut take = |lose: bool| {
            let token = position.token(2);
            position.granted();
            if lose {
                position.lost();
            }
            token.0
        };
        assert_eq!([take(false), take(true), take(false), take(false)], [5, 5, 5, 6]);
    }
}
