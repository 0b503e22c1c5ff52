//! Checks across keys: values that are fine alone and wrong together. Those that touch a key already found wrong
//! are skipped.

use std::collections::BTreeSet;

use super::problem::Problem;
use super::schedule::ShiftAt;
use super::tree::{Table, origin_of};
use super::{Job, data};

/// All problems of this sort. `written` gives the places, `tainted` the keys whose values in `job` stand in for
/// wrong ones.
pub(crate) fn check(job: &Job, written: &Table, tainted: &BTreeSet<String>) -> Vec<Problem> {
    let mut checks = Checks { job, written, tainted, problems: Vec::new() };
    checks.batch();
    checks.shifts();
    checks.stragglers();
    checks.faults();
    checks.optimizers();
    checks.files();
    checks.data();
    checks.problems
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
    written: &'a Table,
    tainted: &'a BTreeSet<String>,
    problems: Vec<Problem>,
}

impl Checks<'_> {
    /// Whether the values of all these keys are those of the job.
    fn usable(&self, paths: &[&str]) -> bool {
        let covers = |tainted: &String, path: &str| {
            path.strip_prefix(tainted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !paths.iter().any(|path| self.tainted.iter().any(|tainted| covers(tainted, path)))
    }

    /// Whether nothing at or below `path` is wrong.
    fn whole(&self, path: &str) -> bool {
        !self.tainted.iter().any(|tainted| tainted.starts_with(path)) && self.usable(&[path])
    }

    fn report(&mut self, key: &str, what: String, help: String) {
        let origin = origin_of(self.written, key);
        self.problems.push(Problem { origin, key: key.to_owned(), what, help });
    }

    fn batch(&mut self) {
        let (global, local) = (self.job.batch.global, self.job.batch.local);
        if !self.usable(&["batch.global", "batch.local"]) || global.is_multiple_of(local) {
            return;
        }
        let what = format!("expected a divisor of batch.global = {global}, got {local}");
        let help = if local > global {
            "a local batch is a part of the global batch".to_owned()
        } else {
            let below = (1..local).rev().find(|divisor| global.is_multiple_of(*divisor));
            let above = (local..=global).find(|divisor| global.is_multiple_of(*divisor));
            let near: Vec<String> = below.into_iter().chain(above).map(|near| near.to_string()).collect();
            let down = global / local * local;
            let up = u64::from(down) + u64::from(local);
            format!("nearest: {}; or batch.global = {down} or {up}", near.join(" or "))
        };
        self.report("batch.local", what, help);
    }

    fn shifts(&mut self) {
        let parts = self.job.parts();
        for (index, shift) in self.job.shift.iter().enumerate() {
            let path = |name: &str| format!("shift.{index}.{name}");
            match shift.at {
                ShiftAt::Part(part)
                    if self.usable(&[&path("at_part")]) && self.whole("data") && part >= parts =>
                {
                    let what = format!("expected a part from 0 to {}, got {part}", parts.saturating_sub(1));
                    self.report(&path("at_part"), what, format!("[data] has {parts} parts, counted from 0"));
                }
                ShiftAt::Sample(sample) if self.usable(&[&path("at_sample")]) && self.whole("data") => {
                    if let Some(samples) = self.job.samples().filter(|&samples| sample >= samples) {
                        let what =
                            format!("expected fewer than the {samples} samples of [data], got {sample}");
                        self.report(&path("at_sample"), what, "the run ends before this shift".to_owned());
                    }
                }
                _ => {}
            }
            let later = self.job.shift[..index].iter().position(|earlier| comes_after(earlier.at, shift.at));
            if let (Some(later), true) = (later, self.whole("shift")) {
                let what = format!("comes before shift.{later}, which stands before it");
                self.report(&format!("shift.{index}"), what, "write shifts in the order of time".to_owned());
            }
            let same = self.job.shift[..index].iter().position(|earlier| earlier.at == shift.at);
            if let (Some(same), true) = (same, self.whole("shift")) {
                let what = format!("expected a moment of its own, got that of shift.{same}");
                self.report(&format!("shift.{index}"), what, "leave one of the two out".to_owned());
            }
        }
    }

    /// Whether `worker`, named at `path`, exists.
    fn worker(&mut self, path: &str, worker: u32) {
        let workers = self.job.cluster.workers;
        if self.usable(&[path, "cluster.workers"]) && worker >= workers {
            let what = format!("expected a worker from 0 to {}, got {worker}", workers - 1);
            self.report(path, what, format!("cluster.workers = {workers}, counted from 0"));
        }
    }

    fn stragglers(&mut self) {
        for (index, straggler) in self.job.straggler.iter().enumerate() {
            let path = format!("straggler.{index}.worker");
            self.worker(&path, straggler.worker);
            let same = |earlier: &super::Straggler| earlier.worker == straggler.worker;
            if let Some(same) = self.job.straggler[..index].iter().position(same)
                && self.usable(&[&path, &format!("straggler.{same}.worker")])
            {
                let what = format!("worker {} is slowed down already by straggler.{same}", straggler.worker);
                self.report(&path, what, "leave one of the two out".to_owned());
            }
        }
    }

    fn faults(&mut self) {
        for (index, fault) in self.job.fault.iter().enumerate() {
            self.worker(&format!("fault.{index}.worker"), fault.worker);
        }
        let gone: BTreeSet<u32> = self
            .job
            .fault
            .iter()
            .filter(|fault| fault.rejoin_seconds.is_none())
            .map(|fault| fault.worker)
            .collect();
        let workers = self.job.cluster.workers;
        if self.whole("fault")
            && self.usable(&["cluster.workers"])
            && (0..workers).all(|worker| gone.contains(&worker))
        {
            let what = format!("all {workers} workers fail for good: nobody would finish the job");
            self.report("fault", what, "give one of them rejoin_seconds".to_owned());
        }
    }

    fn optimizers(&mut self) {
        for problem in self.job.optimizer.validate() {
            let (path, what) = problem.split_once(": ").unwrap_or(("optimizer", &problem));
            if self.usable(&[path]) {
                self.report(path, what.to_owned(), String::new());
            }
        }
    }

    fn files(&mut self) {
        let checkpoint = &self.job.checkpoint;
        if checkpoint.folder.is_none() && self.usable(&["checkpoint.folder"]) {
            let every = [
                ("every_samples", checkpoint.every_samples.is_some()),
                ("every_minutes", checkpoint.every_minutes.is_some()),
            ];
            for (name, _) in every.iter().filter(|(_, given)| *given) {
                let what = "expected checkpoint.folder beside it, got none".to_owned();
                self.report(&format!("checkpoint.{name}"), what, "say where checkpoints go".to_owned());
            }
        }
        let output = &self.job.output;
        if output.json.is_some() && output.json == output.commit_log {
            let what = "expected a file of its own, got that of output.json".to_owned();
            self.report("output.commit_log", what, "name another file".to_owned());
        }
    }

    fn data(&mut self) {
        if self.whole("data") {
            self.problems.extend(data::check(self.job, self.written));
        }
    }
}
