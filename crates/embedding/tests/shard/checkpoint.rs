//! Checkpoints: written and restored over any number of servers, and every way to be damaged is refused.

use std::sync::Arc;

use crate::support::{Job, KINDS, Numbers, SEED, batch, commit, options, spec};
use gearshift_embedding::checkpoint::{Digest, read_header};
use gearshift_embedding::{CheckpointError, OptimizerKind, Restore, Shard, ShardSummary, Store};
use gearshift_types::{PartitionMap, ServerId, Step};
use sha2::Digest as _;

fn trained(kind: OptimizerKind, servers: u32, steps: u64) -> Job {
    let (spec, mut numbers) = (spec(), Numbers(3));
    let mut job = Job::new(&spec, &options(kind), servers);
    for step in 0..steps {
        for id in [2 * step, 2 * step + 1] {
            job.hold(&batch(&spec, id, 60, &mut numbers));
        }
        job.apply(&commit(step, &[(2 * step, 1.0), (2 * step + 1, 0.5)], 64), 1.0);
    }
    job
}

fn go_on(job: &mut Job, step: u64) {
    let (spec, mut numbers) = (spec(), Numbers(100 + step));
    for id in [1000, 1001] {
        job.hold(&batch(&spec, id, 80, &mut numbers));
    }
    job.apply(&commit(step, &[(1000, 1.0), (1001, 1.0)], 64), 1.0);
}

#[test]
fn restores_onto_any_number_of_servers_and_goes_on_bit_for_bit() {
    for kind in KINDS {
        for (from, to) in [(1, 1), (1, 4), (3, 2), (5, 1), (2, 5)] {
            let mut job = trained(kind, from, 3);
            let mut restored = Job::restore(&spec(), &options(kind), to, &job.checkpoint());
            assert!(restored.shards.iter().all(|shard| shard.version() == Step(3)));
            assert_eq!(restored.digest(), job.digest(), "{kind:?} {from} -> {to}");
            assert_eq!(restored.dense(), job.dense());
            if from == to {
                assert_eq!(restored.checkpoint(), job.checkpoint());
            }
            for step in 3..5 {
                go_on(&mut job, step);
                go_on(&mut restored, step);
            }
            assert_eq!(restored.digest(), job.digest(), "{kind:?} {from} -> {to}, two steps on");
        }
    }
}

#[test]
fn equal_states_give_equal_bytes_whatever_the_order_of_creation() {
    let job = trained(OptimizerKind::Adam, 1, 2);
    // Rows come back in another order: those of server 0 first.
    let again = Job::restore(&spec(), &options(OptimizerKind::Adam), 2, &job.checkpoint());
    let back = Job::restore(&spec(), &options(OptimizerKind::Adam), 1, &again.checkpoint());
    assert_eq!(back.checkpoint(), job.checkpoint());
}

#[test]
fn summary_describes_the_file() {
    let job = trained(OptimizerKind::Adagrad, 2, 2);
    for (server, shard) in job.shards.iter().enumerate() {
        let mut bytes = Vec::new();
        let summary = shard.write_checkpoint(&mut bytes).unwrap();
        assert_eq!(summary.bytes, bytes.len() as u64);
        let sha: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(summary.sha256, sha);
        assert_eq!(summary.digest, shard.digest());
        assert_eq!((summary.server.0 as usize, summary.servers, summary.step), (server, 2, Step(2)));
        for (table, digest) in shard.tables().iter().zip(&summary.digest.tables) {
            assert_eq!((table.name(), table.rows() as u64), (digest.name.as_str(), digest.rows));
        }
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<ShardSummary>(&json).unwrap(), summary);
        // The library's own reader takes the file too.
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("table.ads.slot.accumulator").unwrap().shape()[1], 17);
        let header = read_header("file", &mut &bytes[..], bytes.len() as u64).unwrap();
        assert_eq!((header.server.0 as usize, header.servers, header.step), (server, 2, Step(2)));
        assert_eq!(header.tensors.len(), 2 * 3 + 2);
    }
    assert!("12".parse::<Digest>().is_err());
}

fn restore(kind: OptimizerKind, files: &[&[u8]]) -> Result<Shard, CheckpointError> {
    Shard::restore(spec(), &options(kind), PartitionMap::new(1), ServerId(0), SEED, files)
}

#[test]
fn every_truncation_is_refused() {
    let bytes = small();
    for len in 0..bytes.len() {
        let result = restore(OptimizerKind::Adagrad, &[&bytes[..len]]);
        assert!(result.is_err(), "the first {len} of {} bytes", bytes.len());
    }
    let longer = [bytes.as_slice(), &[0]].concat();
    assert!(restore(OptimizerKind::Adagrad, &[&longer]).is_err());
    // A reader that ends before the length it promised, and one that goes on after it.
    for promised in [bytes.len() + 1, bytes.len() - 1] {
        let map = PartitionMap::new(1);
        let options = options(OptimizerKind::Adagrad);
        let mut restore = Restore::new(spec(), &options, map, ServerId(0), SEED).unwrap();
        let error = restore.part("file", &mut &bytes[..], promised as u64).unwrap_err();
        assert!(error.to_string().starts_with("file: "), "{error}");
        assert!(matches!(restore.finish(), Err(CheckpointError::Refused)));
    }
}

/// A shard with few rows.
fn small() -> Vec<u8> {
    let (spec, mut numbers) = (spec(), Numbers(1));
    let mut job = Job::new(&spec, &options(OptimizerKind::Adagrad), 1);
    job.hold(&batch(&spec, 0, 6, &mut numbers));
    job.apply(&commit(0, &[(0, 1.0)], 8), 1.0);
    job.checkpoint().remove(0)
}

#[test]
fn every_flipped_byte_is_refused_or_changes_the_digest() {
    let bytes = small();
    let whole = restore(OptimizerKind::Adagrad, &[&bytes]).unwrap();
    let (digest, version) = (whole.digest(), whole.version());
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let sha: String = sha2::Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let (mut refused, mut told) = (0, 0);
    // Every byte of header and keys, a sample of the rest; one bit and all bits.
    for at in (0..header + 200).chain((header + 200..bytes.len()).step_by(37)) {
        for mask in [1 << (at % 8), 0xFF] {
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            let (map, options) = (PartitionMap::new(1), options(OptimizerKind::Adagrad));
            let mut restore = Restore::new(spec(), &options, map, ServerId(0), SEED).unwrap();
            let Ok(part) = restore.part("file", &mut &damaged[..], damaged.len() as u64) else {
                refused += 1;
                continue;
            };
            told += 1;
            assert_ne!(part.sha256, sha);
            let shard = restore.finish().unwrap();
            // In the header only the step, or the space after the JSON, can differ and still make sense.
            let differs = shard.digest() != digest || shard.version() != version;
            assert!(differs || bytes[at] == b' ', "byte {at}");
        }
    }
    assert!(refused > 1000 && told > 100, "{refused} refused, {told} told apart");
}

/// Changes the JSON header.
fn edited(bytes: &[u8], edit: impl Fn(String) -> String) -> Vec<u8> {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let json = edit(String::from_utf8(bytes[8..8 + len].to_vec()).unwrap());
    [&(json.len() as u64).to_le_bytes(), json.as_bytes(), &bytes[8 + len..]].concat()
}

#[test]
fn malformed_headers_are_named() {
    let bytes = small();
    let refused = |from: &str, to: &str| {
        let damaged = edited(&bytes, |json| {
            assert!(json.contains(from), "{from} in {json}");
            json.replacen(from, to, 1)
        });
        restore(OptimizerKind::Adagrad, &[&damaged]).unwrap_err().to_string()
    };
    let cases = [
        ("\"server\":\"0\"", "\"server\":\"1\"", "metadata \"server\""),
        ("\"servers\":\"1\"", "\"servers\":\"2\"", "part 0:"),
        ("\"servers\":\"1\"", "\"servers\":\"4294967297\"", "metadata \"servers\""),
        ("\"step\":\"1\"", "\"step\":\"-1\"", "metadata \"step\""),
        ("\"dense_start\":\"0\"", "\"dense_start\":\"1024\"", "metadata \"dense_start\""),
        ("gearshift-shard", "other", "metadata \"format\""),
        ("\"version\":\"1\"", "\"version\":\"2\"", "metadata \"version\""),
        ("table.ads.keys", "table.ads.keyz", "table.ads.keys"),
        ("table.ads.values", "table.adz.values", "table.adz.values"),
        ("dense.slot.accumulator", "dense.slot.momentum", "optimizer slots [momentum]"),
        ("\"dtype\":\"U64\"", "\"dtype\":\"I64\"", "I64"),
        ("\"dtype\":\"F32\"", "\"dtype\":\"I32\"", "I32"),
        ("\"dtype\":\"F32\"", "\"dtype\":\"F64\"", "header"),
        ("5600]", "18446744073709551615]", "header"),
        ("[5600]", "[5600,18446744073709551615,18446744073709551615]", "header"),
        ("[5600]", "[2,2800]", "dense.slot.accumulator"),
        ("{", "", "header"),
    ];
    for (from, to, word) in cases {
        let error = refused(from, to);
        assert!(error.contains(word), "{from} -> {to}: {error}");
    }
}

#[test]
fn other_optimizers_and_incomplete_sets_are_refused() {
    let job = trained(OptimizerKind::Adam, 3, 1);
    let files = job.checkpoint();
    let all: Vec<&[u8]> = files.iter().map(Vec::as_slice).collect();
    for kind in [OptimizerKind::Sgd, OptimizerKind::Adagrad, OptimizerKind::Ftrl] {
        let error = restore(kind, &all).unwrap_err().to_string();
        assert!(
            error.contains("moment1, moment2") && error.contains("restore with the optimizer"),
            "{error}"
        );
    }
    let adagrad = trained(OptimizerKind::Adagrad, 1, 1).checkpoint();
    let error = restore(OptimizerKind::RowWiseAdagrad, &[&adagrad[0]]).unwrap_err().to_string();
    assert!(error.contains("table.ads.slot.accumulator"), "{error}");

    let adam = OptimizerKind::Adam;
    assert!(matches!(restore(adam, &[]), Err(CheckpointError::Coverage { .. })));
    let error = restore(adam, &all[..2]).unwrap_err().to_string();
    assert_eq!(error, "checkpoint parts: expected the files of servers 0, 1, 2, got those of 0, 1");
    assert!(restore(adam, &[all[0], all[1], all[1]]).unwrap_err().to_string().contains("not read yet"));
    let later = trained(adam, 3, 2).checkpoint();
    let error = restore(adam, &[all[0], all[1], &later[2]]).unwrap_err().to_string();
    assert!(error.contains("metadata \"step\": expected 1, got 2"), "{error}");
    let fewer = trained(adam, 2, 1).checkpoint();
    let error = restore(adam, &[all[0], &fewer[1]]).unwrap_err().to_string();
    assert!(error.contains("metadata \"servers\""), "{error}");
}

#[test]
fn a_shard_needs_only_the_files_that_overlap_it() {
    let job = trained(OptimizerKind::Ftrl, 4, 2);
    let files = job.checkpoint();
    let options = options(OptimizerKind::Ftrl);
    let mut shards = Vec::new();
    for server in [ServerId(0), ServerId(1)] {
        let map = PartitionMap::new(2);
        let mut restore = Restore::new(Arc::clone(&spec()), &options, map, server, SEED).unwrap();
        let needed = (0..4).filter(|&writer| restore.needs(ServerId(writer), 4)).collect::<Vec<_>>();
        assert_eq!(needed, [server.0 * 2, server.0 * 2 + 1]);
        for writer in needed {
            let bytes = &files[writer as usize];
            restore.part("file", &mut &bytes[..], bytes.len() as u64).unwrap();
        }
        shards.push(restore.finish().unwrap());
    }
    assert_eq!(Job { map: PartitionMap::new(2), shards }.digest(), job.digest());
}

#[test]
fn keys_out_of_order_are_refused() {
    let bytes = small();
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut swapped = bytes.clone();
    swapped[start..start + 16].rotate_left(8);
    let error = restore(OptimizerKind::Adagrad, &[&swapped]).unwrap_err();
    assert!(matches!(error, CheckpointError::Key { position: 1, .. }), "{error}");
    let mut twice = bytes.clone();
    twice.copy_within(start..start + 8, start + 8);
    let error = restore(OptimizerKind::Adagrad, &[&twice]).unwrap_err();
    assert!(matches!(error, CheckpointError::Key { position: 1, .. }), "{error}");
}
