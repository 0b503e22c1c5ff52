//! One named stage of a command: runs a program with its output shown and takes the time.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

/// A finished stage.
#[derive(Clone, Debug)]
pub struct Done {
    /// Its name.
    pub name: &'static str,
    /// Its wall time.
    pub time: Duration,
}

/// Runs `work` as the stage `name`.
///
/// # Errors
/// When the work fails; the message names the stage and says how to fix it.
pub fn stage(
    name: &'static str,
    fix: &str,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Done> {
    println!("==> {name}");
    let start = Instant::now();
    let outcome = work();
    let time = start.elapsed();
    match outcome {
        Ok(()) => {
            println!("<== {name}: passed in {}", seconds(time));
            Ok(Done { name, time })
        }
        Err(error) => bail!("stage `{name}` failed after {}: {error:#}\nto fix: {fix}", seconds(time)),
    }
}

/// Runs a program to its end, its output passed through.
///
/// # Errors
/// When it cannot be started or does not succeed.
pub fn program(command: &mut Command) -> anyhow::Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| format!("`{shown}` cannot be started"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// A command as one would type it.
#[must_use]
pub fn show(command: &Command) -> String {
    let name = std::path::Path::new(command.get_program()).file_stem().unwrap_or_default();
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// A duration as seconds.
#[must_use]
pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_stage_says_which_and_how_to_fix_it() {
        let error = stage("sums", "add again", || program(Command::new("false").arg("1"))).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("stage `sums` failed after "), "{text}");
        assert!(text.contains("`false 1` ended with exit status: 1\nto fix: add again"), "{text}");
    }
}
