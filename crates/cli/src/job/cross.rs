//! Checks across keys: values that are fine alone and wrong together. Those that touch a key already found wrong
//! are skipped.

use std::collections::BTreeSet;

use crate::cluster_file::machines;

use super::places::Places;
use super::problem::{Origin, Problem};
use super::schedule::ShiftAt;
use super::tree::Table;
use super::{CompareOptions, Job, data};

/// All problems of this sort. `written` gives the places, `tainted` the keys whose values in `job` stand in for
/// wrong ones.
pub(crate) fn check(job: &Job, written: &Table, tainted: &BTreeSet<String>) -> Vec<Problem> {
    let mut checks = Checks { job, places: Places::new(written, tainted) };
    checks.places.batch(job.batch);
    checks.shifts();
    checks.stragglers();
    checks.faults();
    checks.optimizers();
    checks.files();
    checks.data();
    checks.compare();
    checks.places.problems
}

/// Whether two moments of one kind stand in the wrong order.
fn comes_after(earlier: ShiftAt, later: ShiftAt) -> bool {
    match (earlier, later) {
        (ShiftAt::Sample(earlier), ShiftAt::Sample(later)) => earlier > later,
        (ShiftAt::Part(earlier), ShiftAt::Part(later)) => earlier > later,
        (ShiftAt::Seconds(earlier), ShiftAt::Seconds(later)) => earlier > later,
        _ => false,
    }
}

struct Checks<'a> {
    job: &'a Job,
    places: Places<'a>,
}

impl Checks<'_> {
    fn shifts(&mut self) {
        let parts = self.job.parts();
        for (index, shift) in self.job.shift.iter().enumerate() {
            let path = |name: &str| format!("shift.{index}.{name}");
            match shift.at {
                ShiftAt::Part(part)
                    if self.places.usable(&[&path("at_part")])
                        && self.places.whole("data")
                        && part >= parts =>
                {
                    let what = format!("expected a part from 0 to {}, got {part}", parts.saturating_sub(1));
                    self.places.report(
                        &path("at_part"),
                        what,
                        format!("[data] has {parts} parts, counted from 0"),
                    );
                }
                ShiftAt::Sample(sample)
                    if self.places.usable(&[&path("at_sample")]) && self.places.whole("data") =>
                {
                    if let Some(samples) = self.job.samples().filter(|&samples| sample >= samples) {
                        let what =
                            format!("expected fewer than the {samples} samples of [data], got {sample}");
                        self.places.report(
                            &path("at_sample"),
                            what,
                            "the run ends before this shift".to_owned(),
                        );
                    }
                }
                _ => {}
            }
            let later = self.job.shift[..index].iter().position(|earlier| comes_after(earlier.at, shift.at));
            if let (Some(later), true) = (later, self.places.whole("shift")) {
                let what = format!("comes before shift.{later}, which stands before it");
                self.places.report(
                    &format!("shift.{index}"),
                    what,
                    "write shifts in the order of time".to_owned(),
                );
            }
            let same = self.job.shift[..index].iter().position(|earlier| earlier.at == shift.at);
            if let (Some(same), true) = (same, self.places.whole("shift")) {
                let what = format!("expected a moment of its own, got that of shift.{same}");
                self.places.report(&format!("shift.{index}"), what, "leave one of the two out".to_owned());
            }
        }
    }

    fn stragglers(&mut self) {
        for (index, straggler) in self.job.straggler.iter().enumerate() {
            let path = format!("straggler.{index}.worker");
            self.places.worker(&path, straggler.worker, self.job.cluster.workers);
            let same = |earlier: &super::Straggler| earlier.worker == straggler.worker;
            if let Some(same) = self.job.straggler[..index].iter().position(same)
                && self.places.usable(&[&path, &format!("straggler.{same}.worker")])
            {
                let what = format!("worker {} is slowed down already by straggler.{same}", straggler.worker);
                self.places.report(&path, what, "leave one of the two out".to_owned());
            }
        }
    }

    fn faults(&mut self) {
        for (index, fault) in self.job.fault.iter().enumerate() {
            self.places.worker(&format!("fault.{index}.worker"), fault.worker, self.job.cluster.workers);
        }
        let gone: BTreeSet<u32> = self
            .job
            .fault
            .iter()
            .filter(|fault| fault.rejoin_seconds.is_none())
            .map(|fault| fault.worker)
            .collect();
        let workers = self.job.cluster.workers;
        if self.places.whole("fault")
            && self.places.usable(&["cluster.workers"])
            && (0..workers).all(|worker| gone.contains(&worker))
        {
            let what = format!("all {workers} workers fail for good: nobody would finish the job");
            self.places.report("fault", what, "give one of them rejoin_seconds".to_owned());
        }
    }

    fn optimizers(&mut self) {
        for problem in self.job.optimizer.validate() {
            let (path, what) = problem.split_once(": ").unwrap_or(("optimizer", &problem));
            if self.places.usable(&[path]) {
                self.places.report(path, what.to_owned(), String::new());
            }
        }
    }

    fn files(&mut self) {
        let checkpoint = &self.job.checkpoint;
        if checkpoint.folder.is_none() && self.places.usable(&["checkpoint.folder"]) {
            let every = [
                ("every_samples", checkpoint.every_samples.is_some()),
                ("every_minutes", checkpoint.every_minutes.is_some()),
            ];
            for (name, _) in every.iter().filter(|(_, given)| *given) {
                let what = "expected checkpoint.folder beside it, got none".to_owned();
                self.places.report(
                    &format!("checkpoint.{name}"),
                    what,
                    "say where checkpoints go".to_owned(),
                );
            }
        }
        let output = &self.job.output;
        if output.json.is_some() && output.json == output.commit_log {
            let what = "expected a file of its own, got that of output.json".to_owned();
            self.places.report("output.commit_log", what, "name another file".to_owned());
        }
    }

    fn data(&mut self) {
        if self.places.whole("data") {
            self.places.problems.extend(data::check(self.job, self.places.written()));
        }
    }

    fn compare(&mut self) {
        let compare = &self.job.compare;
        self.places.names("compare.branch", compare.branch.iter().map(|branch| branch.name.as_str()));
        for (index, branch) in compare.branch.iter().enumerate() {
            let path = format!("compare.branch.{index}.gears");
            if branch.gears.is_empty() && self.places.usable(&[&path]) {
                let what = "expected at least one gear, got none".to_owned();
                self.places.report(&path, what, "name the gear of each part, such as [\"gba\"]".to_owned());
            }
            let path = format!("compare.branch.{index}.set");
            let start = |set: &String| set.split('=').next().is_some_and(|key| key.trim() == "gear.start");
            if branch.set.iter().any(start) && self.places.usable(&[&path]) {
                let what = "expected no gear.start, got one".to_owned();
                let help = "`gears` says the branch's gears, `base` that of its base".to_owned();
                self.places.report(&path, what, help);
            }
        }
        machines(&mut self.places, "compare.", &compare.speed, &compare.network, self.job.cluster.workers);
        let points = &compare.points;
        let inside = points.iter().all(|point| *point > 0.0 && *point < 1.0);
        if !(inside && points.is_sorted_by(|a, b| a < b)) && self.places.usable(&["compare.points"]) {
            let what = format!("expected shares above 0 and below 1, each above the last, got {points:?}");
            let help = "the end of each part is evaluated in any case".to_owned();
            self.places.report("compare.points", what, help);
        }
        // A job that is only trained may have too few parts to compare anything.
        let asked = compare.base_parts.is_some() || compare.parts.is_some() || !compare.branch.is_empty();
        let usable =
            self.places.usable(&["compare.base_parts", "compare.parts"]) && self.places.whole("data");
        if asked
            && usable
            && let Err((key, what)) = self.job.compare_parts()
        {
            let help = "a branch needs parts after the base and one more to be evaluated on".to_owned();
            self.places.report(key, what, help);
        }
    }
}

/// What keeps a job of a branch or of its base from being set beside the others: another sight of the data.
pub(crate) fn side(job: &Job, owner: &str, side: &Job) -> Vec<Problem> {
    let mut problems = Vec::new();
    if side.data != job.data {
        problems.push(differs(owner, "data", "the job"));
    }
    if side.seed != job.seed {
        problems.push(differs(owner, "seed", "the job"));
    }
    // The cluster may be another one.
    let CompareOptions { speed, network, server, .. } = side.compare.clone();
    if side.compare != (CompareOptions { speed, network, server, ..job.compare.clone() }) {
        problems.push(differs(owner, "compare", "the job"));
    }
    problems
}

/// What keeps a branch from going on from its base's parameters.
pub(crate) fn branch(owner: &str, base: &Job, branch: &Job) -> Vec<Problem> {
    let mut problems = Vec::new();
    if branch.model != base.model {
        problems.push(differs(owner, "model", "the base"));
    }
    let kinds = |job: &Job| (job.optimizer.sparse.kind, job.optimizer.dense.kind);
    if kinds(branch) != kinds(base) {
        problems.push(differs(owner, "optimizer", "the base"));
    }
    problems
}

fn differs(owner: &str, key: &str, of: &str) -> Problem {
    Problem {
        origin: Origin::Set(owner.to_owned()),
        key: key.to_owned(),
        what: format!("expected that of {of}, got another"),
        help: "leave it as it is: a branch sees the same samples and goes on from the same parameters"
            .to_owned(),
    }
}
