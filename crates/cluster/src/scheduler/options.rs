//! What a job tells its scheduler.

use std::time::Duration;

use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_types::PartId;
use serde::{Deserialize, Serialize};

/// When a planned shift is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShiftAt {
    /// When so many samples of the run have met their fate.
    Sample(u64),
    /// At the start of a part.
    Part(PartId),
    /// After so much training time.
    Elapsed(Duration),
}

/// A shift of the job's plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedShift {
    /// When.
    pub at: ShiftAt,
    /// To which gear.
    pub to: Gear,
}

/// What happens when a gradient is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNonFinite {
    /// Leave the gradient out and count its samples as failed.
    #[default]
    Drop,
    /// End the job.
    Stop,
}

/// The scheduler's settings.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// The gear at the start.
    pub start: Gear,
    /// Settings of the gears.
    pub gears: GearOptions,
    /// Samples per update and gradient.
    pub batch: BatchOptions,
    /// Shifts in the order in which they come due.
    pub shifts: Vec<PlannedShift>,
    /// Training starts when so many workers have joined, or with fewer once no other has come for a lease.
    pub workers: u32,
    /// Number of servers.
    pub servers: u32,
    /// Parts of the training data.
    pub parts: u32,
    /// Whether a part is evaluated on the next one.
    pub evaluate_each_part: bool,
    /// Whether there is a final evaluation set.
    pub final_evaluation: bool,
    /// Samples per evaluation task.
    pub evaluation_batch: u32,
    /// A worker that has not been seen for so long is dead.
    pub lease: Duration,
    /// A worker that holds up a shift longer loses its lease.
    pub drain: Duration,
    /// What happens when a gradient is not finite.
    pub on_nonfinite: OnNonFinite,
    /// Clip the mean gradient of a commit to this norm.
    pub clip_norm: Option<f32>,
    /// Whether checkpoints are written at all.
    pub checkpoints: bool,
    /// A checkpoint every so many samples.
    pub checkpoint_every_samples: Option<u64>,
    /// A checkpoint every so often.
    pub checkpoint_every: Option<Duration>,
    /// A checkpoint at the end of each part.
    pub checkpoint_at_part_end: bool,
}
