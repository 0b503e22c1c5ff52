//! Checkpoints on disk: whatever is not what was written is refused by name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gearshift_runtime::checkpoint::{CheckpointError, CheckpointFolder, MANIFEST, list};
use gearshift_runtime::{Checkpoint, LocalJob};
use gearshift_types::{PartitionMap, ServerId};

use crate::support::{complete, finish, generated, job, with_checkpoints};

/// A job with a checkpoint of two small server files at its end.
fn written(folder: &Path) -> (LocalJob, PathBuf) {
    let mut options = generated(1, 40);
    (options.generated.vocabularies, options.generated.dense) = (vec![3], 1);
    let mut job = job(&options, Path::new(""));
    (job.model.embedding_dim, job.model.hidden) = (2, vec![2]);
    job.toml = "name = \"small\"\n".to_owned();
    with_checkpoints(&mut job, folder, 3);
    let report = complete(job.clone());
    let path = PathBuf::from(&report.checkpoints[0]);
    Checkpoint::open(&path).unwrap().verify().unwrap();
    (job, path)
}

fn restore(job: &LocalJob, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
    let schema = job.data.schema();
    let model =
        gearshift_model::build(&job.model, &schema.features, &schema.tables, schema.dense.len()).unwrap();
    let spec = Arc::new(model.spec().clone());
    for server in 0..2 {
        let map = PartitionMap::new(2);
        checkpoint.restore(Arc::clone(&spec), &job.update, map, ServerId(server), job.seed)?;
    }
    Ok(())
}

#[test]
fn a_flipped_byte_of_the_manifest_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = written(folder.path());
    let manifest = path.join(MANIFEST);
    let whole = std::fs::read(&manifest).unwrap();
    for at in 0..whole.len() {
        // A space for a line end, a digit for its neighbour, a letter for its other case, and all bits.
        for mask in [0x2A, 0x01, 0x20, 0xFF] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            std::fs::write(&manifest, &bytes).unwrap();
            let error = match Checkpoint::open(&path) {
                Ok(_) => panic!("byte {at} of the manifest, mask {mask:#x}: not noticed"),
                Err(error) => error.to_string(),
            };
            assert!(error.contains(MANIFEST) && error.contains("expected"), "byte {at}: {error}");
        }
    }
    for length in 0..whole.len() {
        std::fs::write(&manifest, &whole[..length]).unwrap();
        assert!(Checkpoint::open(&path).is_err(), "cut to {length} bytes");
    }
    std::fs::write(&manifest, [whole.as_slice(), b" "].concat()).unwrap();
    assert!(Checkpoint::open(&path).is_err(), "one more byte");
    std::fs::write(&manifest, &whole).unwrap();
    Checkpoint::open(&path).unwrap();
}

#[test]
fn a_flipped_byte_of_a_server_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (job, path) = written(folder.path());
    let checkpoint = Checkpoint::open(&path).unwrap();
    restore(&job, &checkpoint).unwrap();
    for listed in &checkpoint.manifest().files {
        let file = path.join(&listed.name);
        let whole = std::fs::read(&file).unwrap();
        assert_eq!(whole.len() as u64, listed.bytes);
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(&file, &bytes).unwrap();
            let error = checkpoint.verify().unwrap_err();
            assert!(matches!(error, CheckpointError::Damaged { .. }), "byte {at}: {error}");
            let error = restore(&job, &checkpoint).unwrap_err().to_string();
            assert!(error.contains(&listed.name), "byte {at} of {}: {error}", listed.name);
        }
        for length in [0, 1, 7, 8, 9, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&file, &whole[..length]).unwrap();
            for error in [checkpoint.verify().map(drop), restore(&job, &checkpoint)] {
                let error = error.unwrap_err().to_string();
                assert!(error.contains(&format!("got {length} bytes")), "{error}");
            }
        }
        std::fs::remove_file(&file).unwrap();
        for error in [checkpoint.verify().map(drop), restore(&job, &checkpoint)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&listed.name) && error.contains("cannot open"), "{error}");
        }
        std::fs::write(&file, &whole).unwrap();
    }
    let bytes: u64 = checkpoint.manifest().files.iter().map(|file| file.bytes).sum();
    assert_eq!(checkpoint.verify().unwrap(), bytes);
}

#[test]
fn every_position_reads_back_as_it_was_written() {
    // Times are sums of times: all digits of a float come up, and the checksum is over what was read.
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = written(folder.path());
    let manifest = Checkpoint::open(&path).unwrap().manifest().clone();
    let here = CheckpointFolder::create(&folder.path().join("again"), 1).unwrap();
    let mut state = 5;
    for id in 0..200 {
        let mut manifest = manifest.clone();
        let bits = crate::support::random(&mut state) >> 12 | 0x40A0_0000_0000_0000;
        manifest.position.trained_seconds = f64::from_bits(bits);
        std::fs::create_dir_all(here.path().join(format!("writing-{id}"))).unwrap();
        let path = here.finish(id, &manifest).unwrap();
        let read =
            Checkpoint::open(&path).unwrap_or_else(|error| panic!("{}: {error}", f64::from_bits(bits)));
        assert_eq!(read.manifest().position, manifest.position);
    }
}

#[test]
fn a_half_written_checkpoint_does_not_exist() {
    let folder = tempfile::tempdir().unwrap();
    let (job, path) = written(folder.path());
    let half = folder.path().join("step-000000009999");
    std::fs::create_dir(&half).unwrap();
    std::fs::copy(path.join("server-0000.safetensors"), half.join("server-0000.safetensors")).unwrap();
    let writing = folder.path().join("writing-7");
    std::fs::create_dir(&writing).unwrap();
    assert_eq!(list(folder.path()).unwrap(), std::slice::from_ref(&path));
    assert_eq!(Checkpoint::open(folder.path()).unwrap().path(), path, "the newest that exists");
    let error = Checkpoint::open(&half).unwrap_err().to_string();
    assert!(error.contains("step-000000009999") && error.contains("never finished"), "{error}");
    let error = Checkpoint::open(&folder.path().join("nowhere")).unwrap_err().to_string();
    assert!(error.contains("nowhere: no checkpoint here"), "{error}");
    let mut resumed = job;
    resumed.resume = Some(half);
    assert!(finish(resumed).unwrap_err().to_string().contains("no checkpoint here"));
    CheckpointFolder::create(folder.path(), 3).unwrap();
    assert!(!writing.exists(), "what a killed run left is cleared away");
}

#[test]
fn a_checkpoint_that_was_being_replaced_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = written(folder.path());
    // Between the two renames: the old one is aside, the new one has not got its name.
    std::fs::rename(&path, folder.path().join("writing-4-replaced")).unwrap();
    std::fs::create_dir(folder.path().join("writing-4")).unwrap();
    CheckpointFolder::create(folder.path(), 3).unwrap();
    let found = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(found.path(), path);
    found.verify().unwrap();
    let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
    assert_eq!(left.filter(|name| name != "lock").count(), 1, "nothing else is left");
}

#[test]
fn a_folder_belongs_to_one_run_and_its_continuations() {
    let folder = tempfile::tempdir().unwrap();
    let (job, path) = written(folder.path());
    let error = finish(job.clone()).unwrap_err().to_string();
    assert!(error.contains("earlier run") && error.contains("--resume"), "{error}");
    assert_eq!(list(folder.path()).unwrap(), std::slice::from_ref(&path), "nothing was removed");

    let first = CheckpointFolder::create(folder.path(), 3).unwrap();
    let error = CheckpointFolder::create(folder.path(), 3).unwrap_err().to_string();
    assert!(error.contains("another run"), "{error}");
    // Going on from an earlier step gives up what came after it.
    let later = folder.path().join("step-000000099999");
    std::fs::create_dir(&later).unwrap();
    std::fs::copy(path.join("manifest.json"), later.join("manifest.json")).unwrap();
    let from = Checkpoint::open(&path).unwrap();
    first.begin(Some(&from)).unwrap();
    assert_eq!(list(folder.path()).unwrap(), [path]);
    assert!(folder.path().join("step-000000099999.given-up").exists());
}

#[test]
fn the_newest_ones_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    for keep in [1, 3] {
        let checkpoints = folder.path().join(keep.to_string());
        let mut job = job(&generated(3, 640), Path::new(""));
        with_checkpoints(&mut job, &checkpoints, keep);
        job.scheduler.checkpoint_every_samples = Some(200);
        let report = complete(job);
        assert!(report.checkpoints.len() > 5, "{:?}", report.checkpoints);
        let kept = list(&checkpoints).unwrap();
        let newest: Vec<PathBuf> =
            report.checkpoints.iter().rev().take(keep).rev().map(PathBuf::from).collect();
        assert_eq!(kept, newest);
        for path in kept {
            Checkpoint::open(&path).unwrap().verify().unwrap();
        }
    }
}

#[test]
fn a_checkpoint_of_another_model_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (mut job, path) = written(folder.path());
    job.resume = Some(path);
    job.model.embedding_dim = 5;
    let error = finish(job).unwrap_err().to_string();
    assert!(error.contains("server-000") || error.contains("step-0"), "{error}");
}
