//! One checker per invariant. They know the books, not the rule.

mod backups;
mod bound;
mod drain;
mod ledger;
mod liveness;
mod prompt;
mod sizes;
mod slices;
mod steps;
mod tokens;
mod weights;

use gearshift_coordination::{Decision, Event};

use crate::books::Books;
use crate::setup::Setup;

/// What a checker says of one event or decision.
pub(crate) type Checked = Result<(), String>;

/// `Err` with a message unless the condition holds.
macro_rules! hold {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}
pub(crate) use hold;

/// One invariant.
pub(crate) trait Check {
    /// Its name, that of its file.
    fn name(&self) -> &'static str;

    /// An event is about to happen.
    fn event(&mut self, _before: &Books, _event: &Event) -> Checked {
        Ok(())
    }

    /// A decision is about to be carried out.
    fn decision(&mut self, _before: &Books, _decision: &Decision) -> Checked {
        Ok(())
    }

    /// All decisions that follow from an event have been carried out.
    fn settled(&mut self, _books: &Books) -> Checked {
        Ok(())
    }
}

/// An invariant that does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) checker: &'static str,
    #[expect(dead_code, reason = "read in the message of a failing test")]
    pub(crate) message: String,
}

/// One of each.
fn all() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(ledger::Ledger::default()),
        Box::new(steps::Steps::default()),
        Box::new(sizes::Sizes::default()),
        Box::new(tokens::Tokens::default()),
        Box::new(weights::Weights),
        Box::new(prompt::Prompt::default()),
        Box::new(bound::Bound::default()),
        Box::new(backups::Backups::default()),
        Box::new(slices::Slices::default()),
        Box::new(drain::Drain),
        Box::new(liveness::Liveness),
    ]
}

/// The names of all checkers.
pub(crate) fn names() -> Vec<&'static str> {
    all().iter().map(|check| check.name()).collect()
}

/// All checkers on one run.
pub(crate) struct Watch {
    pub(crate) books: Books,
    checks: Vec<Box<dyn Check>>,
}

impl Watch {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self { books: Books::new(setup), checks: all() }
    }

    /// Shows an event and its decisions to all checkers; all that complain at the first complaint.
    pub(crate) fn see(&mut self, event: &Event, decisions: &[Decision]) -> Result<(), Vec<Violation>> {
        self.ask(|check, books| check.event(books, event))?;
        self.books.event(event);
        for decision in decisions {
            self.ask(|check, books| check.decision(books, decision))?;
            self.books.decision(decision);
        }
        self.ask(|check, books| check.settled(books))
    }

    /// The violation of a run that does not end.
    pub(crate) fn stuck(&self, message: &str) -> Vec<Violation> {
        vec![Violation { checker: "liveness", message: message.to_owned() }]
    }

    fn ask(&mut self, question: impl Fn(&mut dyn Check, &Books) -> Checked) -> Result<(), Vec<Violation>> {
        let found: Vec<_> = self
            .checks
            .iter_mut()
            .filter_map(|check| {
                let message = question(check.as_mut(), &self.books).err()?;
                Some(Violation { checker: check.name(), message })
            })
            .collect();
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}
