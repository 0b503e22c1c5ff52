//! The part of a job that a rule needs, as written in the job file's `[gear]` and `[batch]`.

use std::fmt;
use std::str::FromStr;

use gearshift_types::{BatchId, Step};
use serde::{Deserialize, Serialize};

use crate::error::GearError;

/// The rule in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gear {
    /// Every step waits for slices of all workers, as all-reduce does.
    Synchronous,
    /// Global Batch gradients Aggregation: one update per global batch, stale tokens decayed.
    Gba,
    /// Every push is an update.
    Asynchronous,
    /// Asynchronous, but no worker runs ahead of the slowest by more than a bound (Hop-BS, SSP).
    BoundedStaleness,
    /// Synchronous, but a step takes the first N - b gradients (Hop-BW).
    BackupWorkers,
    /// An update per K gradients, no tokens (K-batch-async).
    KBatch,
}

impl Gear {
    /// All gears.
    pub const ALL: [Self; 6] = [
        Self::Synchronous,
        Self::Gba,
        Self::Asynchronous,
        Self::BoundedStaleness,
        Self::BackupWorkers,
        Self::KBatch,
    ];

    /// Whether a batch is computed only with the parameters of its step: its pull waits until the step that its
    /// token names has been applied.
    #[must_use]
    pub fn waits_for_step(self) -> bool {
        matches!(self, Self::Synchronous | Self::BackupWorkers)
    }

    /// Its name in job files, commands and reports; what `Display` shows and `FromStr` reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Gba => "gba",
            Self::Asynchronous => "asynchronous",
            Self::BoundedStaleness => "bounded_staleness",
            Self::BackupWorkers => "backup_workers",
            Self::KBatch => "k_batch",
        }
    }
}

/// The names of all gears, for messages.
pub(crate) fn names() -> String {
    Gear::ALL.map(Gear::name).join(", ")
}

impl fmt::Display for Gear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Gear {
    type Err = GearError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|gear| gear.name() == name)
            .ok_or_else(|| GearError::Unknown { got: name.to_owned() })
    }
}

/// How a gradient loses weight with staleness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecayKind {
    /// Weight 1 up to `tolerance_steps`, else 0, on the token's staleness.
    #[default]
    Hard,
    /// `(1 + s)^-power` for token staleness s > 0.
    Power,
    /// Always 1.
    None,
    /// `(1 + v)^-power`, v = step at commit minus version at pull: the guard for many workers.
    VersionPower,
}

/// What a token holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// The position of the batch in the grant order: k0 + floor((grants - losses) / M).
    #[default]
    Position,
    /// The version at pull; an ablation.
    Version,
}

/// Settings of all gears; each gear reads its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GearOptions {
    /// gba: the decay.
    pub decay: DecayKind,
    /// gba: largest staleness with weight 1 (the paper's iota).
    pub tolerance_steps: u32,
    /// gba: exponent of the power decays.
    pub power: f32,
    /// gba: what a token holds.
    pub tokens: TokenKind,
    /// bounded_staleness: how many clocks a worker may be ahead of the slowest when it starts a batch.
    pub bound_clocks: u32,
    /// backup_workers: how many of the N gradients of a step are not waited for.
    pub backups: u32,
    /// k_batch: local batches per update; when absent global / local.
    pub k_batches: Option<u32>,
}

impl Default for GearOptions {
    fn default() -> Self {
        Self {
            decay: DecayKind::Hard,
            tolerance_steps: 3,
            power: 0.5,
            tokens: TokenKind::Position,
            bound_clocks: 2,
            backups: 1,
            k_batches: None,
        }
    }
}

/// Samples per update and per gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchOptions {
    /// Samples of one update (G).
    pub global: u32,
    /// Samples of one gradient (B) outside the synchronous gear; divides `global`.
    pub local: u32,
}

/// Where a rule takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engagement {
    /// Number of updates applied so far (k0).
    pub step: Step,
    /// The first batch id that the rule may use.
    pub next_batch: BatchId,
    /// Samples per update and gradient.
    pub batch: BatchOptions,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::{IntoDeserializer, value};

    #[test]
    fn job_files_use_the_names_that_are_shown() {
        for gear in Gear::ALL {
            let name: value::StrDeserializer<'_, value::Error> = gear.name().into_deserializer();
            assert_eq!(Gear::deserialize(name), Ok(gear));
        }
        assert_eq!(format!("{:>8}|", Gear::Gba), "     gba|");
    }
}
