//! The structs that a cluster file is read into.

use std::path::PathBuf;

use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_sim::cluster::{
    ClusterOptions, Fault, NetworkOptions, ServerOptions, SpeedOptions, Trace, Workload,
};
use serde::{Deserialize, Serialize};

/// A whole cluster file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClusterFile {
    /// Name, shown above the tables.
    #[serde(default = "default_name")]
    pub(crate) name: String,
    /// Seed of batch times and latencies.
    #[serde(default = "default_seed")]
    pub(crate) seed: u64,
    /// Global batches that each run is measured over.
    #[serde(default = "default_steps")]
    pub(crate) steps: u64,
    /// Gears to run when there is no [`RunOptions`].
    #[serde(default = "default_gears")]
    pub(crate) gears: Vec<Gear>,
    /// Samples per update and gradient.
    pub(crate) batch: BatchOptions,
    /// Settings of the gears.
    #[serde(default)]
    pub(crate) gear: GearOptions,
    /// Its size.
    #[serde(default)]
    pub(crate) cluster: SizeOptions,
    /// How long a batch takes.
    #[serde(default)]
    pub(crate) speed: SpeedOptions,
    /// How long a message takes.
    #[serde(default)]
    pub(crate) network: NetworkOptions,
    /// How long a server takes.
    #[serde(default)]
    pub(crate) server: ServerOptions,
    /// What batches weigh.
    #[serde(default)]
    pub(crate) workload: Workload,
    /// What goes wrong.
    #[serde(default)]
    pub(crate) fault: Vec<Fault>,
    /// Rows of the tables; without any, one for each of `gears`.
    #[serde(default)]
    pub(crate) run: Vec<RunOptions>,
    /// Tables; without any, one of the file as it is.
    #[serde(default)]
    pub(crate) scenario: Vec<Scenario>,
    /// The x axis of the picture.
    #[serde(default)]
    pub(crate) sweep: Option<Sweep>,
    /// The file's folder, which `speed.trace` is relative to. Not a key of the file.
    #[serde(skip)]
    pub(crate) base: PathBuf,
    /// What `speed.trace` names. Not a key of the file.
    #[serde(skip)]
    pub(crate) trace: Option<Trace>,
}

fn default_name() -> String {
    "cluster".to_owned()
}

fn default_seed() -> u64 {
    1
}

fn default_steps() -> u64 {
    1000
}

fn default_gears() -> Vec<Gear> {
    Gear::ALL.to_vec()
}

impl ClusterFile {
    /// The cluster but for its size.
    pub(crate) fn options(&self) -> ClusterOptions {
        ClusterOptions {
            speed: self.speed.clone(),
            network: self.network.clone(),
            server: self.server,
            fault: self.fault.clone(),
        }
    }

    /// The rows of the tables.
    pub(crate) fn runs(&self) -> Vec<RunOptions> {
        if !self.run.is_empty() {
            return self.run.clone();
        }
        let run = |&gear: &Gear| RunOptions { name: gear.to_string(), gear, set: Vec::new() };
        self.gears.iter().map(run).collect()
    }

    /// The tables.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        if !self.scenario.is_empty() {
            return self.scenario.clone();
        }
        vec![Scenario { name: "the cluster as it is".to_owned(), set: Vec::new() }]
    }
}

/// The `[cluster]` table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SizeOptions {
    /// Number of workers.
    pub(crate) workers: u32,
    /// Number of servers.
    pub(crate) servers: u32,
    /// Pull for the next batch while this one computes; costs one batch of version staleness.
    pub(crate) pull_ahead: bool,
    /// Largest number of pushes of one worker that not all servers have acknowledged yet.
    pub(crate) unacknowledged_pushes: u32,
    /// A worker that has shown no sign of life for so long is taken as dead; its samples are granted again.
    pub(crate) lease_seconds: f64,
    /// A worker that holds up a shift for longer loses its lease.
    pub(crate) drain_seconds: f64,
}

impl Default for SizeOptions {
    fn default() -> Self {
        Self {
            workers: 8,
            servers: 1,
            pull_ahead: false,
            unacknowledged_pushes: 2,
            lease_seconds: 60.0,
            drain_seconds: 30.0,
        }
    }
}

/// One `[[run]]`: a row of the tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunOptions {
    /// Its name.
    pub(crate) name: String,
    /// Its gear.
    pub(crate) gear: Gear,
    /// Settings put over the file, each `key=value`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

/// One `[[scenario]]`: a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// Its title.
    pub(crate) name: String,
    /// Settings put over the file, each `key=value`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

/// The `[sweep]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    /// A key of the file that takes a number.
    pub(crate) key: String,
    /// Its values.
    pub(crate) values: Vec<f64>,
}
