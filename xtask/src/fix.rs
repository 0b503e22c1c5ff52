//! `cargo xtask fix`: rewrites what can be rewritten without thought.

use crate::cargo;
use crate::stage::{program, stage};

/// Clippy's own repairs, then the format.
///
/// # Errors
/// When a tool cannot run or code does not compile.
pub fn run() -> anyhow::Result<()> {
    stage("clippy", "the code must compile first", || {
        let arguments =
            ["clippy", "--fix", "--workspace", "--all-targets", "--allow-dirty", "--allow-staged"];
        program(cargo().args(arguments))
    })?;
    stage("format", "the code must parse first", || program(cargo().args(["fmt", "--all"])))?;
    println!("fix: done; look at `git diff`, then cargo xtask verify");
    Ok(())
}
