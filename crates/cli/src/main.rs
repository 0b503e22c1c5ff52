//! The one binary `gearshift`.

mod job;

use anyhow::Context;

/// Reads the job file named by the first argument and writes it back with every default filled in.
fn main() -> anyhow::Result<()> {
    use std::io::Write;
    let path = std::env::args().nth(1).context("expected the path of a job file")?;
    let text = std::fs::read_to_string(&path).with_context(|| format!("{path} cannot be read"))?;
    let job: job::Job = toml::from_str(&text).with_context(|| format!("{path} is not a job"))?;
    std::io::stdout().write_all(toml::to_string_pretty(&job)?.as_bytes())?;
    Ok(())
}
