//! Tests of shards through their public interface.

mod checkpoint;
mod servers;
mod support;
