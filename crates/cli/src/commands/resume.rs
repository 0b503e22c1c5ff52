//! Whether a job may go on from a checkpoint: the rows that it counts as trained must be the same rows, and rows not
//! yet touched must start as they would have.

use std::path::{Path, PathBuf};

use anyhow::bail;
use gearshift_runtime::{Checkpoint, CheckpointFolder};

use crate::job::Job;
use crate::wiring;

/// The checkpoint that a job goes on from, checked to be one of that job.
pub(crate) fn check(job: &Job, path: &Path) -> anyhow::Result<PathBuf> {
    if let Some(folder) = job.checkpoint.folder.as_ref().filter(|folder| folder.is_dir()) {
        // Puts back a checkpoint that a killed run was about to replace.
        CheckpointFolder::create(folder, job.checkpoint.keep as usize)?;
    }
    let checkpoint = Checkpoint::open(path)?;
    let manifest = checkpoint.manifest();
    let before = wiring::job_unchecked(checkpoint.path(), &manifest.job)?;
    let differing = differences(&before, job, manifest.position.shifts_done as usize);
    if !differing.is_empty() {
        bail!(
            "cannot go on from {}: it was made with other settings that decide which rows are which and how they start: {}. Put them back, or start anew",
            checkpoint.path().display(),
            differing.join(", ")
        );
    }
    tracing::info!("going on from {} at step {}", checkpoint.path().display(), manifest.position.step);
    Ok(checkpoint.path().to_owned())
}

/// Keys that must be as they were and are not. More parts at the end are no difference.
fn differences(before: &Job, now: &Job, shifts_done: usize) -> Vec<String> {
    let (mut old, mut new) = (before.data.clone(), now.data.clone());
    // Where the files lie, and what is done with rows that are left out or only evaluated, may change.
    new.folder.clone_from(&old.folder);
    new.evaluate.clone_from(&old.evaluate);
    new.bad_line_share_max = old.bad_line_share_max;
    if new.train.starts_with(&old.train) {
        new.train.clone_from(&old.train);
    }
    old.generated.parts = old.generated.parts.min(new.generated.parts);
    new.generated.parts = old.generated.parts;
    if let (Some(old), Some(new)) = (old.split.as_mut(), new.split.as_mut())
        && old.rows_per_part.is_some()
    {
        old.parts = old.parts.min(new.parts);
        new.parts = old.parts;
    }
    let mut differing = Vec::new();
    if before.seed != now.seed {
        differing.push(format!("seed ({} then, {} now)", before.seed, now.seed));
    }
    let (old, new) = (table(&old), table(&new));
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        if old.get(key) != new.get(key) {
            differing.push(format!("data.{key}"));
        }
    }
    let (old, new) = (table(&before.model), table(&now.model));
    differing
        .extend(old.keys().filter(|key| old.get(*key) != new.get(*key)).map(|key| format!("model.{key}")));
    if before.shift.get(..shifts_done) != now.shift.get(..shifts_done) {
        differing.push(format!("the first {shifts_done} shifts, which have been made"));
    }
    differing
}

fn table(options: &impl serde::Serialize) -> toml::Table {
    toml::Table::try_from(options).unwrap_or_default()
}
