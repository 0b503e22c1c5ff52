//! The rules of the gears: when a worker may start, which gradients make a step, with which weight.
//!
//! Knows no vectors, tables, clock, socket, thread or randomness: events in, decisions out.

pub mod event;
pub mod options;
pub mod rule;

pub use event::{Decision, Event};
pub use options::{BatchOptions, DecayKind, Engagement, Gear, GearOptions, TokenKind};
pub use rule::Rule;
