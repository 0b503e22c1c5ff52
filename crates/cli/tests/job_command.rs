//! `gearshift job` as a person runs it.

use std::process::{Command, Output};

fn gearshift(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gearshift")).args(arguments).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn keys_lists_defaults_and_meanings() {
    let output = gearshift(&["job", "keys"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("gear.tolerance_steps = 3\n    gba"), "{}", text(&output.stdout));
}

#[test]
fn check_says_everything_that_is_wrong_and_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrong.toml");
    std::fs::write(&path, "[data]\nkind = \"generatd\"\n[batch]\nglobal = 64\nlocal = 33\n").unwrap();
    let output = gearshift(&["job", "check", path.to_str().unwrap(), "--set", "sed=3"]);
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("3 problems in "), "{said}");
    assert!(
        said.contains("wrong.toml:2: data.kind: ") && said.contains("did you mean \"generated\"?"),
        "{said}"
    );
    assert!(
        said.contains("wrong.toml:5: batch.local: expected a divisor of batch.global = 64, got 33"),
        "{said}"
    );
    assert!(said.contains("--set sed=3: sed: unknown key; did you mean \"seed\"?"), "{said}");
}

#[test]
fn show_prints_a_job_that_shows_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shown.toml");
    let first = gearshift(&["job", "show", "--set", "batch.local=64"]);
    assert!(first.status.success());
    std::fs::write(&path, &first.stdout).unwrap();
    let second = gearshift(&["job", "show", path.to_str().unwrap()]);
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(text(&first.stdout), text(&second.stdout));
    assert!(text(&first.stdout).contains("local = 64"));
}
