//! Evaluations of a run on the next part: the servers as they were at one step, however far apart they are while the
//! run goes on.

use std::sync::Arc;

use gearshift_embedding::Store;
use gearshift_types::Step;

use super::part::CompareError;
use super::score::score;
use super::{Point, Stage};
use crate::parts::Part;
use crate::simulation::Simulation;
use crate::training::TrainingWorld;
use crate::world::World;

/// All evaluations of a part.
pub(super) struct Evaluations<'a> {
    stage: &'a Stage,
    /// The next part, unless there is none.
    test: Option<Arc<Part>>,
    /// Samples of the part.
    of_part: u64,
    /// Samples that had met their fate before it.
    before: u64,
    /// Shares at which evaluations come due, ascending.
    shares: Vec<f64>,
    /// Those that are due, and wait for servers to reach their step.
    due: Vec<Cut>,
    points: Vec<Point>,
}

/// The servers at one step. Commits are decided before servers apply them, so each server is copied when it gets there.
struct Cut {
    share: f64,
    samples: u64,
    step: Step,
    files: Vec<Option<Vec<u8>>>,
}

impl<'a> Evaluations<'a> {
    /// Evaluations on `test` at `shares` of a part of `of_part` samples, which come after `before` others.
    pub(super) fn new(
        stage: &'a Stage,
        test: Option<Arc<Part>>,
        of_part: u64,
        before: u64,
        shares: &[f64],
    ) -> Self {
        let shares = shares.iter().copied().filter(|share| test.is_some() && *share < 1.0).collect();
        Self { stage, test, of_part, before, shares, due: Vec::new(), points: Vec::new() }
    }

    /// Share of the part that has met its fate.
    pub(super) fn share(&self, simulation: &Simulation<TrainingWorld>) -> f64 {
        let resolved = simulation.scheduler().samples().resolved() - self.before;
        resolved as f64 / self.of_part.max(1) as f64
    }

    /// Looks whether something is due, after each event.
    pub(super) fn look(&mut self, simulation: &Simulation<TrainingWorld>) -> Result<(), CompareError> {
        let share = self.share(simulation);
        let due = self.shares.iter().take_while(|due| share >= **due).count();
        let fresh = self.shares.drain(..due).map(|share| Cut::new(share, simulation));
        self.due.extend(fresh);
        self.copy(simulation)
    }

    /// The last evaluation, once everything has arrived.
    pub(super) fn at_end(&mut self, simulation: &Simulation<TrainingWorld>) -> Result<(), CompareError> {
        self.due.push(Cut::new(1.0, simulation));
        self.copy(simulation)
    }

    /// What came out, in the order of the part.
    pub(super) fn into_points(self) -> Vec<Point> {
        self.points
    }

    fn copy(&mut self, simulation: &Simulation<TrainingWorld>) -> Result<(), CompareError> {
        for cut in &mut self.due {
            cut.copy(simulation).map_err(CompareError::Job)?;
        }
        while self.due.first().is_some_and(|cut| cut.files.iter().all(Option::is_some)) {
            let cut = self.due.remove(0);
            self.evaluate(cut, simulation.world()).map_err(CompareError::Job)?;
        }
        Ok(())
    }

    fn evaluate(&mut self, cut: Cut, world: &TrainingWorld) -> Result<(), String> {
        let Some(test) = &self.test else { return Ok(()) };
        let files: Vec<Vec<u8>> = cut.files.into_iter().flatten().collect();
        let (mut shard, mut learner) = (world.whole(&files)?, world.learner()?);
        let metrics = score(&mut shard, learner.as_mut(), test, self.stage.evaluation_batch)?;
        self.points.push(Point {
            share: cut.share,
            samples: cut.samples,
            step: cut.step.0,
            auc: metrics.and_then(|metrics| metrics.auc),
            log_loss: metrics.map(|metrics| metrics.log_loss),
        });
        Ok(())
    }
}

impl Cut {
    fn new(share: f64, simulation: &Simulation<TrainingWorld>) -> Self {
        let scheduler = simulation.scheduler();
        let files = simulation.servers().iter().map(|_| None).collect();
        Self { share, samples: scheduler.samples().resolved(), step: scheduler.step(), files }
    }

    /// Copies the servers that have reached the step.
    fn copy(&mut self, simulation: &Simulation<TrainingWorld>) -> Result<(), String> {
        for (server, file) in simulation.servers().iter().zip(&mut self.files) {
            if file.is_none() && server.store().version() >= self.step {
                *file = Some(simulation.world().file(server.store())?);
            }
        }
        Ok(())
    }
}
