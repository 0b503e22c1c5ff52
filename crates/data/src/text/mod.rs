//! Text files: unpacking, lines, bad lines, parts, and the data set of any text format.

pub(crate) mod bad;
pub(crate) mod lines;
pub(crate) mod parts;
pub(crate) mod set;
pub(crate) mod unpack;
mod zst;
