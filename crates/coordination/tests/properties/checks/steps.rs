//! Commits count up by one from the step at which the gear was engaged.

use gearshift_coordination::Decision;

use super::{Check, Checked, hold};
use crate::books::Books;

#[derive(Default)]
pub(crate) struct Steps {
    commits: u64,
}

impl Check for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn decision(&mut self, before: &Books, decision: &Decision) -> Checked {
        if let Decision::Commit(commit) = decision {
            let expected = before.setup.at.step.0 + self.commits;
            hold!(commit.step.0 == expected, "step {} committed, expected {expected}", commit.step);
            self.commits += 1;
        }
        Ok(())
    }
}
