//! Data that cannot be read in the middle of a run: the run ends with that error, at once.

use std::path::Path;
use std::time::{Duration, Instant};

use gearshift_coordination::Gear;
use gearshift_data::DataError;
use gearshift_runtime::{LocalJob, RunError};

use crate::support::{criteo, criteo_lines, finish, job, run_watched};

/// Runs a job that must end with an error of its data. Returns its text.
fn data_error(job: LocalJob, described: &str) -> String {
    let began = Instant::now();
    let error = finish(job).unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10), "{described}: took {:?}", began.elapsed());
    assert!(matches!(error, RunError::Data(_)), "{described}: {error:?}");
    error.to_string()
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_truncated_file_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.tsv"), criteo_lines(500, 1)).unwrap();
    let whole = gzip(&criteo_lines(2000, 2));
    std::fs::write(folder.path().join("b.tsv.gz"), &whole[..whole.len() / 2]).unwrap();
    for gear in Gear::ALL {
        let mut job = job(&criteo(&["a.tsv", "b.tsv.gz"], &[], 100), folder.path());
        job.scheduler.start = gear;
        job.scheduler.evaluate_each_part = gear == Gear::Gba;
        let text = data_error(job, gear.name());
        assert!(text.contains("b.tsv.gz"), "{gear}: {text}");
    }
}

#[test]
fn too_many_bad_lines_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let text = criteo_lines(3000, 3) + &"no sample\n".repeat(300) + &criteo_lines(5000, 4);
    std::fs::write(folder.path().join("a.tsv"), text).unwrap();
    let job = job(&criteo(&["a.tsv"], &[], 100), folder.path());
    let error = finish(job.clone()).unwrap_err();
    let RunError::Data(DataError::TooManyBadLines { bad, read, first, .. }) = &error else {
        panic!("{error:?}")
    };
    assert!(*bad > 30 && *bad <= 100 && *read <= 3100, "{error}");
    assert!(first.contains("a.tsv:3001: "), "{first}");
    let mut patient = job;
    patient.bad_line_share_max = 0.5;
    let report = finish(patient).unwrap();
    assert_eq!((report.samples.applied, report.bad_lines, report.first_bad_lines.len()), (8000, 300, 10));
    assert!(report.first_bad_lines[0].contains("a.tsv:3001: "), "{:?}", report.first_bad_lines);
}

#[test]
fn a_file_that_is_gone_by_its_turn_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.tsv", "b.tsv"] {
        std::fs::write(folder.path().join(name), criteo_lines(500, 5)).unwrap();
    }
    for evaluate in [false, true] {
        let second = folder.path().join("b.tsv");
        std::fs::write(&second, criteo_lines(500, 5)).unwrap();
        let mut job = job(&criteo(&["a.tsv", "b.tsv"], &[], 100), folder.path());
        job.scheduler.evaluate_each_part = evaluate;
        std::fs::remove_file(second).unwrap();
        let text = data_error(job, "gone");
        assert!(text.contains("b.tsv"), "{text}");
    }
}

#[test]
fn a_commit_log_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let mut job = job(&crate::support::generated(1, 100), Path::new(""));
    job.commit_log = Some(folder.path().join("file/log.jsonl"));
    let error = finish(job.clone()).unwrap_err().to_string();
    assert!(error.contains("file/log.jsonl"), "{error}");
    // A disk that is full in the middle of the run.
    job.commit_log = Some("/dev/full".into());
    let error = finish(job).unwrap_err().to_string();
    assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoints = folder.path().join("checkpoints");
    let mut job = job(&crate::support::generated(2, 2000), Path::new(""));
    crate::support::with_checkpoints(&mut job, &checkpoints, 3);
    job.scheduler.checkpoint_at_part_end = true;
    // The folder gives way to a file while the run is under way.
    let error = run_watched(job.clone(), move |notice, _| {
        if matches!(notice, gearshift_cluster::Notice::PartTrained { .. }) && checkpoints.is_dir() {
            std::fs::remove_dir_all(&checkpoints).unwrap();
            std::fs::write(&checkpoints, "").unwrap();
        }
    });
    let error = error.unwrap_err();
    assert!(matches!(error, RunError::Checkpoint(_)), "{error:?}");
    assert!(error.to_string().contains("checkpoints/writing-0"), "{error}");
    // And from the start.
    let error = finish(job).unwrap_err();
    assert!(error.to_string().contains("checkpoints: cannot create folder"), "{error}");
}
