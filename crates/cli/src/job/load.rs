//! From a file and `--set`s to a [`Job`], and back to text.

use std::path::Path;

use gearshift_data::options::DataKind;

use super::keys::Keys;
use super::problem::{Problem, Problems};
use super::read::{Source, check};
use super::sets::Set;
use super::{Branch, Job, cross, key_list};

/// The job of `gearshift train` without arguments.
const DEMO: &str = include_str!("demo.toml");

/// A job file and what was put over it: from this come the job and the jobs of its branches.
#[derive(Clone, Debug)]
pub(crate) struct JobSource {
    source: Source,
    sets: Vec<Set>,
}

impl JobSource {
    /// Reads a job file (without `path`: the demonstration), to put `sets` (`key=value`) over it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn open(path: Option<&Path>, sets: &[String]) -> Result<Self, Problems> {
        let source = match path {
            None => Source::of_text("demo.toml (built in)", DEMO, Path::new("")),
            Some(path) => Source::read(path, &key_list::JOB)?,
        };
        Ok(Self::of(source, sets))
    }

    /// As [`JobSource::open`], from text.
    pub(crate) fn of(source: Source, sets: &[String]) -> Self {
        Self { source, sets: sets.iter().map(|set| Set::of_command(set)).collect() }
    }

    /// The job itself.
    ///
    /// # Errors
    /// Everything that is wrong with it and its branches, at once.
    pub(crate) fn job(&self) -> Result<Job, Problems> {
        let job = self.with(Vec::new())?;
        let mut problems = Vec::new();
        for branch in &job.compare.branch {
            let found = self.branch_problems(&job, branch);
            problems.extend(found);
        }
        if problems.is_empty() { Ok(job) } else { Err(Problems::new(&self.source.file, problems)) }
    }

    /// The job that a branch goes on with: this one with the branch's `set`. `gear.start` is as in the job; the gear
    /// of each part is the branch's.
    ///
    /// # Errors
    /// Everything that is wrong with it; the branch is named.
    pub(crate) fn branch(&self, branch: &Branch) -> Result<Job, Problems> {
        let owner = branch.owner();
        self.with(Set::of_list(&owner, &branch.set).collect()).map_err(|problems| problems.in_variant(&owner))
    }

    /// The job of the base that a branch goes on from: this one with the branch's `base_set`, its gear at the start
    /// that of the base.
    ///
    /// # Errors
    /// Everything that is wrong with it; the branch is named.
    pub(crate) fn base_of(&self, branch: &Branch) -> Result<Job, Problems> {
        let owner = format!("base of {}", branch.owner());
        let mut job = self
            .with(Set::of_list(&owner, &branch.base_set).collect())
            .map_err(|problems| problems.in_variant(&owner))?;
        job.gear.start = branch.base.unwrap_or(job.gear.start);
        Ok(job)
    }

    fn branch_problems(&self, job: &Job, branch: &Branch) -> Vec<Problem> {
        let owner = branch.owner();
        let sides =
            [(self.base_of(branch), format!("base of {owner}")), (self.branch(branch), owner.clone())];
        let mut problems = Vec::new();
        let mut right = Vec::new();
        for (side, owner) in sides {
            match side {
                Ok(side) => {
                    problems.extend(cross::side(job, &owner, &side));
                    right.push(side);
                }
                Err(found) => problems.extend(found.into_vec()),
            }
        }
        if let [base, branch] = &right[..] {
            problems.extend(cross::branch(&owner, base, branch));
        }
        problems
    }

    fn with(&self, more: Vec<Set>) -> Result<Job, Problems> {
        let keys = Keys::new(key_list::JOB);
        let sets: Vec<Set> = self.sets.iter().cloned().chain(more).collect();
        let checked = check::<Job>(&keys, &self.source.text, &sets);
        checked.finish(&self.source.file, |job, written, tainted| {
            job.base.clone_from(&self.source.base);
            cross::check(job, written, tainted)
        })
    }
}

impl Job {
    /// Reads a job file (without `path`: the demonstration) and puts `sets` (`key=value`) over it.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub(crate) fn load(path: Option<&Path>, sets: &[String]) -> Result<Self, Problems> {
        JobSource::open(path, sets)?.job()
    }

    /// The job of `gearshift train` without arguments: generated data, DeepFM, 4 workers, from the synchronous
    /// gear to gba and back on the way.
    ///
    /// # Errors
    /// None that a test does not exclude.
    #[cfg(test)]
    pub(crate) fn default_demo() -> Result<Self, Problems> {
        Self::load(None, &[])
    }

    /// As [`Job::load`], from text. `file` names it in messages, `base` is its folder.
    pub(crate) fn parse(file: &str, text: &str, base: &Path, sets: &[String]) -> Result<Self, Problems> {
        JobSource::of(Source::of_text(file, text, base), sets).job()
    }

    /// The job with every default filled in, as a job file that gives the same job from any folder.
    ///
    /// # Errors
    /// When a path of the job is not UTF-8, or the working directory is gone.
    pub(crate) fn to_toml(&self) -> anyhow::Result<String> {
        let mut job = self.clone();
        if job.data.kind != DataKind::Generated {
            // "." first: a job file named without a folder, with data beside it, leaves both of the others empty.
            let folder = Path::new(".").join(&self.base).join(job.data.folder.unwrap_or_default());
            job.data.folder = Some(std::path::absolute(folder.join(""))?);
        }
        if let Some(trace) = &mut job.compare.speed.trace {
            *trace = std::path::absolute(Path::new(".").join(&self.base).join(&*trace))?;
        }
        Ok(toml::to_string(&job)?)
    }

    /// Number of parts of the training data.
    pub(crate) fn parts(&self) -> u32 {
        match (self.data.kind, &self.data.split) {
            (DataKind::Generated, _) => self.data.generated.parts,
            (_, Some(split)) => split.parts,
            (_, None) => u32::try_from(self.data.train.len()).unwrap_or(u32::MAX),
        }
    }

    /// Number of training samples, where it is known before reading.
    pub(crate) fn samples(&self) -> Option<u64> {
        match (self.data.kind, &self.data.split) {
            (DataKind::Generated, _) => Some(
                u64::from(self.data.generated.parts).saturating_mul(self.data.generated.samples_per_part),
            ),
            (_, Some(split)) => split.rows_per_part.map(|rows| rows.saturating_mul(u64::from(split.parts))),
            _ => None,
        }
    }
}
