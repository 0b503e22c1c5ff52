//! The cluster file: its list of keys against its structs, its messages word for word, its variants.

use std::path::Path;

use gearshift_coordination::Gear;
use gearshift_sim::cluster::{FaultKind, LoadPattern};
use proptest::prelude::*;

use super::key_list::CLUSTER_FILE;
use super::{ClusterFile, ClusterSource};
use crate::job::keys::Keys;
use crate::job::print::tests::every_default_is_shown;
use crate::job::read::Source;
use crate::job::tests::drift::list_and_structs_agree;

const SMALL: &str = "[batch]\nglobal = 64\nlocal = 8\n";

fn source(text: &str, sets: &[&str]) -> ClusterSource {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    ClusterSource::new(Source::of_text("cluster.toml", text, Path::new("")), &sets)
}

fn messages(text: &str, sets: &[&str]) -> String {
    source(text, sets).plan().expect_err("the file has problems").to_string()
}

#[test]
fn the_cluster_file_and_its_list_agree() {
    let keys = Keys::new(CLUSTER_FILE);
    list_and_structs_agree::<ClusterFile>(&keys, &[]);
    every_default_is_shown::<ClusterFile>(&keys);
}

#[test]
fn values_and_tables_arrive() {
    let text = format!(
        "{SMALL}[speed]\nload.pattern = \"bursty\"\n[[speed.slow]]\nworkers = 2\nfactor = 3\n[[fault]]\nat_seconds = 3\nkind = \"link_cut\"\nwho = 1\nseconds = 2\n"
    );
    let file = source(&text, &["network.gbit=10", "cluster.workers=4", "gear.backups=2"]).file().unwrap();
    assert_eq!((file.cluster.workers, file.gear.backups, file.network.gbit), (4, 2, Some(10.0)));
    let load = file.speed.load.unwrap();
    assert_eq!((load.pattern, load.hour_seconds), (LoadPattern::Bursty, 3600.0));
    assert_eq!((file.speed.noise, file.speed.slow[0].factor), (None, 3.0));
    assert_eq!((file.fault[0].kind, file.fault[0].seconds), (FaultKind::LinkCut, Some(2.0)));
    // Without them nothing is noisy or loaded; written empty, the defaults hold.
    assert_eq!(source(SMALL, &[]).file().unwrap().speed.load, None);
    let noise = source(SMALL, &["speed.noise={}"]).file().unwrap().speed.noise.unwrap();
    assert_eq!((noise.sigma, noise.correlation), (0.5, 0.0));
}

#[test]
fn everything_wrong_is_said_at_once() {
    let text = r#"
gears = ["gba", "sync"]
[batch]
global = 64
local = 7
[cluster]
workers = 4
[speed]
sample_us = 0
jiter = 0.1
trace = "no_such_trace.csv"
[[speed.slow]]
workers = 5
[network]
[[network.link]]
worker = 4
[[fault]]
kind = "server_crash"
at_seconds = 1
who = 1
[sweep]
key = "speed.slow.0.facter"
values = [1, 2]
"#;
    let expected = r#"9 problems in cluster.toml
cluster.toml:2: gears: expected a list of synchronous, gba, asynchronous, bounded_staleness, backup_workers, k_batch, got "sync" as element 1 (from 0); did you mean "synchronous"?
cluster.toml:5: batch.local: expected a divisor of batch.global = 64, got 7; nearest: 4 or 8; or batch.global = 63 or 70
cluster.toml:10: speed.jiter: unknown key; did you mean "jitter"?
cluster.toml:11: speed.trace: no_such_trace.csv: cannot be read: No such file or directory (os error 2); a CSV file with the header worker,seconds and a batch time in each line
cluster.toml:12: speed.slow.0.factor: missing: a number above 0, at most 1000000; add it, such as factor = 3.0
cluster.toml:16: network.link.0.worker: expected a worker from 0 to 3, got 4; cluster.workers = 4, counted from 0
cluster.toml:17: fault.0.seconds: missing: only a worker may be gone for good; add how long it lasts, such as seconds = 5.0
cluster.toml:20: fault.0.who: expected a server from 0 to 0, got 1; cluster.servers = 1, counted from 0
cluster.toml:22: sweep.key: expected a key of this file that takes a number, got "speed.slow.0.facter"; did you mean "speed.slow.0.factor"?"#;
    assert_eq!(messages(text, &[]), expected);
}

#[test]
fn what_cannot_be_run_or_swept_is_refused() {
    let found = messages(SMALL, &["steps=1000000000", "batch.global=4294967295", "batch.local=1"]);
    assert!(found.contains("steps: expected at most 4096 global batches of 4294967295 samples"), "{found}");
    assert!(source(SMALL, &["steps=1000000000"]).file().is_ok());
    let found = messages(SMALL, &["sweep.key=\"fault.0.kind\"", "sweep.values=[1]"]);
    assert!(
        found.contains("expected a key of this file that takes a number, got \"fault.0.kind\""),
        "{found}"
    );
    assert!(!found.contains("did you mean \"fault.0.kind\"?"), "{found}");
}

#[test]
fn runs_and_scenarios_are_variants_and_name_themselves() {
    let text = format!(
        "{SMALL}[[run]]\nname = \"backup\"\ngear = \"backup_workers\"\nset = [\"batch.local=32\"]\n[[run]]\nname = \"gba\"\ngear = \"gba\"\n[[scenario]]\nname = \"two slow\"\nset = [\"speed.slow=[{{workers = 2, factor = 3}}]\"]\n[[scenario]]\nname = \"none\"\n[sweep]\nkey = \"cluster.workers\"\nvalues = [8, 16]\n"
    );
    let plan = source(&text, &["cluster.workers=5"]).plan().unwrap();
    let cells: Vec<(&str, &str, u32, usize)> = plan
        .scenarios
        .iter()
        .flat_map(|(name, cells)| cells.iter().map(move |cell| (name.as_str(), cell)))
        .map(|(name, cell)| (name, cell.run.as_str(), cell.file.batch.local, cell.file.speed.slow.len()))
        .collect();
    let expected = [
        ("two slow", "backup", 32, 1),
        ("two slow", "gba", 8, 1),
        ("none", "backup", 32, 0),
        ("none", "gba", 8, 0),
    ];
    assert_eq!(cells, expected);
    let swept: Vec<(f64, u32)> =
        plan.sweep.points.iter().map(|(value, cells)| (*value, cells[0].file.cluster.workers)).collect();
    assert_eq!((swept, plan.sweep.written), (vec![(8.0, 8), (16.0, 16)], true));

    let wrong = text.replace("batch.local=32", "batch.local=33").replace("factor = 3", "factor = 0");
    let expected = r#"2 problems in cluster.toml
run "backup", set "batch.local=33": batch.local: expected a divisor of batch.global = 64, got 33; nearest: 32 or 64; or batch.global = 33 or 66
scenario "two slow", set "speed.slow=[{workers = 2, factor = 0}]": speed.slow.0.factor: expected a number above 0, at most 1000000, got 0"#;
    assert_eq!(messages(&wrong, &[]), expected);
    let expected = r#"1 problem in cluster.toml
scenario "two slow", set "speed.slow=[{workers = 2, factor = 3}]": speed.slow: expected at most 1 slow workers, got 2 in all; cluster.workers = 1"#;
    assert_eq!(messages(&text, &["cluster.workers=1"]), expected);
    let wrong = text.replace("[8, 16]", "[0.5, 16]");
    assert!(
        messages(&wrong, &[])
            .contains("sweep.values.0: expected an integer from 1 to 65536 for cluster.workers, got 0.5")
    );
}

#[test]
fn without_runs_every_gear_runs_and_one_worker_gets_slower() {
    let plan = source(SMALL, &[]).plan().unwrap();
    assert_eq!(plan.scenarios.len(), 1);
    let gears: Vec<Gear> = plan.scenarios[0].1.iter().map(|cell| cell.gear).collect();
    assert_eq!(gears, Gear::ALL);
    let last = plan.sweep.points.last().unwrap();
    assert_eq!((last.0, last.1[1].file.speed.slow[0].factor, plan.sweep.written), (10.0, 10.0, false));
    let two = source(SMALL, &["gears=[\"synchronous\", \"gba\"]"]).plan().unwrap();
    assert_eq!(two.scenarios[0].1.len(), 2);
    assert!(messages(SMALL, &["gears=[]"]).contains("--set gears=[]: gears: expected at least one gear"));
}

#[test]
fn a_trace_is_found_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("times.csv"), "worker,seconds\n0,0.5\n1,0.25\n").unwrap();
    let path = folder.path().join("cluster.toml");
    std::fs::write(&path, format!("{SMALL}[speed]\ntrace = \"times.csv\"\n")).unwrap();
    let file = ClusterSource::open(Some(&path), &[]).unwrap().file().unwrap();
    assert!(file.trace.is_some());
    std::fs::write(folder.path().join("times.csv"), "worker,seconds\n0,fast\n").unwrap();
    let found = ClusterSource::open(Some(&path), &[]).unwrap().file().unwrap_err().to_string();
    assert!(found.contains("speed.trace: ") && found.contains("line 2: expected seconds above 0"), "{found}");
}

#[test]
fn the_demonstration_and_every_example_load() {
    let demo = ClusterSource::open(None, &[]).unwrap().plan().unwrap();
    assert_eq!(demo.file.speed.slow[0].factor, 3.0);
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/simulate");
    for entry in std::fs::read_dir(&examples).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let plan = ClusterSource::open(Some(&path), &[]).unwrap().plan();
            assert_eq!(plan.err().map(|problems| problems.to_string()), None);
        }
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|value| value.to_string()),
        (1..100_u32).prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| format!("{value:?}")),
        "[a-z_]{0,12}".prop_map(|text| format!("{text:?}")),
        Just("[{}]".to_owned()),
        Just("[1, 2.5]".to_owned()),
        "[ -~]{0,12}",
    ]
}

fn path() -> impl Strategy<Value = String> {
    let known: Vec<String> = Keys::new(CLUSTER_FILE).iter().map(|key| key.path.replace("[]", ".0")).collect();
    prop_oneof![4 => prop::sample::select(known), 1 => "[a-z.0-9]{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn random_sets_never_panic(sets in prop::collection::vec((path(), value()), 0..6)) {
        let sets: Vec<String> = sets.iter().map(|(path, value)| format!("{path}={value}")).collect();
        if let Err(problems) = ClusterSource::open(None, &sets).unwrap().plan() {
            prop_assert!(problems.iter().count() > 0);
            prop_assert!(!problems.to_string().is_empty());
        }
    }
}
