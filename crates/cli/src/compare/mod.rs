//! Comparing gears: a base is trained in one gear, then continued from the same checkpoint, with the same sample order
//! and unchanged hyper-parameters, in every other gear, in virtual time. A *branch* is one such way to continue.

pub(crate) mod cache;
pub(crate) mod describe;
pub(crate) mod live;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod stage;
pub(crate) mod tune;
