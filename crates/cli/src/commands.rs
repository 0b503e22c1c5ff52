//! The commands of the binary, one file each.

pub(crate) mod checkpoint;
pub(crate) mod compare;
pub(crate) mod evaluate;
pub(crate) mod generate;
pub(crate) mod predict;
pub(crate) mod replay;
pub(crate) mod resume;
pub(crate) mod simulate;
pub(crate) mod train;

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

/// Prints to standard output; a closed pipe ends the program quietly.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Makes the file if there is none: better refused now than after hours of work.
pub(crate) fn check_writable(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| OpenOptions::new().append(true).create(true).open(path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// A progress bar with rate and ETA on standard error; hidden when that is no terminal.
pub(crate) fn bar(total: u64, unit: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = format!("{{bar:24}} {{percent:>3}}% {{human_pos}} {unit} {{per_sec}} ETA {{eta}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style)
}
