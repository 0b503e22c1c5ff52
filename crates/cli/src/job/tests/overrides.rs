//! `--set`: what it changes, and what it says when it cannot.

use std::path::{Path, PathBuf};

use gearshift_coordination::Gear;
use gearshift_data::options::PartFiles;

use super::super::{FaultKind, Job, Shift, ShiftAt};
use super::golden::messages;

const SMALL: &str =
    "[data]\nkind = \"generated\"\n[batch]\nglobal = 64\nlocal = 32\n[[shift]]\nto = \"gba\"\nat_part = 1\n";

fn with(sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Job::parse("job.toml", SMALL, Path::new(""), &sets).unwrap()
}

#[test]
fn values_are_toml_or_bare_words() {
    let job = with(&[
        "name = 7",
        "seed=0x10",
        "gear.start=backup_workers",
        "cluster.lease_seconds=5",
        "model.hidden=[8, 4]",
        "output.json=runs/a=b.jsonl",
        "checkpoint.folder=\"with space\"",
        "evaluate.each_part=false",
    ]);
    assert_eq!((job.name.as_str(), job.seed), ("7", 16));
    assert_eq!(job.gear.start, Gear::BackupWorkers);
    assert_eq!(job.cluster.lease_seconds, 5.0);
    assert_eq!(job.model.hidden, [8, 4]);
    assert_eq!(job.output.json, Some(PathBuf::from("runs/a=b.jsonl")));
    assert_eq!(job.checkpoint.folder, Some(PathBuf::from("with space")));
    assert!(!job.evaluate.each_part);
}

#[test]
fn lists_of_tables_go_by_index() {
    let job = with(&[
        "shift.0.at_part=2",
        "shift.1.to=asynchronous",
        "shift.1.at_seconds=2.5",
        "fault.0={worker = 1, kind = \"leave\", at_batch = 3}",
        "straggler.0.worker=3",
        "straggler.0.slow=4",
    ]);
    assert_eq!(
        job.shift,
        [
            Shift { to: Gear::Gba, at: ShiftAt::Part(2) },
            Shift { to: Gear::Asynchronous, at: ShiftAt::Seconds(2.5) },
        ]
    );
    assert_eq!(job.fault[0].kind, FaultKind::Leave);
    assert_eq!(job.straggler[0].slow, 4.0);
    assert_eq!(with(&["shift=[]"]).shift, []);
}

#[test]
fn an_exclusive_key_wins_over_its_rivals_in_the_file() {
    assert_eq!(with(&["shift.0.at_sample=9"]).shift[0].at, ShiftAt::Sample(9));
    let found = messages(SMALL, &["shift.0.at_sample=9", "shift.0.at_seconds=1"]);
    assert!(found.contains("got at_sample and at_seconds"), "{found}");
}

#[test]
fn a_later_set_wins() {
    assert_eq!(with(&["seed=1", "seed=2"]).seed, 2);
}

#[test]
fn problems_name_the_set() {
    let sets =
        ["batch.local", "cluster.=3", "seed.x=1", "shift.3.to=gba", "shift.to=gba", "gear.start=gab", "x=1"];
    let expected = r#"7 problems in job.toml
--set batch.local: expected key=value, got no `=`; write it as in --set batch.global=1024
--set cluster.=3: cluster.: expected names joined by dots, got an empty name; write it as in --set batch.global=1024
--set gear.start=gab: gear.start: expected one of synchronous, gba, asynchronous, bounded_staleness, backup_workers, k_batch, got "gab"; did you mean "gba"?
--set seed.x=1: seed: expected a table, got 3; gearshift job keys lists what a job takes
--set shift.3.to=gba: shift.3: there are 1 of these; the next is number 1, not 3; gearshift job keys lists what a job takes
--set shift.to=gba: shift: expected a number from 0 after the dot, got "to"; gearshift job keys lists what a job takes
--set x=1: x: unknown key; known here: name, seed, data, model, optimizer, batch, gear, shift, cluster, straggler, fault, checkpoint, output, evaluate, compare"#;
    assert_eq!(messages(&format!("seed = 3\n{SMALL}"), &sets), expected);
}

#[test]
fn paths_in_a_list() {
    let text = "[data]\nkind = \"criteo\"\ntrain = [\"a\"]\n[batch]\nglobal = 64\nlocal = 32\n";
    let folder = tempfile::tempdir().unwrap();
    for name in ["b.tsv", "c.tsv"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let set = "data.train=[\"b.tsv\", [\"c.tsv\"]]".to_owned();
    let job = Job::parse("job.toml", text, folder.path(), &[set]).unwrap();
    assert_eq!(job.data.train, [PartFiles::One("b.tsv".into()), PartFiles::Several(vec!["c.tsv".into()])]);
    // Written back it is the same job from any folder.
    let again = Job::parse("again.toml", &job.to_toml().unwrap(), Path::new("/nowhere"), &[]).unwrap();
    assert_eq!(again.data.folder.as_deref().map(|path| path.join("")), Some(folder.path().join("")));
    assert_eq!(Job { base: job.base.clone(), data: job.data.clone(), ..again }, job);
}
