//! The one trait of all gears.

use crate::event::{Decision, Event};
use crate::options::Gear;

/// A gear's rule: a machine without vectors, tables, clock, socket, thread or randomness.
pub trait Rule: Send {
    /// Which gear it is.
    fn gear(&self) -> Gear;

    /// Takes an event and appends what follows from it, in the order in which it is to be carried out. After
    /// [`Decision::Drained`] events are ignored; requests that still wait then are for the next rule to be told.
    ///
    /// # Panics
    /// On events that break the contract of [`Event`], such as a push of a batch that was never granted: the
    /// caller checks those before.
    fn on_event(&mut self, event: Event, decisions: &mut Vec<Decision>);
}
