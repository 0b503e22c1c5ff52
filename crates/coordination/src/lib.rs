//! The rules of the gears: when a worker may start, which gradients make a step, with which weight.
//!
//! Knows no vectors, tables, clock, socket, thread or randomness: events in, decisions out. [`engage`] makes the
//! [`Rule`] of a gear; each gear has a file of its own, and a folder of transcripts in `testdata` that shows what
//! it decides.

mod advice;
mod arrivals;
mod asynchronous;
mod backup_workers;
mod bounded_staleness;
mod buffer;
mod clocks;
pub mod decay;
mod engage;
pub mod error;
pub mod event;
mod flow;
mod gba;
mod k_batch;
mod leases;
pub mod options;
mod position;
pub mod rule;
mod supply;
mod synchronous;
mod turns;

pub use advice::advice;
pub use engage::{check, engage};
pub use error::GearError;
pub use event::{Decision, Event};
pub use options::{BatchOptions, DecayKind, Engagement, Gear, GearOptions, TokenKind};
pub use rule::Rule;
