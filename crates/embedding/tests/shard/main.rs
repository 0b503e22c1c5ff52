//! Tests of shards through their public interface.
#![expect(clippy::unwrap_used, reason = "tests")]

mod checkpoint;
mod memory;
mod requests;
mod servers;
mod support;
