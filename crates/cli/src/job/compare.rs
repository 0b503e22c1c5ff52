//! The job file's `[compare]`: which ways of going on from one base `gearshift compare` sets side by side, and the
//! simulated cluster that they run on. Training does not look at it.

use gearshift_coordination::Gear;
use gearshift_sim::cluster::{ClusterOptions, NetworkOptions, ServerOptions, SpeedOptions};
use serde::{Deserialize, Serialize};

use super::Job;

/// The `[compare]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CompareOptions {
    /// Parts that the base is trained on; half of the parts when absent.
    pub(crate) base_parts: Option<u32>,
    /// Parts after the base; when absent all that are left but the last, which is evaluated on.
    pub(crate) parts: Option<u32>,
    /// Number of seeds, from the job's `seed` on.
    pub(crate) seeds: u32,
    /// Shares of the first part after the base at which branches are evaluated.
    pub(crate) points: Vec<f64>,
    /// How long a batch takes.
    pub(crate) speed: SpeedOptions,
    /// How long a message takes.
    pub(crate) network: NetworkOptions,
    /// How long a server takes.
    pub(crate) server: ServerOptions,
    /// The ways of going on.
    pub(crate) branch: Vec<Branch>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        let ClusterOptions { speed, network, server, .. } = ClusterOptions::default();
        Self {
            base_parts: None,
            parts: None,
            seeds: 3,
            points: vec![0.05, 0.1, 0.25, 0.5],
            speed,
            network,
            server,
            branch: Vec::new(),
        }
    }
}

impl CompareOptions {
    /// The simulated cluster; nothing fails in it.
    pub(crate) fn cluster(&self) -> ClusterOptions {
        ClusterOptions {
            speed: self.speed.clone(),
            network: self.network.clone(),
            server: self.server,
            fault: Vec::new(),
        }
    }
}

/// One `[[compare.branch]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Branch {
    /// Its name in the report.
    pub(crate) name: String,
    /// The gear in each part after the base, in turn.
    pub(crate) gears: Vec<Gear>,
    /// Settings put over the job's for this branch, each `key=value`.
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// Gear of the base; the job's `gear.start` when absent.
    #[serde(default)]
    pub(crate) base: Option<Gear>,
    /// Settings put over the job's for the base.
    #[serde(default)]
    pub(crate) base_set: Vec<String>,
}

impl Branch {
    /// How messages name it.
    pub(crate) fn owner(&self) -> String {
        format!("branch {:?}", self.name)
    }
}

/// How the parts of the data are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompareParts {
    /// The base is trained on so many, from the first on.
    pub(crate) base: u32,
    /// Each branch is trained on so many after those, each evaluated on the next one.
    pub(crate) branch: u32,
}

impl Job {
    /// The parts of a comparison, defaults filled in.
    ///
    /// # Errors
    /// When the data has too few of them: the key and what is wrong.
    pub(crate) fn compare_parts(&self) -> Result<CompareParts, (&'static str, String)> {
        let (all, compare) = (self.parts(), &self.compare);
        let base = compare.base_parts.unwrap_or(all / 2).max(1);
        let branch = compare.parts.unwrap_or_else(|| all.saturating_sub(base).saturating_sub(1)).max(1);
        if u64::from(base) + u64::from(branch) < u64::from(all) {
            return Ok(CompareParts { base, branch });
        }
        let key = match (compare.base_parts, compare.parts) {
            (_, Some(_)) => "compare.parts",
            (Some(_), None) => "compare.base_parts",
            (None, None) => "compare",
        };
        let what = format!(
            "expected base_parts + parts + 1 of at most the {all} parts of [data], got {base} + {branch} + 1"
        );
        Err((key, what))
    }
}
