//! `cargo xtask verify`: everything that must hold before a change is shared. CI runs exactly this.
//!
//! All stages share one target folder and the dev profile, so nothing is built twice. The source tree is only
//! read: a run that leaves it changed fails.

use std::process::Command;
use std::time::Instant;

use anyhow::bail;

use crate::stage::{Done, program, seconds, stage};
use crate::{cargo, root, tidy};

/// Runs all stages.
///
/// # Errors
/// At the first stage that fails.
pub fn run() -> anyhow::Result<()> {
    let start = Instant::now();
    let before = tree_state();
    let done = stages()?;
    if before != tree_state() {
        bail!("the source tree changed during the run: some stage or test writes to it, see `git status`");
    }
    println!("\nverify: all {} stages passed in {}", done.len(), seconds(start.elapsed()));
    for stage in done {
        println!("  {:<10} {:>8}", stage.name, seconds(stage.time));
    }
    Ok(())
}

fn stages() -> anyhow::Result<Vec<Done>> {
    let cargo_stage = |arguments: &[&str]| program(quiet().args(arguments));
    Ok(vec![
        stage("format", "cargo xtask fix", || cargo_stage(&["fmt", "--all", "--check"]))?,
        stage("tidy", "each line above says what to do", tidy::run)?,
        stage("clippy", "cargo xtask fix repairs some of it, the rest is yours", || {
            cargo_stage(&["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"])
        })?,
        stage("tests", "repeat one with cargo test -p PACKAGE NAME", || {
            cargo_stage(&["test", "--locked", "--workspace", "--tests"])
        })?,
        stage("doc tests", "repeat with cargo test --doc -p PACKAGE", || {
            cargo_stage(&["test", "--locked", "--workspace", "--doc"])
        })?,
        stage("docs", "mend the links and items that rustdoc names above", || {
            program(quiet().env("RUSTDOCFLAGS", "-D warnings").args([
                "doc",
                "--locked",
                "--workspace",
                "--no-deps",
            ]))
        })?,
    ])
}

/// Cargo without a progress bar, and tests that keep no failure files in the source tree.
fn quiet() -> Command {
    let mut command = cargo();
    command.env("CARGO_TERM_PROGRESS_WHEN", "never").env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true");
    command
}

/// What git says of the tree; `None` outside a git checkout.
fn tree_state() -> Option<Vec<u8>> {
    let output = Command::new("git").args(["status", "--porcelain"]).current_dir(root()).output().ok()?;
    output.status.success().then_some(output.stdout)
}
