//! What a checkpoint says besides parameters: where the job stood. Written last; without it there is no
//! checkpoint.

use std::collections::BTreeMap;

use gearshift_coordination::Gear;
use gearshift_types::{BatchId, PartId, RowRange, Step};
use serde::{Deserialize, Serialize};

use crate::ledger::SampleCounts;

/// The version of the checkpoint format that this code writes and reads.
pub const FORMAT_VERSION: u32 = 1;

/// Where a job stands at a step boundary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Number of updates applied.
    pub step: Step,
    /// The next batch id.
    pub next_batch: BatchId,
    /// The gear in force. It is engaged anew with k0 = step.
    pub gear: Gear,
    /// Shifts of the job's plan that are done.
    pub shifts_done: u32,
    /// The part under way (or the next one, when none is).
    pub part: PartId,
    /// Blocks at its start that are finished.
    pub finished_blocks: u32,
    /// Rows of later blocks that have met their fate.
    pub resolved: Vec<RowRange>,
    /// The ledger.
    pub samples: SampleCounts,
    /// Training time so far, seconds.
    pub trained_seconds: f64,
}

/// One server's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerFile {
    /// Name in the checkpoint's folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes, hexadecimal.
    pub sha256: String,
    /// Rows per table.
    pub rows: BTreeMap<String, u64>,
}

/// One table of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestTable {
    /// Name.
    pub name: String,
    /// Length of a row's vector.
    pub dim: u64,
    /// Rows over all servers.
    pub rows: u64,
    /// Digest over all rows and slots, the same for any number of servers; hexadecimal.
    pub digest: String,
}

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// The program's version.
    pub gearshift_version: String,
    /// Name of the job.
    pub job_name: String,
    /// The job file as it ran, in TOML.
    pub job: String,
    /// Where the job stood.
    pub position: Position,
    /// Partitions of the key space.
    pub partitions: u32,
    /// Servers that wrote it.
    pub servers: u32,
    /// Tables.
    pub tables: Vec<ManifestTable>,
    /// Floats of dense parameters.
    pub dense_len: u64,
    /// Digest over dense parameters and slots, the same for any number of servers; hexadecimal.
    pub dense_digest: String,
    /// Files.
    pub files: Vec<ServerFile>,
    /// SHA-256 of this manifest as compact JSON with this field empty, hexadecimal.
    pub checksum: String,
}
