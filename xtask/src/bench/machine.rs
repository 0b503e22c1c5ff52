//! What a figure was measured on.

use std::process::Command;

/// CPU model, cores, commit and compiler, in one line.
pub(super) fn describe() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("machine: {}, {cores} cores; commit {}; {}", cpu(), commit(), output("rustc", &["--version"]))
}

/// A warning when the machine has other work to do, which spoils every figure.
pub(super) fn busy() -> Option<String> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split_whitespace().next()?.parse().ok()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (load > 0.5 * cores as f64).then(|| {
        format!("warning: the machine is busy (load {load} on {cores} cores): figures and ratios are not for claims")
    })
}

fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

fn commit() -> String {
    let commit = output("git", &["rev-parse", "--short", "HEAD"]);
    let clean = output("git", &["status", "--porcelain", "--untracked-files=no"]).is_empty();
    if clean { commit } else { format!("{commit} with changes") }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(crate::root()).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => format!("{program} unknown"),
    }
}
