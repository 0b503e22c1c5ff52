//! Workers die and leave in the middle of a run; no sample is lost and nothing waits for the dead.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gearshift_cluster::Outcome;
use gearshift_coordination::Gear;
use gearshift_data::options::OnBadLine;
use gearshift_data::{BlockParser, BlockReader, DataError, DataSet, Parsed, RawBlock, Schema};
use gearshift_runtime::{Fault, FaultAt, FaultKind};
use gearshift_types::{PartId, WorkerId};

use crate::support::{assert_whole, complete, finish, generated, job, random};

#[test]
fn every_gear_completes_when_workers_die() {
    let mut struck = 0;
    for gear in Gear::ALL {
        for kind in [FaultKind::Panic, FaultKind::Leave] {
            for rejoin in [None, Some(Duration::from_millis(1))] {
                for seed in 0..5 {
                    let mut state = seed;
                    let mut job = job(&generated(2, 600), Path::new(""));
                    job.scheduler.start = gear;
                    job.scheduler.evaluate_each_part = seed % 2 == 0;
                    job.scheduler.servers = 1 + seed as u32 % 3;
                    job.worker.pull_ahead = seed == 3;
                    job.stragglers = [(random(&mut state) as u32 % 4, 10.0)].into();
                    let mut fault = |worker| {
                        let at = match random(&mut state) % 2 {
                            0 => FaultAt::Batch(random(&mut state) % 12),
                            _ => FaultAt::Sample(random(&mut state) % 900),
                        };
                        Fault { worker, kind, at, rejoin }
                    };
                    job.faults = vec![fault(0), fault(2), fault(2)];
                    let described = format!("{gear}, {kind:?}, rejoin {rejoin:?}, seed {seed}");
                    let report = complete(job);
                    assert_eq!(report.samples.read, 1200, "{described}");
                    let deaths: u64 = report.figures.workers.values().map(|worker| worker.deaths).sum();
                    assert!(deaths <= 3, "{described}: {deaths} deaths");
                    struck += deaths;
                }
            }
        }
    }
    assert!(struck > 200, "only {struck} faults struck");
}

#[test]
fn without_workers_the_run_ends_within_its_lease() {
    for gear in Gear::ALL {
        let mut job = job(&generated(1, 5000), Path::new(""));
        job.scheduler.start = gear;
        job.scheduler.lease = Duration::from_millis(300);
        let fault = |worker| Fault { worker, kind: FaultKind::Panic, at: FaultAt::Batch(3), rejoin: None };
        job.faults = (0..4).map(fault).collect();
        let report = finish(job).unwrap();
        let Outcome::Failed(reason) = &report.outcome else { panic!("{gear}: {:?}", report.outcome) };
        assert!(reason.contains("waited 300ms for a worker and none is left"), "{gear}: {reason}");
        assert!(report.samples_left > 0, "{gear}: nothing was left to do");
        assert_whole(&report, gear.name());
    }
}

#[test]
fn a_straggler_does_not_hold_up_the_end() {
    let mut job = job(&generated(1, 5000), Path::new(""));
    job.scheduler.start = Gear::Asynchronous;
    job.scheduler.lease = Duration::from_millis(100);
    job.scheduler.drain = Duration::from_secs(1);
    job.stragglers = [(1, 1e7)].into();
    let fault = |worker| Fault { worker, kind: FaultKind::Leave, at: FaultAt::Batch(2), rejoin: None };
    job.faults = vec![fault(0), fault(2), fault(3)];
    let began = Instant::now();
    let report = crate::support::run_watched(job, |notice, control| {
        if matches!(notice, gearshift_cluster::Notice::WorkerLeft { .. }) {
            control.stop();
        }
    });
    // The straggler keeps its lease, so the stop waits for the drain to end it.
    assert!(report.unwrap().samples_left > 0);
    assert!(began.elapsed() < Duration::from_secs(10), "took {:?}", began.elapsed());
}

/// Generated data of which one block does not fit the schema, or at which the parser panics.
struct Poisoned {
    inner: Arc<dyn DataSet>,
    block: u32,
    panics: bool,
}

struct PoisonedParser {
    inner: Arc<dyn BlockParser>,
    block: u32,
    panics: bool,
}

impl BlockParser for PoisonedParser {
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError> {
        let mut parsed = self.inner.parse(raw)?;
        if raw.block == self.block {
            assert!(!self.panics, "a parser's own mistake");
            parsed.batch.dense_width = 1;
            parsed.batch.dense.truncate(parsed.batch.samples());
        }
        Ok(parsed)
    }
}

impl DataSet for Poisoned {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }
    fn parts(&self) -> &[String] {
        self.inner.parts()
    }
    fn has_evaluation(&self) -> bool {
        false
    }
    fn open(&self, part: PartId) -> Result<Box<dyn BlockReader>, DataError> {
        self.inner.open(part)
    }
    fn open_evaluation(&self) -> Result<Box<dyn BlockReader>, DataError> {
        self.inner.open_evaluation()
    }
    fn parser(&self) -> Arc<dyn BlockParser> {
        let (block, panics) = (self.block, self.panics);
        Arc::new(PoisonedParser { inner: self.inner.parser(), block, panics })
    }
    fn on_bad_line(&self) -> OnBadLine {
        OnBadLine::Stop
    }
}

#[test]
fn a_panic_nobody_asked_for_restarts_the_worker_three_times() {
    let mut job = job(&generated(1, 640), Path::new(""));
    job.data = Arc::new(Poisoned { inner: job.data, block: 5, panics: false });
    job.scheduler.workers = 2;
    job.scheduler.lease = Duration::from_secs(3);
    let report = finish(job).unwrap();
    let Outcome::Failed(reason) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(reason.contains("none is left"), "{reason}");
    for worker in [0, 1] {
        assert_eq!(report.figures.workers[&WorkerId(worker)].deaths, 4, "worker {worker}");
    }
    let incident = report.incidents.iter().find(|text| text.contains("panicked: ")).unwrap();
    assert!(incident.contains("dense"), "{incident}");
    assert_eq!(report.samples.applied, 320, "all before the block that cannot be trained on");
    assert_whole(&report, "poisoned");
}

#[test]
fn a_panic_while_reading_ends_the_run_with_its_text() {
    let mut job = job(&generated(1, 640), Path::new(""));
    job.data = Arc::new(Poisoned { inner: job.data, block: 5, panics: true });
    let began = Instant::now();
    let error = finish(job).unwrap_err().to_string();
    assert!(error.contains("reads the data panicked") && error.contains("a parser's own mistake"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "took {:?}", began.elapsed());
}
