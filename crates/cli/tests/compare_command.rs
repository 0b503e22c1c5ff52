//! `gearshift compare` as people and scripts use it: results that are kept, interrupted, found again; the same from
//! any number of threads.
#![allow(clippy::unwrap_used, reason = "tests stop on errors")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A comparison of a second.
const SMALL: &str = r#"
name = "small"
[data]
kind = "generated"
block_rows = 512
shuffle = true
[data.generated]
parts = 5
samples_per_part = 2048
vocabularies = [100, 50]
dense = 2
[model]
embedding_dim = 4
hidden = [8]
[batch]
global = 256
local = 64
[cluster]
workers = 4
servers = 2
[compare]
base_parts = 2
parts = 2
seeds = 2
points = [0.25, 0.5]
"#;

/// Three ways to go on, one from a base of its own.
const BRANCHES: &str = r#"
[[compare.branch]]
name = "gba"
gears = ["gba"]
[[compare.branch]]
name = "by turns, one slow"
gears = ["gba", "synchronous"]
set = ["compare.speed.slow=[{ workers = 1, factor = 4 }]"]
[[compare.branch]]
name = "back"
gears = ["synchronous"]
base = "gba"
base_set = ["cluster.workers=2"]
"#;

fn compare(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gearshift"));
    command.current_dir(folder).args(["compare", "job.toml"]).args(more).output().unwrap()
}

fn folder(more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.toml"), format!("{SMALL}{more}")).unwrap();
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The report on standard output of a run that must succeed.
fn report(folder: &Path, more: &[&str]) -> Value {
    let done = compare(folder, &[&["--json", "-"], more].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn files(folder: &Path, kind: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("runs/compare/small/cache")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().unwrap() == kind).collect()
}

#[test]
fn branches_start_from_one_base_and_results_do_not_depend_on_threads() {
    let folder = folder(BRANCHES);
    let first = report(folder.path(), &["--threads", "1"]);
    let branches = first["branches"].as_array().unwrap();
    let names: Vec<&str> = branches.iter().map(|branch| branch["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stay synchronous", "gba", "by turns, one slow", "stay gba", "back"]);
    let reference: Vec<u64> = branches.iter().map(|branch| branch["reference"].as_u64().unwrap()).collect();
    assert_eq!(reference, [0, 0, 0, 3, 3]);
    for branch in branches {
        let runs = branch["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 2);
        for run in runs {
            let parts = run["parts"].as_array().unwrap();
            let shares = |part: &Value| -> Vec<f64> {
                let points = part["points"].as_array().unwrap();
                points.iter().map(|point| point["share"].as_f64().unwrap()).collect()
            };
            assert_eq!((shares(&parts[0]), shares(&parts[1])), (vec![0.25, 0.5, 1.0], vec![1.0]));
            for part in parts {
                let samples = &part["report"]["samples"];
                let fates = ["applied", "dropped", "discarded", "failed"];
                let resolved: u64 = fates.iter().map(|fate| samples[fate].as_u64().unwrap()).sum();
                assert_eq!((samples["read"].as_u64().unwrap(), resolved), (2048, 2048));
            }
        }
    }
    let page = std::fs::read_to_string(folder.path().join("runs/compare/small/index.html")).unwrap();
    assert!(page.contains("by turns, one slow") && !page.contains("src=") && !page.contains("href=\"http"));
    // Of states only those of the bases are kept: two bases with two seeds.
    assert_eq!(files(folder.path(), "state").len(), 4);
    let again = report(folder.path(), &["--threads", "3", "--fresh"]);
    assert!(first == again, "threads change the result");
}

#[test]
fn without_branches_every_gear_is_compared_both_ways() {
    let folder = folder("");
    let report = report(folder.path(), &["--set", "compare.seeds=1", "--set", "compare.parts=1"]);
    assert_eq!(report["branches"].as_array().unwrap().len(), 11);
    let shown = compare(folder.path(), &["--set", "compare.seeds=1", "--set", "compare.parts=1"]);
    let shown = text(&shown.stdout);
    for gear in ["gba", "asynchronous", "bounded_staleness", "backup_workers", "k_batch", "stay synchronous"]
    {
        assert!(shown.contains(gear), "{gear} is not in:\n{shown}");
    }
}

fn damaged_states_are_not_used(folder: &Path, expected: &Value) {
    let done = compare(folder, &["--json", "-"]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(serde_json::from_slice::<Value>(&done.stdout).unwrap() == *expected);
}

#[test]
fn what_is_kept_is_used_and_what_is_damaged_is_run_again() {
    let folder = folder(BRANCHES);
    let first = report(folder.path(), &[]);
    let kept = files(folder.path(), "json");
    let written = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    let before: Vec<_> = kept.iter().map(written).collect();
    assert!(report(folder.path(), &[]) == first);
    assert!(before == kept.iter().map(written).collect::<Vec<_>>(), "a kept part was run again");
    // Damage that still reads as a result, and damage that does not.
    let told = text(&std::fs::read(&kept[0]).unwrap());
    std::fs::write(&kept[0], told.replacen("\"seconds\":", "\"seconds\":1", 1)).unwrap();
    std::fs::write(&kept[1], "cut short").unwrap();
    assert!(report(folder.path(), &[]) == first, "a damaged result was used");
    assert!(text(&std::fs::read(&kept[0]).unwrap()) == told);
    for state in files(folder.path(), "state") {
        let mut bytes = std::fs::read(&state).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&state, bytes).unwrap();
    }
    // Parts after the bases: they go on from the states.
    let after = |path: &&PathBuf| text(&std::fs::read(path).unwrap()).contains("\"part\":2");
    let branches: Vec<&PathBuf> = kept.iter().filter(after).collect();
    assert_eq!(branches.len(), 10);
    branches.iter().for_each(|result| std::fs::remove_file(result).unwrap());
    damaged_states_are_not_used(folder.path(), &first);
    // The same in the line before the files: its numbers may still make sense.
    for state in files(folder.path(), "state") {
        let bytes = std::fs::read(&state).unwrap();
        let end = bytes.iter().position(|&byte| byte == b'\n').unwrap();
        let header = text(&bytes[..end]).replacen("\"step\":", "\"step\":1", 1);
        std::fs::write(&state, [header.as_bytes(), &bytes[end..]].concat()).unwrap();
    }
    branches.iter().for_each(|result| std::fs::remove_file(result).unwrap());
    damaged_states_are_not_used(folder.path(), &first);
    // Another setting is another result.
    let other = report(folder.path(), &["--set", "optimizer.dense.rate=0.01"]);
    assert!(other["branches"] != first["branches"], "a result of other settings was used");
}

#[test]
fn a_killed_comparison_goes_on_to_the_same_result() {
    let whole = folder(BRANCHES);
    let expected = report(whole.path(), &[]);
    let folder = folder(BRANCHES);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gearshift"));
    command.current_dir(folder.path()).args(["compare", "job.toml", "--threads", "1", "--quiet"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let cache = folder.path().join("runs/compare/small/cache");
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::read_dir(&cache).map_or(0, Iterator::count) < 6 {
        assert!(Instant::now() < until, "no part done within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(report(folder.path(), &[]) == expected, "going on changes the result");
}

#[test]
fn bases_by_settings_have_names_of_their_own() {
    let folder = folder(
        r#"
[[compare.branch]]
name = "stay synchronous"
gears = ["gba"]
[[compare.branch]]
name = "two workers"
gears = ["gba"]
base_set = ["cluster.workers=2"]
[[compare.branch]]
name = "from gba"
gears = ["synchronous"]
base_set = ["gear.start=gba"]
"#,
    );
    let report = report(folder.path(), &["--set", "compare.seeds=1"]);
    let branches = report["branches"].as_array().unwrap();
    let told =
        |key: &str| -> Vec<&str> { branches.iter().map(|branch| branch[key].as_str().unwrap()).collect() };
    let names = [
        "stay synchronous 2",
        "stay synchronous",
        "stay synchronous 3",
        "two workers",
        "stay gba",
        "from gba",
    ];
    assert_eq!(told("name"), names);
    let bases = ["synchronous", "synchronous", "synchronous", "synchronous", "gba", "gba"];
    assert_eq!(told("base"), bases);
}

#[test]
fn the_search_for_the_rate_is_told() {
    let folder = folder("[[compare.branch]]\nname = \"gba\"\ngears = [\"gba\"]\n");
    let sets = ["--set", "compare.seeds=1", "--set", "optimizer.sparse.rate=0.001", "--tune"];
    let report = report(folder.path(), &sets);
    let searched = &report["rate"]["searched"];
    let grid = searched["grid"].as_array().unwrap();
    let chosen = searched["chosen"].as_u64().unwrap() as usize;
    assert!(grid.len() >= 5, "{searched}");
    let auc = |point: &Value| point["auc_mean"].as_f64().unwrap();
    assert!(grid.iter().all(|point| auc(point) <= auc(&grid[chosen])), "{searched}");
    assert!(grid[chosen]["factor"].as_f64().unwrap() > 1.0, "0.001 is far too low: {searched}");
    let rate = grid[chosen]["sparse"].as_f64().unwrap();
    let job = report["job"].as_str().unwrap();
    assert!(job.contains(&format!("rate = {rate}")), "{rate} is not in:\n{job}");
}

#[test]
fn a_part_that_fails_says_why() {
    let folder = folder("");
    // A message takes longer than a lease.
    let done = compare(folder.path(), &["--set", "compare.network.gbit=1e-9", "--threads", "1", "--quiet"]);
    let told = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{told}");
    let expected = "error: base synchronous, seed 1, part 0: the scheduler waited 60s for a worker";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn mistakes_are_told_before_anything_is_run() {
    let bad = "[[compare.branch]]\nname = \"x\"\ngears = [\"gba\"]\nset = [\"batch.lokal=3\"]\n";
    for (more, sets, expected) in [
        (bad, &[][..], "lokal"),
        ("", &["--set", "compare.base_parts=4"], "base_parts + parts + 1"),
        ("", &["--threads", "0"], "--threads"),
        (
            "[[compare.branch]]\nname = \"x\"\ngears = [\"gba\"]\nset = [\"gear.start=gba\"]\n",
            &[],
            "compare.branch.0.set: expected no gear.start",
        ),
        (
            "",
            &["--set", "compare.speed.sample_us=0"],
            "compare.speed: expected sample_us or batch_us above 0",
        ),
        ("", &["--set", "compare.speed.slow=[{ workers = 5, factor = 2 }]"], "at most 4 slow workers, got 5"),
        ("", &["--set", "compare.network.link=[{ worker = 4 }]"], "compare.network.link.0.worker: expected"),
        ("", &["--json", "."], "cannot write ."),
        ("", &["--set", "compare.speed.trace=none.csv"], "none.csv"),
    ] {
        let folder = folder(more);
        let done = compare(folder.path(), sets);
        let told = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{told}");
        assert!(told.contains(expected), "{expected} is not in: {told}");
        assert!(done.stdout.is_empty());
    }
}
