//! Checks across the keys of a cluster file: values that are fine alone and wrong together. Those that touch a key
//! already found wrong are skipped.

use std::collections::BTreeSet;

use gearshift_sim::cluster::{FaultKind, Trace};

use super::{ClusterFile, machines};
use crate::job::keys::{Found, Keys, Kind};
use crate::job::kinds::nearest;
use crate::job::places::Places;
use crate::job::problem::Problem;
use crate::job::read::read;
use crate::job::sets::pattern_of;
use crate::job::tree::{Table, Value};

/// Samples of a run at most: their blocks are held in memory, about 100 bytes for 16 million samples.
const SAMPLES_MAX: u64 = 1 << 44;

/// All problems of this sort; reads the trace that the file names.
pub(super) fn check(
    keys: &Keys,
    file: &mut ClusterFile,
    written: &Table,
    tainted: &BTreeSet<String>,
) -> Vec<Problem> {
    let mut checks = Checks { file, places: Places::new(written, tainted) };
    checks.places.batch(checks.file.batch);
    checks.gears();
    checks.steps();
    machines(&mut checks.places, "", &checks.file.speed, &checks.file.network, checks.file.cluster.workers);
    checks.trace();
    checks.faults();
    checks.sweep(keys);
    let Checks { file, mut places } = checks;
    places.names("run", file.run.iter().map(|run| run.name.as_str()));
    places.names("scenario", file.scenario.iter().map(|scenario| scenario.name.as_str()));
    places.problems
}

struct Checks<'a> {
    file: &'a mut ClusterFile,
    places: Places<'a>,
}

impl Checks<'_> {
    fn gears(&mut self) {
        if !self.places.usable(&["gears"]) {
            return;
        }
        let gears = &self.file.gears;
        let twice = gears.iter().enumerate().find(|(at, gear)| gears[..*at].contains(gear));
        if gears.is_empty() {
            let what = "expected at least one gear, got none".to_owned();
            self.places.report("gears", what, "leave it out for all six".to_owned());
        } else if let Some((_, gear)) = twice {
            let what = format!("expected each gear once, got {gear} twice");
            let help = "for one gear with several settings write several [[run]]".to_owned();
            self.places.report("gears", what, help);
        }
    }

    fn steps(&mut self) {
        let (steps, global) = (self.file.steps, self.file.batch.global);
        let most = SAMPLES_MAX / u64::from(global.max(1));
        if steps > most && self.places.usable(&["steps", "batch.global"]) {
            let what = format!("expected at most {most} global batches of {global} samples, got {steps}");
            self.places.report("steps", what, "a few hundred are enough for most clusters".to_owned());
        }
    }

    fn trace(&mut self) {
        let Some(trace) = &self.file.speed.trace else { return };
        if !self.places.usable(&["speed.trace"]) {
            return;
        }
        let path = self.file.base.join(trace);
        match read(&path, "trace").and_then(|text| Trace::parse(&text).map_err(|error| error.to_string())) {
            Ok(trace) => self.file.trace = Some(trace),
            Err(what) => {
                let help =
                    "a CSV file with the header worker,seconds and a batch time in each line".to_owned();
                self.places.report("speed.trace", format!("{}: {what}", path.display()), help);
            }
        }
    }

    fn faults(&mut self) {
        let (workers, servers) = (self.file.cluster.workers, self.file.cluster.servers);
        for (index, fault) in self.file.fault.iter().enumerate() {
            let path = |name: &str| format!("fault.{index}.{name}");
            let (who, seconds) = (path("who"), path("seconds"));
            if !self.places.usable(&[&path("kind"), &who]) {
                continue;
            }
            let for_good = matches!(fault.kind, FaultKind::WorkerCrash | FaultKind::WorkerVanish);
            if fault.seconds.is_none() && !for_good && self.places.usable(&[&seconds]) {
                let what = "missing: only a worker may be gone for good".to_owned();
                let help = "add how long it lasts, such as seconds = 5.0".to_owned();
                self.places.report(&seconds, what, help);
            }
            match fault.kind {
                FaultKind::SchedulerCrash => {}
                FaultKind::ServerCrash if fault.who < servers => {}
                FaultKind::ServerCrash if self.places.usable(&["cluster.servers"]) => {
                    let what = format!("expected a server from 0 to {}, got {}", servers - 1, fault.who);
                    let help = format!("cluster.servers = {servers}, counted from 0");
                    self.places.report(&who, what, help);
                }
                FaultKind::ServerCrash => {}
                _ => self.places.worker(&who, fault.who, workers),
            }
        }
        self.nobody_left();
    }

    /// Whether all workers go for good.
    fn nobody_left(&mut self) {
        let workers = self.file.cluster.workers;
        let crashes = self.file.fault.iter().filter(|fault| {
            matches!(fault.kind, FaultKind::WorkerCrash | FaultKind::WorkerVanish) && fault.seconds.is_none()
        });
        let gone: BTreeSet<u32> = crashes.map(|fault| fault.who).collect();
        if self.places.whole("fault")
            && self.places.usable(&["cluster.workers"])
            && (0..workers).all(|worker| gone.contains(&worker))
        {
            let what = format!("all {workers} workers fail for good: nothing would move");
            self.places.report("fault", what, "give one of them seconds".to_owned());
        }
    }

    fn sweep(&mut self, keys: &Keys) {
        let Some(sweep) = &self.file.sweep else { return };
        if !self.places.whole("sweep") {
            return;
        }
        let segments: Vec<&str> = sweep.key.split('.').collect();
        let kind = match keys.find(&pattern_of(&segments)) {
            Found::Key(key) => Some(key.kind).filter(|kind| takes_a_number(&sweep.key, *kind)),
            _ => None,
        };
        let Some(kind) = kind else {
            let known = keys.iter().filter(|key| takes_a_number(&key.path, key.kind));
            let known: Vec<String> = known.map(|key| key.path.replace("[]", ".0")).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let near = nearest(&sweep.key, &known);
            let help = near.map_or_else(
                || "such as speed.slow.0.factor, speed.noise.sigma or cluster.workers".to_owned(),
                |near| format!("did you mean {near:?}?"),
            );
            let what = format!("expected a key of this file that takes a number, got {:?}", sweep.key);
            self.places.report("sweep.key", what, help);
            return;
        };
        if sweep.values.is_empty() {
            let what = "expected at least one value, got none".to_owned();
            self.places.report("sweep.values", what, "write some, such as [1, 2, 4]".to_owned());
        }
        for (index, value) in sweep.values.iter().enumerate() {
            if let Err(misfit) = kind.check(&as_written(kind, *value)) {
                let what = format!("expected {} for {}, got {}", misfit.expected, sweep.key, misfit.got);
                self.places.report(&format!("sweep.values.{index}"), what, misfit.help);
            }
        }
    }
}

/// Whether a sweep may change the key.
fn takes_a_number(key: &str, kind: Kind) -> bool {
    let inner = ["run", "scenario", "sweep"].iter().any(|list| key.starts_with(list));
    !inner && matches!(kind, Kind::Integer(..) | Kind::Number(..) | Kind::Above(..))
}

/// A number as the key takes it: whole where it must be.
pub(super) fn as_written(kind: Kind, value: f64) -> Value {
    match kind {
        Kind::Integer(..) if value.fract() == 0.0 && value.abs() < 1e15 => Value::Integer(value as i64),
        _ => Value::Float(value),
    }
}
