//! Counts for people: staleness of both kinds, and what each worker did.

use std::collections::BTreeMap;

use gearshift_types::WorkerId;
use serde::{Deserialize, Serialize};

/// How many gradients had which staleness, in steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StalenessHistogram(pub BTreeMap<i64, u64>);

impl StalenessHistogram {
    /// Counts one gradient.
    pub fn add(&mut self, staleness_steps: i64) {
        *self.0.entry(staleness_steps).or_default() += 1;
    }

    /// Gradients counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Mean; 0 when empty.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.0.iter().map(|(&steps, &count)| steps as f64 * count as f64).sum();
        sum / self.count().max(1) as f64
    }

    /// The smallest staleness that at least `share` of the gradients do not exceed; `None` when empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let wanted = (share * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (&steps, &count) in &self.0 {
            seen += count;
            if seen >= wanted {
                return Some(steps);
            }
        }
        None
    }

    /// The largest; `None` when empty.
    #[must_use]
    pub fn max(&self) -> Option<i64> {
        self.0.keys().next_back().copied()
    }
}

/// What one worker did over all its lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Gradients in commits or discards.
    pub batches: u64,
    /// Samples in the parameters.
    pub applied: u64,
    /// Samples with weight 0.
    pub dropped: u64,
    /// Samples of late gradients.
    pub discarded: u64,
    /// Samples of refused gradients.
    pub failed: u64,
    /// Samples that it was granted and lost.
    pub lost: u64,
    /// Times that it went away.
    pub deaths: u64,
}

/// Figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Step at commit minus token.
    pub token_staleness_steps: StalenessHistogram,
    /// Step at commit minus version at pull.
    pub version_staleness_steps: StalenessHistogram,
    /// By worker.
    pub workers: BTreeMap<WorkerId, WorkerFigures>,
}

impl Figures {
    /// The figures of a worker.
    pub fn worker(&mut self, worker: WorkerId) -> &mut WorkerFigures {
        self.workers.entry(worker).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_mean() {
        let mut histogram = StalenessHistogram::default();
        assert_eq!((histogram.mean(), histogram.quantile(0.5), histogram.max()), (0.0, None, None));
        for staleness in [-1, 0, 0, 0, 1, 1, 2, 9] {
            histogram.add(staleness);
        }
        assert_eq!(histogram.quantile(0.5), Some(0));
        assert_eq!(histogram.quantile(0.95), Some(9));
        assert_eq!(histogram.max(), Some(9));
        assert!((histogram.mean() - 1.5).abs() < 1e-12);
    }
}
