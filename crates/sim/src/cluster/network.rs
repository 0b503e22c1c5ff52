//! How long a message takes from one host to another.

use serde::{Deserialize, Serialize};

/// Every role is a host with one network card, which sends one message at a time and receives one at a time. A message
/// takes the latency and its bytes over the bandwidth of the slower of the two cards; it waits for the sender's card in
/// the order of sending, for the receiver's in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NetworkOptions {
    /// Microseconds from host to host.
    pub latency_us: f64,
    /// Up to so many more, drawn for each message; order on a link is kept.
    pub latency_jitter_us: f64,
    /// Gigabits per second of a card; unlimited when absent.
    pub gbit: Option<f64>,
    /// Workers with another link.
    pub link: Vec<LinkOptions>,
}

/// A worker's own link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOptions {
    /// The worker.
    pub worker: u32,
    /// Microseconds to and from it; as the network's when absent.
    pub latency_us: Option<f64>,
    /// Gigabits per second of its card; as the network's when absent.
    pub gbit: Option<f64>,
}
