//! One part of a run in virtual time.

use std::sync::Arc;

use gearshift_cluster::{Outcome, Position, SampleCounts, SchedulerOptions};
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, PartId, Step};

use super::evaluate::Evaluations;
use super::{PartRun, Stage};
use crate::parts::PartError;
use crate::simulation::{Checkpoint, Setup, SimError, Simulation};
use crate::training::TrainingWorld;
use crate::world::World;

/// Why a part cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The data cannot be had.
    #[error(transparent)]
    Part(#[from] PartError),
    /// The simulation cannot go on.
    #[error(transparent)]
    Simulation(#[from] SimError),
    /// The model cannot be built, or the job failed.
    #[error("{0}")]
    Job(String),
}

/// The position of a job that has not begun.
fn start(gear: Gear) -> Position {
    Position {
        step: Step(0),
        next_batch: BatchId(0),
        gear,
        shifts_done: 0,
        part: PartId(0),
        finished_blocks: 0,
        resolved: Vec::new(),
        samples: Default::default(),
        trained_seconds: 0.0,
    }
}

/// Trains one part in `gear`, from where `from` stands (at its beginning), and evaluates on the next one at the given
/// shares of it (ascending) and at its end. Nothing is carried over from one part to the next but parameters, slots,
/// step and position: all outstanding gradients are in. `progress` is told the share of the part that is done.
///
/// # Errors
/// When data or model cannot be used, or the job fails.
pub fn run_part(
    stage: &Stage,
    from: Option<&Checkpoint>,
    part: PartId,
    gear: Gear,
    points: &[f64],
    progress: &mut dyn FnMut(f64),
) -> Result<(Checkpoint, PartRun), CompareError> {
    let world = world(stage)?;
    let next = PartId(part.0 + 1);
    let test = (next.0 < stage.data.parts().len() as u32).then(|| stage.parts.part(next)).transpose()?;
    // Held until the end: it is opened below.
    let own = stage.parts.part(part)?;
    let samples = own.samples();
    let mut position = from.map_or_else(|| start(gear), |from| from.position.clone());
    (position.gear, position.part, position.shifts_done) = (gear, part, 0);
    let before = position.samples;
    let files = match from {
        Some(from) => from.files.clone(),
        None => fresh_files(stage, &world)?,
    };
    let setup = Setup {
        scheduler: scheduler_options(stage, part, gear),
        worker: stage.worker,
        cluster: stage.cluster.clone(),
        trace: stage.trace.clone(),
        seed: stage.seed,
        resume: Some(Checkpoint { files, position }),
        keep_log: false,
    };
    let mut simulation = Simulation::new(setup, world)?;
    let mut evaluations = Evaluations::new(stage, test, samples, before.resolved(), points);
    let mut moves = 0_u64;
    while simulation.advance()? {
        moves += 1;
        if moves.is_multiple_of(1024) {
            progress(evaluations.share(&simulation));
        }
        evaluations.look(&simulation)?;
    }
    match simulation.outcome() {
        Some(Outcome::Completed) => evaluations.at_end(&simulation)?,
        Some(Outcome::Failed(reason)) => return Err(CompareError::Job(reason.clone())),
        Some(Outcome::Stopped) => return Err(CompareError::Job("the job was stopped".to_owned())),
        None => return Err(CompareError::Job(format!("stuck: {}", simulation.describe()))),
    }
    progress(1.0);
    let state = simulation.checkpoint().cloned();
    let state = state.ok_or_else(|| CompareError::Job("the part left no checkpoint".to_owned()))?;
    let mut report = simulation.report();
    report.samples = since(report.samples, before);
    Ok((state, PartRun { part: part.0, points: evaluations.into_points(), report }))
}

/// Counts of a part alone.
fn since(now: SampleCounts, before: SampleCounts) -> SampleCounts {
    SampleCounts {
        read: now.read - before.read,
        applied: now.applied - before.applied,
        dropped: now.dropped - before.dropped,
        discarded: now.discarded - before.discarded,
        failed: now.failed - before.failed,
        granted_again: now.granted_again - before.granted_again,
    }
}

/// What a stage trains.
pub(super) fn world(stage: &Stage) -> Result<TrainingWorld, CompareError> {
    TrainingWorld::new(
        stage.data.schema(),
        Arc::clone(&stage.parts),
        &stage.model,
        &stage.update,
        stage.scheduler.servers,
        stage.seed,
    )
    .map_err(CompareError::Job)
}

/// Files of shards as they start.
fn fresh_files(stage: &Stage, world: &TrainingWorld) -> Result<Vec<Vec<u8>>, CompareError> {
    let servers = (0..stage.scheduler.servers).map(gearshift_types::ServerId);
    let files = servers.map(|server| world.store(server, None).and_then(|shard| world.file(&shard)));
    files.collect::<Result<_, _>>().map_err(CompareError::Job)
}

fn scheduler_options(stage: &Stage, part: PartId, gear: Gear) -> SchedulerOptions {
    SchedulerOptions {
        start: gear,
        shifts: Vec::new(),
        parts: part.0 + 1,
        evaluate_each_part: false,
        final_evaluation: false,
        checkpoints: true,
        checkpoint_every_samples: None,
        checkpoint_every: None,
        checkpoint_at_part_end: true,
        ..stage.scheduler.clone()
    }
}
