//! One part of a run in virtual time.

use std::sync::Arc;

use gearshift_cluster::{Outcome, Position, SchedulerOptions};
use gearshift_coordination::Gear;
use gearshift_types::{BatchId, PartId, Step};

use super::score::{copies, score};
use super::{PartRun, Point, Stage};
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
/// shares of it and at its end. Nothing is carried over from one part to the next but parameters, slots, step and
/// position: all outstanding gradients are in.
///
/// # Errors
/// When data or model cannot be used, or the job fails.
pub fn run_part(
    stage: &Stage,
    from: Option<&Checkpoint>,
    part: PartId,
    gear: Gear,
    points: &[f64],
) -> Result<(Checkpoint, PartRun), CompareError> {
    let world = world(stage)?;
    let parts = stage.data.parts().len() as u32;
    let next = PartId(part.0 + 1);
    let test = (next.0 < parts).then(|| stage.parts.part(next)).transpose()?;
    let samples = stage.parts.part(part)?.samples();
    let mut position = from.map_or_else(|| start(gear), |from| from.position.clone());
    (position.gear, position.part, position.shifts_done) = (gear, part, 0);
    let resolved_before = position.samples.resolved();
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
        seed: stage.seed ^ u64::from(part.0) << 32,
        resume: Some(Checkpoint { files, position }),
        keep_log: false,
    };
    let mut simulation = Simulation::new(setup, world)?;
    let mut evaluated = Vec::new();
    let due = |share: f64| resolved_before + (share * samples as f64).ceil() as u64;
    let mut waiting = points.iter().copied().filter(|share| *share < 1.0).peekable();
    let mut at: Option<(f64, Step)> = None;
    let mut point = |simulation: &Simulation<TrainingWorld>, share: f64| -> Result<(), CompareError> {
        if let Some(test) = &test {
            evaluated.push(evaluate(stage, simulation, test, share)?);
        }
        Ok(())
    };
    while simulation.advance()? {
        if at.is_none()
            && let Some(&share) = waiting.peek()
            && simulation.scheduler().samples().resolved() >= due(share)
        {
            at = Some((share, simulation.scheduler().step()));
            waiting.next();
        }
        if let Some((share, step)) = at.filter(|(_, step)| simulation.version() >= *step) {
            let _ = step;
            point(&simulation, share)?;
            at = None;
        }
    }
    match simulation.outcome() {
        Some(Outcome::Completed) => {}
        Some(other) => return Err(CompareError::Job(format!("part {}: the job ended: {other:?}", part.0))),
        None => {
            return Err(CompareError::Job(format!("part {}: stuck: {}", part.0, simulation.describe())));
        }
    }
    point(&simulation, 1.0)?;
    let mut report = simulation.report();
    let of_part = &mut report.samples;
    of_part.read -= before.read;
    of_part.applied -= before.applied;
    of_part.dropped -= before.dropped;
    of_part.discarded -= before.discarded;
    of_part.failed -= before.failed;
    of_part.granted_again -= before.granted_again;
    let state = simulation.checkpoint().cloned();
    let state = state.ok_or_else(|| CompareError::Job("the part left no checkpoint".to_owned()))?;
    Ok((state, PartRun { part: part.0, points: evaluated, report }))
}

fn world(stage: &Stage) -> Result<TrainingWorld, CompareError> {
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

fn evaluate(
    stage: &Stage,
    simulation: &Simulation<TrainingWorld>,
    test: &crate::parts::Part,
    share: f64,
) -> Result<Point, CompareError> {
    let world = simulation.world();
    let mut shards = copies(simulation.servers(), world).map_err(CompareError::Job)?;
    let map = gearshift_types::PartitionMap::new(stage.scheduler.servers);
    let mut learner = world.learner().map_err(CompareError::Job)?;
    let metrics = score(&mut shards, map, learner.as_mut(), test, stage.evaluation_batch);
    let metrics = metrics.map_err(CompareError::Job)?;
    Ok(Point {
        share,
        samples: simulation.scheduler().samples().resolved(),
        step: simulation.version().0,
        auc: metrics.auc,
        log_loss: metrics.log_loss,
    })
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
