//! What must hold in every run, one checker per invariant. Each watches the messages of a run and says what is
//! wrong: who, what was expected, what came.
//!
//! Checkers do not ask the machines; they keep books of their own from what is said (`books`) and know what
//! the job was promised: the settings of its [`Scenario`].

mod books;
mod bounds;
mod clocks;
mod commits;
mod drained;
mod facts;
mod held;
mod ledger;
mod once;
mod pace;
mod progress;
mod pulls;
mod replay;
mod rows;
mod starved;
mod tokens;
mod turns;
mod weights;

use std::cell::RefCell;
use std::rc::Rc;

use gearshift_types::Time;

use crate::moment::{Moment, Watcher};
use crate::search::Scenario;
use books::{Books, Keeper, Shared};

/// One invariant.
trait Check {
    /// Its name, first in every complaint.
    const NAME: &'static str;

    fn check(&mut self, books: &Books, now: Time, moment: &Moment<'_>) -> Result<(), String>;
}

/// A checker and the books that it reads.
struct Checker<C> {
    books: Shared,
    check: C,
}

impl<C: Check> Watcher for Checker<C> {
    fn watch(&mut self, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let checked = self.check.check(&self.books.borrow(), now, moment);
        checked.map_err(|text| format!("{}: {text}", C::NAME))
    }
}

/// The names of all checkers, in their order.
pub const NAMES: [&str; 13] = [
    ledger::Ledger::NAME,
    commits::Commits::NAME,
    held::HeldByAll::NAME,
    pulls::Pulls::NAME,
    pace::Pace::NAME,
    drained::Drained::NAME,
    once::Once::NAME,
    starved::Starved::NAME,
    tokens::Tokens::NAME,
    bounds::Bounds::NAME,
    weights::Weights::NAME,
    progress::Progress::NAME,
    replay::Replay::NAME,
];

/// All checkers, for a run that is to keep what `scenario` promises. Their order matters: the books are kept first.
#[must_use]
pub fn all(scenario: &Rc<Scenario>) -> Vec<Box<dyn Watcher>> {
    let books: Shared = Rc::new(RefCell::new(Books::new()));
    let mut watchers: Vec<Box<dyn Watcher>> = vec![Box::new(Keeper(Rc::clone(&books)))];
    let told = || Rc::clone(scenario);
    let mut add = |make: &dyn Fn(Shared) -> Box<dyn Watcher>| watchers.push(make(Rc::clone(&books)));
    add(&|books| Box::new(Checker { books, check: ledger::Ledger::new(told()) }));
    add(&|books| Box::new(Checker { books, check: commits::Commits::new(told()) }));
    add(&|books| Box::new(Checker { books, check: held::HeldByAll::new(told()) }));
    add(&|books| Box::new(Checker { books, check: pulls::Pulls::new(told()) }));
    add(&|books| Box::new(Checker { books, check: pace::Pace::new(told()) }));
    add(&|books| Box::new(Checker { books, check: drained::Drained::new(told()) }));
    add(&|books| Box::new(Checker { books, check: once::Once::default() }));
    add(&|books| Box::new(Checker { books, check: starved::Starved::new(told()) }));
    add(&|books| Box::new(Checker { books, check: tokens::Tokens::new(told()) }));
    add(&|books| Box::new(Checker { books, check: bounds::Bounds::new(told()) }));
    add(&|books| Box::new(Checker { books, check: weights::Weights::new(told()) }));
    add(&|books| Box::new(Checker { books, check: progress::Progress::new(told()) }));
    add(&|books| Box::new(Checker { books, check: replay::Replay::new(told()) }));
    watchers
}
