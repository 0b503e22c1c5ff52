//! The job file's `[[shift]]` and `[[fault]]`: what happens on purpose, and when.

use gearshift_coordination::Gear;
use serde::{Deserialize, Serialize};

/// When a shift is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ShiftAt {
    /// When so many samples of the run have been applied, dropped, discarded or failed.
    Sample(u64),
    /// When this part (from 0) is due; nothing of it has been granted.
    Part(u32),
    /// So many seconds after the start of the run.
    Seconds(f64),
}

/// One `[[shift]]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ShiftTable", into = "ShiftTable")]
pub(crate) struct Shift {
    /// The new gear.
    pub(crate) to: Gear,
    /// When it is asked for.
    pub(crate) at: ShiftAt,
}

/// A [`Shift`] as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShiftTable {
    to: Gear,
    at_sample: Option<u64>,
    at_part: Option<u32>,
    at_seconds: Option<f64>,
}

impl TryFrom<ShiftTable> for Shift {
    type Error = &'static str;

    fn try_from(table: ShiftTable) -> Result<Self, Self::Error> {
        let at = match (table.at_sample, table.at_part, table.at_seconds) {
            (Some(sample), None, None) => ShiftAt::Sample(sample),
            (None, Some(part), None) => ShiftAt::Part(part),
            (None, None, Some(seconds)) => ShiftAt::Seconds(seconds),
            _ => return Err("a shift needs exactly one of at_sample, at_part, at_seconds"),
        };
        Ok(Self { to: table.to, at })
    }
}

impl From<Shift> for ShiftTable {
    fn from(shift: Shift) -> Self {
        let mut table = Self { to: shift.to, at_sample: None, at_part: None, at_seconds: None };
        match shift.at {
            ShiftAt::Sample(sample) => table.at_sample = Some(sample),
            ShiftAt::Part(part) => table.at_part = Some(part),
            ShiftAt::Seconds(seconds) => table.at_seconds = Some(seconds),
        }
        table
    }
}

/// How a worker fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FaultKind {
    /// Its thread panics in the middle of a batch, the gradient unsent.
    Panic,
    /// It finishes its batch and leaves.
    Leave,
}

/// When a worker fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultAt {
    /// In its batch of this number, from 0.
    Batch(u64),
    /// In the first of its batches that is granted after so many samples of the run.
    Sample(u64),
}

/// One `[[fault]]`: a worker that fails on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FaultTable", into = "FaultTable")]
pub(crate) struct Fault {
    /// The worker, from 0.
    pub(crate) worker: u32,
    /// How it fails.
    pub(crate) kind: FaultKind,
    /// When it fails.
    pub(crate) at: FaultAt,
    /// It comes back after so many seconds; never when absent.
    pub(crate) rejoin_seconds: Option<f64>,
}

/// A [`Fault`] as written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultTable {
    worker: u32,
    kind: FaultKind,
    at_batch: Option<u64>,
    at_sample: Option<u64>,
    rejoin_seconds: Option<f64>,
}

impl TryFrom<FaultTable> for Fault {
    type Error = &'static str;

    fn try_from(table: FaultTable) -> Result<Self, Self::Error> {
        let at = match (table.at_batch, table.at_sample) {
            (Some(batch), None) => FaultAt::Batch(batch),
            (None, Some(sample)) => FaultAt::Sample(sample),
            _ => return Err("a fault needs exactly one of at_batch, at_sample"),
        };
        Ok(Self { worker: table.worker, kind: table.kind, at, rejoin_seconds: table.rejoin_seconds })
    }
}

impl From<Fault> for FaultTable {
    fn from(fault: Fault) -> Self {
        let (at_batch, at_sample) = match fault.at {
            FaultAt::Batch(batch) => (Some(batch), None),
            FaultAt::Sample(sample) => (None, Some(sample)),
        };
        Self {
            worker: fault.worker,
            kind: fault.kind,
            at_batch,
            at_sample,
            rejoin_seconds: fault.rejoin_seconds,
        }
    }
}
