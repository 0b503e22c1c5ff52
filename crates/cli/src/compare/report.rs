//! What a comparison says: the figures of every run, as the JSON file holds them, and what is computed from them.

#[cfg(test)]
pub(super) mod fixture;
mod moments;
mod rate;
mod summary;
mod text;
mod verdict;

use gearshift_coordination::Gear;
use gearshift_sim::compare::{Insight, PartRun};
use serde::{Deserialize, Serialize};

pub(crate) use moments::Moments;
pub(crate) use rate::{Rate, RatePoint, short};
pub(crate) use summary::{PointKey, Summary};
pub(crate) use text::{gears_text, signed, tables, updates_factor};
pub(crate) use verdict::Verdict;

/// The form of the JSON file; grows when a reader of the old one would go wrong.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// A whole comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CompareReport {
    /// [`FORMAT_VERSION`] of the writer.
    pub(crate) format_version: u32,
    /// The version of Gearshift that ran it.
    pub(crate) gearshift_version: String,
    /// The job's name.
    pub(crate) name: String,
    /// The job as it ran, TOML.
    pub(crate) job: String,
    /// Parts that the data has.
    pub(crate) parts_of_data: u32,
    /// Parts that the base was trained on.
    pub(crate) base_parts: u32,
    /// Parts after the base that each branch was trained on.
    pub(crate) parts: u32,
    /// The seeds, each one base and one run per branch.
    pub(crate) seeds: Vec<u64>,
    /// Where the learning rates come from.
    pub(crate) rate: Rate,
    /// The branches.
    pub(crate) branches: Vec<Branch>,
    /// Gradient norms and recurrence of rows, measured at the base.
    pub(crate) insight: Option<Insight>,
    /// The simulated cluster in one line.
    pub(crate) cluster: String,
}

/// One way to continue from a base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Branch {
    /// Its name, unique.
    pub(crate) name: String,
    /// The gear that the base was trained in.
    pub(crate) base: Gear,
    /// The gears after the base, one per part, from the first on again when there are more parts.
    pub(crate) gears: Vec<Gear>,
    /// Workers after the base.
    pub(crate) workers: u32,
    /// Samples per gradient after the base.
    pub(crate) local_batch: u32,
    /// Samples per update, in the gears that have it.
    pub(crate) global_batch: u32,
    /// What differs from the job, `key=value`.
    pub(crate) settings: Vec<String>,
    /// Place of the branch that stays in the gear of this one's base; its own place if it is that one.
    pub(crate) reference: usize,
    /// Warnings about its settings.
    pub(crate) advice: Vec<String>,
    /// One run per seed.
    pub(crate) runs: Vec<Run>,
}

/// A branch with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Seed of start values, sample order and batch times.
    pub(crate) seed: u64,
    /// The parts after the base, in order.
    pub(crate) parts: Vec<PartRun>,
}

impl Branch {
    /// The gear that tells it from its base: the first that differs, else that of the base.
    pub(crate) fn gear(&self) -> Gear {
        self.gears.iter().copied().find(|gear| *gear != self.base).unwrap_or(self.base)
    }

    /// Its run with this seed.
    pub(crate) fn run(&self, seed: u64) -> Option<&Run> {
        self.runs.iter().find(|run| run.seed == seed)
    }
}

impl CompareReport {
    /// The branch that stays in the gear of a branch's base.
    pub(crate) fn reference(&self, branch: &Branch) -> Option<&Branch> {
        self.branches.get(branch.reference)
    }

    /// Whether the branch in this place is what others are compared to.
    pub(crate) fn is_reference(&self, place: usize) -> bool {
        self.branches.get(place).is_some_and(|branch| branch.reference == place)
    }

    /// Warnings about the branches' settings, each once, with the names of the branches that it is about.
    pub(crate) fn warnings(&self) -> Vec<(&str, Vec<&str>)> {
        let mut warnings: Vec<(&str, Vec<&str>)> = Vec::new();
        for branch in &self.branches {
            for advice in &branch.advice {
                match warnings.iter_mut().find(|(known, _)| known == advice) {
                    Some((_, branches)) => branches.push(&branch.name),
                    None => warnings.push((advice, vec![&branch.name])),
                }
            }
        }
        warnings
    }

    /// The summary of every branch, in their order.
    pub(crate) fn summaries(&self) -> Vec<Summary> {
        self.branches
            .iter()
            .map(|branch| Summary::new(branch, self.reference(branch), self.base_parts))
            .collect()
    }
}
