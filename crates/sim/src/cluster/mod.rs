//! What a simulated cluster is like: how fast its workers, links and servers are and what goes wrong. The keys of
//! a cluster file.

mod fault;
mod network;
mod server;
mod speed;

use serde::{Deserialize, Serialize};

pub use fault::{Fault, FaultKind};
pub use network::{LinkOptions, NetworkOptions};
pub use server::{ServerOptions, Workload};
pub use speed::{LoadOptions, LoadPattern, NoiseOptions, Slow, SpeedModel, SpeedOptions, Trace, TraceError};

/// A cluster but for its size, which a job says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterOptions {
    /// How long a batch takes.
    pub speed: SpeedOptions,
    /// How long a message takes.
    pub network: NetworkOptions,
    /// How long a server takes.
    pub server: ServerOptions,
    /// What goes wrong.
    pub fault: Vec<Fault>,
}
