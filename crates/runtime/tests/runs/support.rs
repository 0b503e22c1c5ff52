//! Jobs on small generated data, runs that must end in time, folders of files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::RecvTimeoutError;
use gearshift_cluster::{Notice, OnNonFinite, Outcome, SchedulerOptions, WorkerOptions};
use gearshift_coordination::{BatchOptions, Gear, GearOptions};
use gearshift_data::{DataOptions, DataSet};
use gearshift_embedding::{OptimizerKind, UpdateOptions};
use gearshift_model::ModelOptions;
use gearshift_runtime::report::{PartReport, RunReport};
use gearshift_runtime::{CheckpointOptions, Control, LocalJob, Observer, Progress, RunError, run};

/// Longer than any run here takes on a busy machine.
const HANGS_AFTER: Duration = Duration::from_secs(60);

/// `parts` generated parts of `samples` each.
pub(crate) fn generated(parts: u32, samples: u64) -> DataOptions {
    let options = serde_json::json!({
        "kind": "generated", "block_rows": 64, "shuffle": true,
        "generated": {
            "parts": parts, "samples_per_part": samples, "vocabularies": [60, 30, 20], "dense": 3, "drift": 0.3,
        },
    });
    serde_json::from_value(options).unwrap()
}

/// Opens data below `base`.
pub(crate) fn open(options: &DataOptions, base: &Path) -> Arc<dyn DataSet> {
    gearshift_data::open(options, base, 7).unwrap()
}

/// A job over data: 4 workers, 2 servers, G = 64, B = 16, synchronous.
pub(crate) fn job(options: &DataOptions, base: &Path) -> LocalJob {
    let data = open(options, base);
    let mut update = UpdateOptions::default();
    update.dense.kind = OptimizerKind::Adam;
    update.dense.rate = 0.005;
    LocalJob {
        name: "test".to_owned(),
        seed: 7,
        toml: String::new(),
        model: ModelOptions { embedding_dim: 4, hidden: vec![8], ..ModelOptions::default() },
        update,
        scheduler: SchedulerOptions {
            start: Gear::Synchronous,
            gears: GearOptions::default(),
            batch: BatchOptions { global: 64, local: 16 },
            shifts: Vec::new(),
            workers: 4,
            servers: 2,
            parts: data.parts().len() as u32,
            evaluate_each_part: false,
            final_evaluation: data.has_evaluation(),
            evaluation_batch: 50,
            lease: Duration::from_secs(20),
            drain: Duration::from_secs(20),
            on_nonfinite: OnNonFinite::Stop,
            clip_norm: None,
            checkpoints: false,
            checkpoint_every_samples: None,
            checkpoint_every: None,
            checkpoint_at_part_end: false,
        },
        worker: WorkerOptions::default(),
        bad_line_share_max: 0.01,
        block_rows: options.block_rows,
        prefetch_blocks: 2,
        stragglers: Default::default(),
        faults: Vec::new(),
        checkpoints: None,
        resume: None,
        commit_log: None,
        data,
    }
}

/// Makes a job keep `keep` checkpoints in `folder`.
pub(crate) fn with_checkpoints(job: &mut LocalJob, folder: &Path, keep: usize) {
    job.checkpoints = Some(CheckpointOptions { folder: folder.to_owned(), keep });
    job.scheduler.checkpoints = true;
}

/// Sets the limit of the gradient norm in both places.
pub(crate) fn clip(job: &mut LocalJob, norm: f32) {
    job.update.clip_norm = Some(norm);
    job.scheduler.clip_norm = Some(norm);
}

/// Calls something on every notice.
pub(crate) struct OnNotice<F>(pub(crate) F);

impl<F: FnMut(&Notice)> Observer for OnNotice<F> {
    fn notice(&mut self, notice: &Notice) {
        (self.0)(notice);
    }
    fn progress(&mut self, _progress: &Progress) {}
    fn part(&mut self, _part: &PartReport) {}
}

/// Runs a job on a thread of its own, calling `each` on every notice; a run that hangs fails the test. Once it has
/// returned, none of its threads may hold on to the data.
pub(crate) fn run_watched(
    job: LocalJob,
    mut each: impl FnMut(&Notice, &Control) + Send + 'static,
) -> Result<RunReport, RunError> {
    let (done, result) = crossbeam_channel::bounded(1);
    let described = format!("{:?}, {:?}, faults {:?}", job.scheduler, job.worker, job.faults);
    let data = Arc::clone(&job.data);
    let holders = Arc::strong_count(&data);
    let thread = std::thread::spawn(move || {
        let (control, inbox) = Control::new();
        let steering = control.clone();
        let mut observer = OnNotice(move |notice: &Notice| each(notice, &steering));
        let result = run(&job, &inbox, &mut observer);
        assert!(Arc::strong_count(&data) <= holders, "a thread has outlived the run");
        drop(control);
        done.send(result).unwrap();
    });
    match result.recv_timeout(HANGS_AFTER) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => panic!("the run hangs: {described}"),
        Err(RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
    }
}

/// Runs a job to its end.
pub(crate) fn finish(job: LocalJob) -> Result<RunReport, RunError> {
    run_watched(job, |_, _| {})
}

/// Runs a job that must complete, with every sample read having met its fate.
pub(crate) fn complete(job: LocalJob) -> RunReport {
    let described = format!("{:?}, {:?}", job.scheduler, job.faults);
    let report = finish(job).unwrap();
    assert_eq!(report.outcome, Outcome::Completed, "{described}");
    assert_whole(&report, &described);
    assert_eq!(report.samples_left, 0, "{described}");
    report
}

/// The ledger of a report adds up.
pub(crate) fn assert_whole(report: &RunReport, described: &str) {
    let samples = &report.samples;
    assert!(report.ledger_adds_up, "{samples:?}, {} left: {described}", report.samples_left);
    assert_eq!(samples.read, samples.resolved() + report.samples_left, "{described}");
}

/// Digests of all tables and of the dense parameters.
pub(crate) fn digests(report: &RunReport) -> (Vec<(String, u64, String)>, String) {
    let tables = report.tables.iter();
    let tables = tables.map(|table| (table.name.clone(), table.rows, table.digest.clone())).collect();
    (tables, report.dense_digest.clone())
}

/// One splitmix64 step.
pub(crate) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Lines in Criteo's format, different from each other.
pub(crate) fn criteo_lines(rows: u32, seed: u64) -> String {
    let mut text = String::new();
    let mut state = seed;
    for _ in 0..rows {
        text += if random(&mut state).is_multiple_of(3) { "1" } else { "0" };
        for _ in 0..13 {
            text += &format!("\t{}", random(&mut state) % 50);
        }
        for field in 0..26 {
            text += &format!("\t{:08x}", random(&mut state) % (2 + field));
        }
        text.push('\n');
    }
    text
}

/// Criteo data: one part per file name.
pub(crate) fn criteo(train: &[&str], evaluate: &[&str], block_rows: u32) -> DataOptions {
    let options = serde_json::json!({
        "kind": "criteo", "train": train, "evaluate": evaluate, "block_rows": block_rows,
    });
    serde_json::from_value(options).unwrap()
}
