//! Identifiers: small `Copy` wrappers, so that a worker is never mistaken for a server.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$meta:meta])* $name:ident($inner:ty)) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id! {
    /// A worker: computes gradients.
    WorkerId(u32)
}
id! {
    /// One life of a worker; a push from an older epoch is refused.
    WorkerEpoch(u32)
}
id! {
    /// A server: holds one shard and applies updates.
    ServerId(u32)
}
id! {
    /// An embedding table, by position in [`crate::ModelSpec::tables`].
    TableId(u16)
}
id! {
    /// One granted batch. Numbered in grant order over the whole run, so sorting by it is the grant order.
    BatchId(u64)
}
id! {
    /// Number of updates applied, which is the version of the model.
    Step(u64)
}
id! {
    /// The step that a batch counts toward.
    Token(u64)
}

/// A 64-bit hashed ID of one value of a feature.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    bytemuck::Pod,
    bytemuck::Zeroable,
)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Key(pub u64);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl Step {
    /// The step after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Staleness in steps of a token when its gradient is committed at this step; negative when early.
    #[must_use]
    pub fn staleness_steps(self, token: Token) -> i64 {
        self.0 as i64 - token.0 as i64
    }
}
