//! `--tune`: searches the learning rate of the base's gear from scratch, once; all branches then use it unchanged.

use std::sync::Arc;

use gearshift_sim::compare::PartRun;

use crate::compare::describe::decimal;
use crate::compare::plan::{Chain, Leg};
use crate::compare::report::{Moments, Rate, RatePoint};
use crate::compare::run::Runner;
use crate::job::{CompareParts, Job, JobSource, Problems};

/// Rates relative to the job's that are tried first.
const FACTORS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];

/// Beyond an end of the grid at most so many more are tried.
const MORE: usize = 4;

/// Evaluations left out at the start, while the model is still cold.
const COLD_PARTS: u32 = 2;

/// Settings that multiply both rates.
pub(crate) fn rate_sets(job: &Job, factor: f64) -> Vec<String> {
    let scaled = |rate: f32| format!("{:e}", decimal(rate) * factor);
    vec![
        format!("optimizer.sparse.rate={}", scaled(job.optimizer.sparse.rate)),
        format!("optimizer.dense.rate={}", scaled(job.optimizer.dense.rate)),
    ]
}

/// A search under way.
pub(crate) struct Search<'a> {
    /// The job as the user gave it, with more settings put over it.
    pub(crate) source: &'a dyn Fn(&[String]) -> Result<JobSource, Problems>,
    /// The same without more.
    pub(crate) job: &'a Job,
    /// How its parts are shared out.
    pub(crate) parts: CompareParts,
    /// Seeds to try each rate with.
    pub(crate) seeds: &'a [u64],
}

impl Search<'_> {
    /// Parts that a trial is trained on.
    pub(crate) fn trained_parts(&self) -> u32 {
        self.parts.base + self.parts.branch
    }

    /// Trials of the first grid, each part counted.
    pub(crate) fn legs(&self) -> usize {
        FACTORS.len() * self.seeds.len() * self.trained_parts() as usize
    }

    /// Tries rates until the best one has worse ones on both sides. The rate and where it comes from.
    ///
    /// # Errors
    /// When a trial cannot be run.
    pub(crate) fn run(&self, runner: &Runner<'_>) -> anyhow::Result<(f64, Rate)> {
        let mut grid: Vec<RatePoint> = self.trials(runner, &FACTORS)?;
        let mut more = MORE;
        loop {
            grid.sort_by(|one, other| one.factor.total_cmp(&other.factor));
            let chosen = best(&grid);
            let beyond = match chosen {
                0 => grid[0].factor / 2.0,
                last if last + 1 == grid.len() => grid[last].factor * 2.0,
                _ => 0.0,
            };
            if beyond == 0.0 || more == 0 {
                let factor = grid[chosen].factor;
                let parts_used = self.trained_parts();
                return Ok((factor, Rate::Searched { grid, chosen, parts_used }));
            }
            more -= 1;
            runner.live.more(self.seeds.len() * self.trained_parts() as usize);
            grid.extend(self.trials(runner, &[beyond])?);
        }
    }

    fn trials(&self, runner: &Runner<'_>, factors: &[f64]) -> anyhow::Result<Vec<RatePoint>> {
        let mut chains = Vec::new();
        let mut rates = Vec::new();
        for &factor in factors {
            let job = Arc::new(self.job_at(factor)?);
            rates.push((decimal(job.optimizer.sparse.rate), decimal(job.optimizer.dense.rate)));
            for &seed in self.seeds {
                let leg =
                    |part| Leg { job: Arc::clone(&job), gear: job.gear.start, part, points: Vec::new() };
                let legs = (0..self.trained_parts()).map(leg).collect();
                let name = format!("rate x {factor}");
                chains.push(Chain { name, seed, after: None, continued: false, legs });
            }
        }
        let runs = runner.run(&chains)?;
        let of_factor = runs.chunks(self.seeds.len().max(1));
        let points = factors.iter().zip(rates).zip(of_factor).map(|((&factor, (sparse, dense)), runs)| {
            // A rate at which one seed diverges is no rate to take, however well the others went.
            let aucs: Option<Vec<f64>> = runs.iter().map(|parts| self.mean_auc(parts)).collect();
            let moments = aucs.and_then(Moments::of);
            let auc_mean = moments.map(|moments| moments.mean);
            RatePoint { factor, sparse, dense, auc_mean, auc_std: moments.and_then(|moments| moments.std) }
        });
        Ok(points.collect())
    }

    fn job_at(&self, factor: f64) -> Result<Job, Problems> {
        (self.source)(&rate_sets(self.job, factor))?.job()
    }

    fn mean_auc(&self, parts: &[PartRun]) -> Option<f64> {
        mean_auc(parts, if self.trained_parts() > 2 * COLD_PARTS { COLD_PARTS } else { 0 })
    }
}

/// Mean AUC of the evaluations at part ends, the first `cold` parts left out; `None` when the model diverged.
fn mean_auc(parts: &[PartRun], cold: u32) -> Option<f64> {
    if parts.iter().flat_map(|run| &run.points).any(|point| point.log_loss.is_none()) {
        return None;
    }
    let warm = parts.iter().filter(|run| run.part >= cold);
    // A part whose labels are all equal has no AUC, at any rate.
    let aucs: Vec<f64> = warm.flat_map(|run| &run.points).filter_map(|point| point.auc).collect();
    (!aucs.is_empty()).then(|| aucs.iter().sum::<f64>() / aucs.len() as f64)
}

/// Place of the highest AUC, the lowest rate of equal ones: above a rate that diverges there is nothing to find.
fn best(grid: &[RatePoint]) -> usize {
    let auc = |point: &RatePoint| point.auc_mean.unwrap_or(f64::NEG_INFINITY);
    (0..grid.len()).rev().max_by(|&one, &other| auc(&grid[one]).total_cmp(&auc(&grid[other]))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use gearshift_cluster::SampleCounts;
    use gearshift_coordination::Gear;
    use gearshift_sim::SimReport;
    use gearshift_sim::compare::Point;

    use super::*;

    /// A part with an evaluation at its end.
    fn part(part: u32, auc: Option<f64>, log_loss: Option<f64>) -> PartRun {
        let report = SimReport {
            gear: Gear::Synchronous,
            workers: 1,
            outcome: None,
            seconds: 1.0,
            steps: 1,
            samples: SampleCounts::default(),
            figures: Default::default(),
            worker_utilization: 0.0,
            server_utilization: 0.0,
            bytes: 0,
        };
        PartRun { part, points: vec![Point { share: 1.0, samples: 1, step: 1, auc, log_loss }], report }
    }

    #[test]
    fn a_run_that_diverges_is_not_judged_by_what_it_was_before() {
        let good =
            [part(0, Some(0.5), Some(0.7)), part(1, Some(0.6), Some(0.6)), part(2, Some(0.8), Some(0.5))];
        assert!((mean_auc(&good, 0).unwrap() - 1.9 / 3.0).abs() < 1e-12);
        assert!((mean_auc(&good, 1).unwrap() - 0.7).abs() < 1e-12);
        let [one, other, _] = good;
        assert_eq!(mean_auc(&[one.clone(), other.clone(), part(2, None, None)], 0), None);
        // Labels that are all equal say nothing of the model.
        assert_eq!(mean_auc(&[one, other, part(2, None, Some(0.1))], 1), Some(0.6));
    }

    #[test]
    fn the_best_rate_is_the_lowest_of_equal_ones() {
        let grid = |aucs: &[Option<f64>]| -> Vec<RatePoint> {
            let point =
                |&auc_mean| RatePoint { factor: 1.0, sparse: 1.0, dense: 1.0, auc_mean, auc_std: None };
            aucs.iter().map(point).collect()
        };
        assert_eq!(best(&grid(&[Some(0.6), Some(0.7), Some(0.7), None])), 1);
        assert_eq!(best(&grid(&[None, None, None])), 0);
    }
}
