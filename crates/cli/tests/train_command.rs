//! `gearshift train` as scripts use it: exit codes, interrupts, closed pipes, where output goes.
#![allow(clippy::unwrap_used, reason = "tests stop on errors")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A job of a second on a slow machine.
const SMALL: &str = r#"
name = "small"
[data]
kind = "generated"
block_rows = 256
[data.generated]
parts = 2
samples_per_part = 4000
vocabularies = [100, 50]
dense = 2
[model]
embedding_dim = 4
hidden = [8]
[batch]
global = 256
local = 64
[cluster]
workers = 2
servers = 2
"#;

fn gearshift(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gearshift"));
    command.current_dir(folder).args(arguments);
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    gearshift(folder, arguments).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with the small job and what `more` adds to it.
fn folder(more: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.toml"), format!("{SMALL}{more}")).unwrap();
    folder
}

/// Starts a run that would go on for hours and waits until it has trained for some steps.
fn under_way(folder: &Path) -> Child {
    let sets =
        ["--set", "data.generated.samples_per_part=1000000000", "--set", "output.commit_log=log.jsonl"];
    let more = ["--set", "checkpoint.folder=saved", "--json", "report.json"];
    let mut command = gearshift(folder, &["train", "job.toml"]);
    command.args(sets).args(more).stderr(Stdio::piped()).stdout(Stdio::piped());
    let child = command.spawn().expect("the binary starts");
    let log = folder.join("log.jsonl");
    let until = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(&log).map_or(0, |log| log.len()) < 20_000 {
        assert!(Instant::now() < until, "no training within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for the exit code.
fn ended(child: &mut Child) -> i32 {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().expect("it ends by itself, not by the signal");
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("still there after 30 s");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn an_interrupt_finishes_the_step_with_checkpoint_and_report() {
    for name in ["-INT", "-TERM"] {
        let folder = folder("");
        let mut child = under_way(folder.path());
        signal(&child, name);
        assert_eq!(ended(&mut child), 3, "{name}");
        let verified = output(folder.path(), &["checkpoint", "verify", "saved"]);
        assert!(verified.status.success(), "{}", text(&verified.stderr));
        let report = std::fs::read(folder.path().join("report.json")).unwrap();
        let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
        assert_eq!((&report["outcome"], &report["ledger_adds_up"]), (&"stopped".into(), &true.into()));
        let said = text(&verified.stdout);
        assert!(said.contains(&format!("whole; step {}", report["step"])), "{said}");
        let replayed = output(folder.path(), &["replay", "log.jsonl", "--compare", "report.json"]);
        assert!(replayed.status.success(), "{name}: {}", text(&replayed.stderr));
    }
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let folder = folder(
        "drain_seconds = 600\n[gear]\nstart = \"asynchronous\"\n[[straggler]]\nworker = 0\nslow = 1e6\n",
    );
    let mut child = under_way(folder.path());
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none(), "the straggler was not waited for");
    signal(&child, "-INT");
    assert_eq!(ended(&mut child), 130);
}

#[test]
fn output_goes_where_it_is_said() {
    let folder = folder("");
    let quiet = output(folder.path(), &["train", "job.toml", "--quiet", "--json", "runs/new/report.json"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", text(&quiet.stderr));
    assert_eq!((text(&quiet.stdout), text(&quiet.stderr)), (String::new(), String::new()));
    assert!(folder.path().join("runs/new/report.json").is_file());
    for arguments in [&["--json", "-"][..], &["--set", "output.json=-"], &["--quiet", "--json", "-"]] {
        let json = output(folder.path(), &[&["train", "job.toml"][..], arguments].concat());
        assert_eq!(json.status.code(), Some(0), "{}", text(&json.stderr));
        let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap_or_else(|error| {
            panic!("{arguments:?}: standard output is not JSON alone: {error}: {}", text(&json.stdout))
        });
        assert_eq!(report["outcome"], "completed");
    }
}

#[test]
fn closed_pipes_end_nothing() {
    let folder = folder("");
    for arguments in [&["train", "job.toml", "--json", "-"][..], &["train", "job.toml"], &["job", "keys"]] {
        let mut command = gearshift(folder.path(), arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(ended(&mut child), 0, "{arguments:?}: {said}");
        assert!(!said.contains("error") && !said.contains("panicked"), "{arguments:?}: {said}");
        let mut command = gearshift(folder.path(), arguments);
        let report = ["--set", "cluster.workers=40"];
        let warned = if arguments[0] == "train" { &report[..] } else { &[] };
        let mut child = command.args(warned).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(ended(&mut child), 0, "{arguments:?} with standard error closed");
    }
}

#[test]
fn failures_exit_with_1_and_say_what_to_do() {
    let folder = folder("");
    std::fs::write(folder.path().join("file"), "").unwrap();
    let cases: [(&[&str], &str); 8] = [
        (&["--resume"], "--resume without a path needs checkpoint.folder in the job"),
        (&["--resume", "nowhere"], "nowhere: no checkpoint here"),
        (&["--set", "data.kind=criteo", "--set", "data.train=[\"gone.tsv\"]"], "gone.tsv"),
        (&["--set", "checkpoint.folder=file/saved"], "file/saved: cannot create folder"),
        (&["--set", "output.commit_log=file/log"], "file/log"),
        (&["--json", "file/report.json"], "file/report.json"),
        (&["--set", "output.json=file/report.json"], "file/report.json"),
        (&["--set", "batch.local=100"], "batch.local: expected a divisor of batch.global = 256, got 100"),
    ];
    for (arguments, expected) in cases {
        let failed = output(folder.path(), &[&["train", "job.toml"][..], arguments].concat());
        let said = text(&failed.stderr);
        assert_eq!(failed.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.contains("part "), "{arguments:?}: refused after training only: {said}");
        assert!(failed.stdout.is_empty(), "{arguments:?}: {}", text(&failed.stdout));
    }
}

#[test]
fn a_run_without_workers_fails_with_its_report() {
    let faults: String = (0..2)
        .map(|worker| {
            format!("[[fault]]\nworker = {worker}\nkind = \"panic\"\nat_batch = 2\nrejoin_seconds = 100\n")
        })
        .collect();
    let folder = folder(&format!("lease_seconds = 0.3\n{faults}"));
    let failed = output(folder.path(), &["train", "job.toml", "--json", "report.json"]);
    let said = text(&failed.stderr);
    assert_eq!(failed.status.code(), Some(1), "{said}");
    assert!(said.contains("error: ") && said.contains("none is left; start workers"), "{said}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(report.contains("\"failed\""), "{report}");
}

#[test]
fn a_run_goes_on_only_with_what_it_was_made_with() {
    let folder = folder("[checkpoint]\nfolder = \"saved\"\nevery_samples = 1000\nkeep = 20\n");
    let run = |arguments: &[&str]| {
        let output = output(folder.path(), arguments);
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(run(&["train", "job.toml", "--quiet"]).0, Some(0));
    let (code, error) = run(&["train", "job.toml", "--quiet"]);
    assert!(code == Some(1) && error.contains("earlier run"), "{error}");
    for (set, key) in [
        ("seed=2", "seed (1 then, 2 now)"),
        ("data.block_rows=100", "data.block_rows"),
        ("data.shuffle=true", "data.shuffle"),
        ("model.embedding_std=0.5", "model.embedding_std"),
    ] {
        let (code, error) = run(&["train", "job.toml", "--quiet", "--resume", "--set", set]);
        assert!(code == Some(1) && error.contains(key), "{set}: {error}");
    }
    // More parts, another gear and other batches are no hindrance.
    let more = ["--set", "data.generated.parts=3", "--set", "gear.start=gba", "--set", "batch.local=32"];
    let mut arguments = vec!["train", "job.toml", "--quiet", "--json", "report.json", "--resume"];
    arguments.extend(more);
    let (code, error) = run(&arguments);
    assert_eq!(code, Some(0), "{error}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    assert!(report.contains("\"read\": 12000"), "{report}");
}

#[test]
fn predict_leaves_files_alone_when_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..400).map(|row| format!("{}\t{}\n", row % 2, row % 7)).collect();
    std::fs::write(folder.path().join("rows.tsv"), &rows).unwrap();
    std::fs::write(folder.path().join("bad.tsv"), "1\t2\nno\n").unwrap();
    let job = "[data]\nkind = \"delimited\"\ntrain = [\"rows.tsv\"]\n[data.delimited]\ncolumns = [\"y\", \"x\"]\n\
               label = { column = \"y\" }\nfeature = [{ name = \"x\", column = \"x\" }]\n\
               [batch]\nglobal = 64\nlocal = 32\n[checkpoint]\nfolder = \"saved\"\n";
    std::fs::write(folder.path().join("job.toml"), job).unwrap();
    assert!(output(folder.path(), &["train", "job.toml", "--quiet"]).status.success());
    let predict = |input: &str, to: &str| output(folder.path(), &["predict", "saved", input, "-o", to]);
    assert!(predict("rows.tsv", "scores.txt").status.success());
    let scores = std::fs::read_to_string(folder.path().join("scores.txt")).unwrap();
    assert_eq!(scores.lines().count(), 400);
    assert!(!predict("bad.tsv", "scores.txt").status.success());
    assert_eq!(std::fs::read_to_string(folder.path().join("scores.txt")).unwrap(), scores);
    assert!(!predict("rows.tsv", "rows.tsv").status.success());
    assert_eq!(std::fs::read_to_string(folder.path().join("rows.tsv")).unwrap(), rows);
}
