//! The whole job, and the sections that no lower crate needs.

use std::path::PathBuf;

use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_data::DataOptions;
use gearshift_embedding::UpdateOptions;
use gearshift_model::ModelOptions;
use serde::{Deserialize, Deserializer, Serialize};

use super::{ClusterOptions, CompareOptions, Fault, Shift, Straggler};

/// One training run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Job {
    /// Name, shown in progress and written into checkpoints.
    #[serde(default = "default_name")]
    pub(crate) name: String,
    /// Seed of everything drawn at random: initial rows and dense parameters, shuffles, generated data.
    #[serde(default = "default_seed")]
    pub(crate) seed: u64,
    /// Where samples come from.
    pub(crate) data: DataOptions,
    /// The model.
    #[serde(default)]
    pub(crate) model: ModelOptions,
    /// How parameters are updated.
    #[serde(default)]
    pub(crate) optimizer: UpdateOptions,
    /// Samples per update and per gradient.
    pub(crate) batch: BatchOptions,
    /// The gear at the start and the settings of all gears.
    #[serde(default)]
    pub(crate) gear: GearSection,
    /// Shifts by hand, in the order of the file.
    #[serde(default)]
    pub(crate) shift: Vec<Shift>,
    /// Workers, servers and the limits between them.
    #[serde(default)]
    pub(crate) cluster: ClusterOptions,
    /// Workers slowed down on purpose.
    #[serde(default)]
    pub(crate) straggler: Vec<Straggler>,
    /// Workers that fail on purpose.
    #[serde(default)]
    pub(crate) fault: Vec<Fault>,
    /// Checkpoints.
    #[serde(default)]
    pub(crate) checkpoint: CheckpointOptions,
    /// Files written besides checkpoints.
    #[serde(default)]
    pub(crate) output: OutputOptions,
    /// Evaluation.
    #[serde(default)]
    pub(crate) evaluate: EvaluateOptions,
    /// What `gearshift compare` sets side by side.
    #[serde(default)]
    pub(crate) compare: CompareOptions,
    /// The job file's folder, which `data.folder` is relative to; the working directory without a file. Not a
    /// key of the file.
    #[serde(skip)]
    pub(crate) base: PathBuf,
}

fn default_name() -> String {
    "job".to_owned()
}

fn default_seed() -> u64 {
    1
}

/// The `[gear]` table: `start` and the fields of [`GearOptions`] side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GearSection {
    /// The gear at the start.
    pub(crate) start: Gear,
    /// Settings of all gears; each gear reads its own.
    #[serde(flatten)]
    pub(crate) options: GearOptions,
}

impl Default for GearSection {
    fn default() -> Self {
        Self { start: Gear::Synchronous, options: GearOptions::default() }
    }
}

/// By hand: serde's `flatten` would let unknown keys through.
impl<'de> Deserialize<'de> for GearSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let mut table = toml::Table::deserialize(deserializer)?;
        let start = match table.remove("start") {
            Some(value) => value.try_into().map_err(D::Error::custom)?,
            None => Self::default().start,
        };
        let options = table.try_into().map_err(D::Error::custom)?;
        Ok(Self { start, options })
    }
}

/// The `[checkpoint]` table. Paths are relative to the working directory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CheckpointOptions {
    /// Folder of the checkpoints, one folder per step in it; without it none are taken.
    pub(crate) folder: Option<PathBuf>,
    /// Take one after so many samples since the last.
    pub(crate) every_samples: Option<u64>,
    /// Take one after so many minutes since the last.
    pub(crate) every_minutes: Option<f64>,
    /// Take one at the end of every part of the data.
    pub(crate) at_part_end: bool,
    /// How many are kept; older ones are deleted.
    pub(crate) keep: u32,
}

impl Default for CheckpointOptions {
    fn default() -> Self {
        Self { folder: None, every_samples: None, every_minutes: None, at_part_end: true, keep: 3 }
    }
}

/// The `[output]` table. Paths are relative to the working directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OutputOptions {
    /// The report of the run as one JSON object.
    pub(crate) json: Option<PathBuf>,
    /// The commit log, from which the run can be replayed bit for bit.
    pub(crate) commit_log: Option<PathBuf>,
}

/// The `[evaluate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EvaluateOptions {
    /// As soon as part d ends, evaluate on part d + 1.
    pub(crate) each_part: bool,
    /// Samples per evaluation batch.
    pub(crate) batch: u32,
}

impl Default for EvaluateOptions {
    fn default() -> Self {
        Self { each_part: true, batch: 4096 }
    }
}
