//! What a person sees while a job runs: one live line on a terminal, plain lines elsewhere.

use gearshift_cluster::Notice;
use gearshift_runtime::report::PartReport;
use gearshift_runtime::{Observer, Progress};

use crate::live_line::LiveLine;
use crate::tables;

/// Shows a run on standard error.
pub(crate) struct Watcher {
    live: LiveLine,
    total: Option<u64>,
    /// Share of the job that was done when the run began.
    began_at: Option<f64>,
    header: bool,
}

impl Watcher {
    /// A watcher of a run over `total` samples, if known.
    pub(crate) fn new(total: Option<u64>, quiet: bool) -> Self {
        Self { live: LiveLine::new(quiet), total, began_at: None, header: false }
    }

    /// Removes the live line.
    pub(crate) fn finish(&self) {
        self.live.finish();
    }

    fn say(&self, line: &str) {
        self.live.say(line);
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
}

/// What the live line says when `share` of the job is done; `began_at` of it was when the run began.
fn line(progress: &Progress, share: f64, began_at: f64) -> String {
    let done = share - began_at;
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
        let began_at = *self.began_at.get_or_insert(share);
        self.live.show(share, || line(progress, share, began_at));
    }

    fn part(&mut self, part: &PartReport) {
        if !self.header {
            self.header = true;
            self.say(&tables::part_header());
        }
        self.say(&tables::part_line(part));
    }
}
