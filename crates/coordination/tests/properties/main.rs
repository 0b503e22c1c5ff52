//! Every rule under random orders of events, made by a small model of workers and watched by one checker per
//! invariant; and the same checkers on rules with a bug planted, to show that each is worth having.

#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod books;
mod checks;
mod model;
mod planted;
mod rules;
mod setup;
mod skins;
