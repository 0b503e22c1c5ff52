//! Which runs a cluster file asks for: every run in every scenario, and every run at every value of the sweep.

use gearshift_coordination::Gear;

use super::options::RunOptions;
use super::{ClusterFile, ClusterSource, cross};
use crate::job::Problems;
use crate::job::keys::{Found, Kind};
use crate::job::problem::{Origin, Problem};
use crate::job::sets::{Set, pattern_of};

/// One run to make.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// Name of the run.
    pub(crate) run: String,
    /// Its gear.
    pub(crate) gear: Gear,
    /// The file with all settings of the run put over it.
    pub(crate) file: ClusterFile,
}

/// The runs of all tables.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The file as it is.
    pub(crate) file: ClusterFile,
    /// Title and rows of each table.
    pub(crate) scenarios: Vec<(String, Vec<Cell>)>,
    /// The picture.
    pub(crate) sweep: SweepPlan,
}

/// The runs of the picture.
#[derive(Clone, Debug)]
pub(crate) struct SweepPlan {
    /// What changes, for the x axis.
    pub(crate) label: String,
    /// Whether the file asks for it.
    pub(crate) written: bool,
    /// Each value with one cell for each run.
    pub(crate) points: Vec<(f64, Vec<Cell>)>,
}

/// Without `[sweep]`: one worker takes so many times as long.
const SLOW_FACTORS: &[f64] = &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0];

impl ClusterSource {
    /// All runs that the file asks for.
    ///
    /// # Errors
    /// Everything that is wrong with the file and its variants, at once.
    pub(crate) fn plan(&self) -> Result<Plan, Problems> {
        let file = self.file()?;
        let runs = file.runs();
        let mut making = Making { source: self, problems: Vec::new() };
        let mut scenarios = Vec::new();
        for scenario in file.scenarios() {
            let owner = format!("scenario {:?}", scenario.name);
            let sets: Vec<Set> = Set::of_list(&owner, &scenario.set).collect();
            scenarios.push((scenario.name, making.row(&owner, &sets, &[], &runs)));
        }
        let sweep = making.sweep(&file, &runs);
        if making.problems.is_empty() {
            Ok(Plan { file, scenarios, sweep })
        } else {
            Err(Problems::new(self.name(), making.problems))
        }
    }

    /// What kind of value the key takes that a sweep changes.
    fn swept(&self, key: &str) -> Kind {
        match self.keys.find(&pattern_of(&key.split('.').collect::<Vec<_>>())) {
            Found::Key(key) => key.kind,
            _ => Kind::Number(f64::MIN, f64::MAX),
        }
    }
}

struct Making<'a> {
    source: &'a ClusterSource,
    problems: Vec<Problem>,
}

impl Making<'_> {
    fn note(&mut self, found: Problems) {
        for problem in found.into_vec() {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// One cell for each run, with settings `before` and `after` those of the run.
    fn row(&mut self, owner: &str, before: &[Set], after: &[Set], runs: &[RunOptions]) -> Vec<Cell> {
        let shared = before.iter().chain(after).cloned().collect();
        if let Err(found) = self.source.with(shared) {
            // Every run would have the same to say.
            self.note(found.in_variant(owner));
            return Vec::new();
        }
        let mut cells = Vec::new();
        for run in runs {
            let of_run = format!("run {:?}", run.name);
            let sets = before.iter().cloned().chain(Set::of_list(&of_run, &run.set));
            match self.source.with(sets.chain(after.iter().cloned()).collect()) {
                Ok(file) => cells.push(Cell { run: run.name.clone(), gear: run.gear, file }),
                Err(found) => self.note(found.in_variant(&of_run)),
            }
        }
        cells
    }

    fn sweep(&mut self, file: &ClusterFile, runs: &[RunOptions]) -> SweepPlan {
        let (label, values) = match &file.sweep {
            Some(sweep) => (sweep.key.clone(), sweep.values.clone()),
            None => ("one worker takes so many times as long".to_owned(), SLOW_FACTORS.to_vec()),
        };
        let mut points = Vec::new();
        for value in values {
            let text = match &file.sweep {
                Some(sweep) => {
                    let written = cross::as_written(self.source.swept(&sweep.key), value);
                    format!("{}={}", sweep.key, written.show())
                }
                None => format!("speed.slow=[{{workers = 1, factor = {value:?}}}]"),
            };
            let owner = format!("sweep, {text}");
            let set = Set { text, origin: Origin::Set(owner.clone()) };
            points.push((value, self.row(&owner, &[], &[set], runs)));
        }
        SweepPlan { label, written: file.sweep.is_some(), points }
    }
}
