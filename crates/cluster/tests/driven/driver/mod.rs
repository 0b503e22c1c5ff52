//! Drives the real machines in one thread: channels that keep their order, a seed that decides which one moves.

pub(crate) mod carry;
pub(crate) mod data;
pub(crate) mod inspect;
pub(crate) mod job;
pub(crate) mod learner;
pub(crate) mod numbers;
pub(crate) mod run;

pub(crate) use data::Data;
pub(crate) use inspect::check_books;
pub(crate) use job::{Job, optimizer};
pub(crate) use numbers::Numbers;
pub(crate) use run::{Order, Run};
