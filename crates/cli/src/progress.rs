//! What a person sees while a job runs: one live line on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use gearshift_cluster::Notice;
use gearshift_runtime::report::PartReport;
use gearshift_runtime::{Observer, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::tables;

/// Between two lines of progress when the output is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Shows a run on standard error.
pub(crate) struct Watcher {
    bar: Option<ProgressBar>,
    shown: Instant,
    quiet: bool,
    total: Option<u64>,
    /// Share of the job that was done when the run began.
    began_at: Option<f64>,
    header: bool,
}

impl Watcher {
    /// A watcher of a run over `total` samples, if known.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{spinner} {bar:20} {percent:>3}% {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { bar, shown: Instant::now(), quiet, total, began_at: None, header: false }
    }

    /// Removes the live line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        if self.quiet {
            return;
        }
        match &self.bar {
            Some(bar) => bar.println(line),
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }

    /// Share of the job that is done, 0 to 1.
    fn share(&self, progress: &Progress) -> f64 {
        let share = match self.total.filter(|&total| total > 0) {
            Some(total) => progress.samples as f64 / total as f64,
            None => {
                let of_part = progress.read.0 as f64 / progress.read.1.max(1) as f64;
                (f64::from(progress.part) + of_part) / f64::from(progress.parts.max(1))
            }
        };
        share.clamp(0.0, 1.0)
    }

    fn line(&self, progress: &Progress) -> String {
        let share = self.share(progress);
        let done = share - self.began_at.unwrap_or(0.0);
        let eta = if done > 0.01 { progress.seconds * (1.0 - share) / done } else { f64::NAN };
        let gear = progress.gear.map_or_else(String::new, |gear| gear.to_string());
        let doing = if progress.evaluating { "evaluating" } else { gear.as_str() };
        let eta = if eta.is_finite() { tables::seconds(eta) } else { "-".to_owned() };
        format!(
            "ETA {eta} | {doing} | part {}/{} | step {} | {} samples/s | loss {} | online AUC {} | staleness {:.2}/{:.2}",
            progress.part + 1,
            progress.parts,
            progress.step,
            tables::count(progress.samples_per_second as u64),
            tables::number(progress.loss, 4),
            tables::number(progress.online_auc, 4),
            progress.token_staleness_steps,
            progress.version_staleness_steps,
        )
    }
}

impl Observer for Watcher {
    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Warning(text) => self.say(&format!("warning: {text}")),
            Notice::ShiftRequested { from, to, step } => {
                self.say(&format!("shift {from} -> {to} requested at step {step}"));
            }
            Notice::Shifted { from, to, step, drain, first_grant, .. } => self.say(&format!(
                "shift {from} -> {to} at step {step}: drained after {:.1} ms, first grant after {:.1} ms",
                drain.as_secs_f64() * 1e3,
                first_grant.as_secs_f64() * 1e3
            )),
            Notice::WorkerLeft { worker, reason, samples } => {
                self.say(&format!("worker {worker} left: {reason}; {samples} samples went back to the pool"))
            }
            Notice::GradientRefused { worker, reason, .. } => {
                self.say(&format!("worker {worker}: {reason}"));
            }
            _ => {}
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let share = self.share(progress);
        self.began_at.get_or_insert(share);
        if let Some(bar) = &self.bar {
            bar.set_position((self.share(progress) * 1000.0) as u64);
            bar.set_message(self.line(progress));
        } else if !self.quiet && self.shown.elapsed() >= PLAIN_EVERY {
            self.shown = Instant::now();
            self.say(&format!("{:>3.0}% {}", self.share(progress) * 100.0, self.line(progress)));
        }
    }

    fn part(&mut self, part: &PartReport) {
        if !self.header {
            self.header = true;
            self.say(&tables::part_header());
        }
        self.say(&tables::part_line(part));
    }
}
