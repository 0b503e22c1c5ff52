//! Development commands: verify, fix, tidy, sim, bench. Nothing to install, and none of the other crates used.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line for developers")]

pub mod bench;
pub mod fix;
pub mod sim;
pub mod stage;
pub mod tidy;
pub mod verify;

use std::path::PathBuf;

/// The repository's root, from where this crate was built.
#[must_use]
pub fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// The cargo that runs us, so that every stage uses the same toolchain.
#[must_use]
pub fn cargo() -> std::process::Command {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}
