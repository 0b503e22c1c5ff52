//! What can be wrong with the settings of a gear.

use crate::options::Gear;

/// A gear that cannot be engaged with these settings.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GearError {
    /// A size of 0.
    #[error("{gear}: {setting} is 0; an update needs at least one sample, set it to 1 or more")]
    ZeroSize {
        /// The gear.
        gear: Gear,
        /// The setting, as in the job file.
        setting: &'static str,
    },
    /// B does not divide G.
    #[error(
        "{gear}: the local batch {local} does not divide the global batch {global} ({global} / {local} leaves \
         {}); set batch.local to a divisor such as {}", global % local, largest_divisor(*global, *local)
    )]
    LocalDoesNotDivide {
        /// The gear.
        gear: Gear,
        /// Samples per update (G).
        global: u32,
        /// Samples per gradient (B).
        local: u32,
    },
    /// The exponent of the decay is no number or negative.
    #[error(
        "{gear}: gear.power is {got}; expected a finite number that is not negative (a weight is \
         (1 + staleness)^-power and must not exceed 1)"
    )]
    Power {
        /// The gear.
        gear: Gear,
        /// The value found.
        got: f32,
    },
    /// No gear has this name.
    #[error("no gear is called {got:?}; expected one of {}", crate::options::names())]
    Unknown {
        /// The name found.
        got: String,
    },
}

/// The largest divisor of `global` that is at most `local`.
fn largest_divisor(global: u32, local: u32) -> u32 {
    (1..=local.min(global)).rev().find(|&size| global.is_multiple_of(size)).unwrap_or(1)
}
