//! Which runs a comparison consists of: chains of parts. A base chain per seed and kind of base; from its end one
//! chain per branch, and one that stays in the base's gear.

use std::sync::Arc;

use gearshift_coordination::{Gear, advice};

use crate::compare::report::Branch;
use crate::job::{Branch as BranchOptions, CompareParts, Job, JobSource, Problems};

/// One part of a chain.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    /// Its settings.
    pub(crate) job: Arc<Job>,
    /// In force during the part.
    pub(crate) gear: Gear,
    /// Which part.
    pub(crate) part: u32,
    /// Shares of the part at which it is evaluated, besides its end.
    pub(crate) points: Vec<f64>,
}

/// Parts trained one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// What the live line calls it.
    pub(crate) name: String,
    /// Seed of data order, start values and batch times.
    pub(crate) seed: u64,
    /// The chain whose end it goes on from.
    pub(crate) after: Option<usize>,
    /// Whether others go on from its end.
    pub(crate) continued: bool,
    /// The parts.
    pub(crate) legs: Vec<Leg>,
}

/// A comparison.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The job as it is.
    pub(crate) job: Job,
    /// How its parts are shared out.
    pub(crate) parts: CompareParts,
    /// Seeds.
    pub(crate) seeds: Vec<u64>,
    /// All chains; those that others go on from come before them.
    pub(crate) chains: Vec<Chain>,
    /// Branches of the report, without runs.
    pub(crate) branches: Vec<Branch>,
    /// For each branch and seed its chain.
    pub(crate) runs: Vec<Vec<usize>>,
    /// The chain of the first base and seed, for what is measured at the base.
    pub(crate) first_base: usize,
}

/// A kind of base, and how branches go on from it.
struct Base {
    gear: Gear,
    set: Vec<String>,
    job: Arc<Job>,
    chains: Vec<usize>,
    /// The branch that stays.
    stays: usize,
}

impl Plan {
    /// The comparison that a job asks for; without branches one for every other gear, staying and alternating.
    ///
    /// # Errors
    /// Everything that is wrong with a branch, or too few parts.
    pub(crate) fn new(source: &JobSource) -> anyhow::Result<Self> {
        let job = source.job()?;
        let parts = job
            .compare_parts()
            .map_err(|(key, what)| anyhow::anyhow!("{key}: {what}; add parts or take fewer"))?;
        let seeds = (0..u64::from(job.compare.seeds)).map(|number| job.seed + number).collect();
        let (chains, branches, runs) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan = Self { parts, seeds, chains, branches, runs, first_base: 0, job };
        let mut bases = Vec::new();
        let wanted = if plan.job.compare.branch.is_empty() {
            default_branches(&plan.job)
        } else {
            plan.job.compare.branch.clone()
        };
        for options in &wanted {
            plan.add_branch(source, options, &mut bases)?;
        }
        Ok(plan)
    }

    fn add_branch(
        &mut self,
        source: &JobSource,
        options: &BranchOptions,
        bases: &mut Vec<Base>,
    ) -> Result<(), Problems> {
        let base_job = source.base_of(options)?;
        let gear = base_job.gear.start;
        let known = bases.iter().position(|base| base.gear == gear && base.set == options.base_set);
        let base = match known {
            Some(base) => base,
            None => {
                bases.push(self.add_base(gear, options.base_set.clone(), Arc::new(base_job)));
                bases.len() - 1
            }
        };
        let base = &bases[base];
        let job = Arc::new(source.branch(options)?);
        let name = &options.name;
        self.add_runs(name, base, &job, &options.gears, options.set.clone());
        Ok(())
    }

    /// Chains of the base itself, and the branch that stays in its gear.
    fn add_base(&mut self, gear: Gear, set: Vec<String>, job: Arc<Job>) -> Base {
        let mut base = Base { gear, set, job, chains: Vec::new(), stays: self.branches.len() };
        for &seed in &self.seeds {
            let leg = |part| Leg { job: Arc::clone(&base.job), gear, part, points: Vec::new() };
            let legs = (0..self.parts.base).map(leg).collect();
            base.chains.push(self.chains.len());
            let name = format!("base {gear}");
            self.chains.push(Chain { name, seed, after: None, continued: true, legs });
        }
        let job = Arc::clone(&base.job);
        self.add_runs(&self.name_of_staying(gear), &base, &job, &[gear], base.set.clone());
        base
    }

    /// A name of its own: bases may differ in their settings alone, and branches are named as anyone likes.
    fn name_of_staying(&self, gear: Gear) -> String {
        let taken = |name: &String| {
            self.branches.iter().any(|branch| branch.name == *name)
                || self.job.compare.branch.iter().any(|branch| branch.name == *name)
        };
        let numbered = (2..).map(|number: u32| format!("stay {gear} {number}"));
        let mut names = std::iter::once(format!("stay {gear}")).chain(numbered);
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    fn add_runs(&mut self, name: &str, base: &Base, job: &Arc<Job>, gears: &[Gear], settings: Vec<String>) {
        let mut runs = Vec::new();
        for (&seed, &after) in self.seeds.iter().zip(&base.chains) {
            let leg = |number: u32| Leg {
                job: Arc::clone(job),
                gear: gears[number as usize % gears.len()],
                part: self.parts.base + number,
                points: if number == 0 { job.compare.points.clone() } else { Vec::new() },
            };
            let legs = (0..self.parts.branch).map(leg).collect();
            runs.push(self.chains.len());
            self.chains.push(Chain {
                name: name.to_owned(),
                seed,
                after: Some(after),
                continued: false,
                legs,
            });
        }
        let workers = job.cluster.workers;
        let mut warned: Vec<String> = Vec::new();
        for &gear in gears {
            warned.extend(advice(gear, &job.gear.options, job.batch, workers));
        }
        warned.dedup();
        self.branches.push(Branch {
            name: name.to_owned(),
            base: base.gear,
            gears: gears.to_vec(),
            workers,
            local_batch: job.batch.local,
            global_batch: job.batch.global,
            settings,
            reference: base.stays,
            advice: warned,
            runs: Vec::new(),
        });
        self.runs.push(runs);
    }
}

/// Every other gear, staying in it and going back every other part.
fn default_branches(job: &Job) -> Vec<BranchOptions> {
    let start = job.gear.start;
    let branch = |name: String, gears: Vec<Gear>| BranchOptions {
        name,
        gears,
        set: Vec::new(),
        base: None,
        base_set: Vec::new(),
    };
    let others = Gear::ALL.into_iter().filter(|&gear| gear != start);
    let to = others.clone().map(|gear| branch(gear.to_string(), vec![gear]));
    let and_back = others.map(|gear| branch(format!("{gear} and back"), vec![gear, start]));
    to.chain(and_back).collect()
}
