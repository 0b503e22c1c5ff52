//! Messages, word for word; and jobs that must load.

use std::path::Path;

use super::super::Job;

/// The messages of a job that must be refused.
pub(super) fn messages(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Job::parse("job.toml", text, Path::new(""), &sets).expect_err("the job has problems").to_string()
}

#[test]
fn five_mistakes_are_five_messages() {
    let text = r#"
name = "five"
[data]
kind = "generated"
[data.generated]
parts = 4
[cluster]
wokers = 8
servers = "2"
[batch]
global = 1024
local = 100
[gear]
start = "gbaa"
[[shift]]
to = "synchronous"
at_part = 4
"#;
    let expected = r#"5 problems in job.toml
job.toml:8: cluster.wokers: unknown key; did you mean "workers"?
job.toml:9: cluster.servers: expected an integer from 1 to 1024, got "2"; leave out the quotes: 2
job.toml:12: batch.local: expected a divisor of batch.global = 1024, got 100; nearest: 64 or 128; or batch.global = 1000 or 1100
job.toml:14: gear.start: expected one of synchronous, gba, asynchronous, bounded_staleness, backup_workers, k_batch, got "gbaa"; did you mean "gba"?
job.toml:17: shift.0.at_part: expected a part from 0 to 3, got 4; [data] has 4 parts, counted from 0"#;
    assert_eq!(messages(text, &[]), expected);
}

#[test]
fn missing_keys_and_exclusive_keys() {
    let text = r#"
[batch]
global = 1024
[[shift]]
to = "gba"
[[shift]]
to = "gba"
at_part = 1
at_sample = 5
[[fault]]
worker = 9
at_batch = 3
[[straggler]]
worker = 4
slow = 0.5
"#;
    let expected = r#"8 problems in job.toml
job.toml: data.kind: missing: one of generated, criteo, delimited; add it, such as kind = "generated"
job.toml:2: batch.local: missing: an integer from 1 to 4294967295; add it, such as local = 64
job.toml:4: shift.0: expected exactly one of at_sample, at_part, at_seconds, got none; add one, such as at_sample = 100000
job.toml:9: shift.1: expected exactly one of at_sample, at_part, at_seconds, got at_sample and at_part; leave out all but one; for several changes write several [[shift]]
job.toml:10: fault.0.kind: missing: one of panic, leave; add it, such as kind = "panic"
job.toml:11: fault.0.worker: expected a worker from 0 to 3, got 9; cluster.workers = 4, counted from 0
job.toml:14: straggler.0.worker: expected a worker from 0 to 3, got 4; cluster.workers = 4, counted from 0
job.toml:15: straggler.0.slow: expected a number from 1 to 1000000, got 0.5"#;
    assert_eq!(messages(text, &[]), expected);
}

#[test]
fn tables_of_the_wrong_sort_and_keys_of_another_table() {
    let text = r#"
workers = 3
cluster = 4
[data]
kind = "criteo"
train = "day0.tsv"
[batch]
global = 64.0
local = 32
[optimizer.dense]
kind = "row_wise_adagrad"
[checkpoint]
every_minutes = 5
[shift]
to = "gba"
"#;
    let expected = r#"7 problems in job.toml
job.toml:2: workers: unknown key; "workers" belongs to [cluster]
job.toml:3: cluster: expected a table, got 4; write [cluster] with keys of workers, servers, pull_ahead, lease_seconds, unacknowledged_pushes, prefetch_blocks, on_nonfinite, drain_seconds
job.toml:6: data.train: expected a list of paths or lists of paths, got "day0.tsv"; put it in a list: ["day0.tsv"]
job.toml:8: batch.global: expected an integer from 1 to 4294967295, got 64.0; write it without a fraction, such as 64
job.toml:11: optimizer.dense.kind: row_wise_adagrad keeps one accumulator per embedding row and dense parameters have no rows; use adagrad
job.toml:13: checkpoint.every_minutes: expected checkpoint.folder beside it, got none; say where checkpoints go
job.toml:14: shift: expected a list of tables, got a table; write [[shift]], once for each"#;
    assert_eq!(messages(text, &[]), expected);
}

#[test]
fn syntax_errors_come_with_the_other_problems() {
    let text = "[data]\nkind = \"generated\"\n[batch]\nglobal = = 5\nlocal = \"x\"\nseed = 3\n";
    let found = messages(text, &[]);
    assert!(found.contains("job.toml:4: not TOML: "), "{found}");
    assert!(found.contains("job.toml:5: batch.local: expected an integer"), "{found}");
    assert!(found.contains("job.toml:6: batch.seed: unknown key; \"seed\" belongs to the top"), "{found}");
}

#[test]
fn missing_data_files_are_placed() {
    let text = "[data]\nkind = \"criteo\"\ntrain = [\n  \"no_such_day0.tsv\",\n  \"no_such_day1.tsv\",\n]\n[batch]\nglobal = 8\nlocal = 4\n";
    let found = messages(text, &[]);
    assert!(found.contains("\njob.toml:4: data.train.0: "), "{found}");
    assert!(found.contains("\njob.toml:5: data.train.1: "), "{found}");
}

#[test]
fn files_that_are_no_job() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Job::load(Some(&folder.path().join("no.toml")), &[]).unwrap_err().to_string();
    assert!(missing.contains("no.toml: cannot be read: "), "{missing}");
    let is_folder = Job::load(Some(folder.path()), &[]).unwrap_err().to_string();
    assert!(is_folder.contains("expected a file, got a folder"), "{is_folder}");
    let binary = folder.path().join("binary.toml");
    std::fs::write(&binary, b"seed = 1\nname = \"\xff\"\n").unwrap();
    let binary = Job::load(Some(&binary), &[]).unwrap_err().to_string();
    assert!(binary.contains("expected UTF-8 text, got other bytes in line 2"), "{binary}");
}

#[test]
fn the_demonstration_and_every_example_load() {
    let demo = Job::default_demo().unwrap();
    assert_eq!(demo.shift.len(), 2);
    assert_eq!(demo.warnings(), Vec::<String>::new());
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    // A checkout before the first example has no such folder.
    for entry in std::fs::read_dir(&examples).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let loaded = Job::parse("example", &text, &examples, &[]);
            // Data that an example names may not be on this machine; all else must be right.
            let wrong: Vec<String> = loaded.err().map_or_else(Vec::new, |problems| {
                let wrong = problems.iter().filter(|problem| !problem.what.contains("no such file"));
                wrong.map(|problem| format!("{problem:?}")).collect()
            });
            assert_eq!(wrong, Vec::<String>::new(), "{}", path.display());
        }
    }
}

#[test]
fn more_workers_than_local_batches_is_advised_against() {
    let sets = ["cluster.workers=32", "gear.start=gba"].map(str::to_owned);
    let job = Job::load(None, &sets).unwrap();
    let warnings = job.warnings();
    assert!(warnings[0].contains("32 workers but only M = 16 local batches"), "{warnings:?}");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let twice = [&sets[..], &["shift.0.to=gba".to_owned()]].concat();
    assert_eq!(Job::load(None, &twice).unwrap().warnings(), warnings);
}
