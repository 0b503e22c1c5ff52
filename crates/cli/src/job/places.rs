//! For checks across keys: where a value was written, and whether it is the one of the file.

use std::collections::BTreeSet;

use gearshift_coordination::BatchOptions;

use super::problem::Problem;
use super::tree::{Table, origin_of};

/// Collects the problems of checks across keys.
pub(crate) struct Places<'a> {
    written: &'a Table,
    tainted: &'a BTreeSet<String>,
    /// What was found.
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Places<'a> {
    /// `written` gives the places, `tainted` the keys whose values stand in for wrong ones.
    pub(crate) fn new(written: &'a Table, tainted: &'a BTreeSet<String>) -> Self {
        Self { written, tainted, problems: Vec::new() }
    }

    /// The file as written.
    pub(crate) fn written(&self) -> &'a Table {
        self.written
    }

    /// Whether the values of all these keys are those of the file.
    pub(crate) fn usable(&self, paths: &[&str]) -> bool {
        let covers = |tainted: &String, path: &str| {
            path.strip_prefix(tainted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !paths.iter().any(|path| self.tainted.iter().any(|tainted| covers(tainted, path)))
    }

    /// Whether nothing at or below `path` is wrong.
    pub(crate) fn whole(&self, path: &str) -> bool {
        !self.tainted.iter().any(|tainted| tainted.starts_with(path)) && self.usable(&[path])
    }

    /// Notes a problem at `key`.
    pub(crate) fn report(&mut self, key: &str, what: String, help: String) {
        let origin = origin_of(self.written, key);
        self.problems.push(Problem { origin, key: key.to_owned(), what, help });
    }

    /// Whether the local batch divides the global batch.
    pub(crate) fn batch(&mut self, BatchOptions { global, local }: BatchOptions) {
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

    /// Whether `worker`, named at `path`, is one of `workers`.
    pub(crate) fn worker(&mut self, path: &str, worker: u32, workers: u32) {
        if self.usable(&[path, "cluster.workers"]) && worker >= workers {
            let what = format!("expected a worker from 0 to {}, got {worker}", workers - 1);
            self.report(path, what, format!("cluster.workers = {workers}, counted from 0"));
        }
    }

    /// Whether the names of a list of tables differ.
    pub(crate) fn names<'n>(&mut self, list: &str, names: impl Iterator<Item = &'n str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.enumerate() {
            if let Some(same) = seen.iter().position(|earlier| *earlier == name)
                && self.whole(list)
            {
                let what = format!("expected a name of its own, got that of {list}.{same}, {name:?}");
                self.report(&format!("{list}.{index}.name"), what, "name it otherwise".to_owned());
            }
            seen.push(name);
        }
    }
}
