//! What a person sees while a comparison runs.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::tables;

/// Between two lines when the output is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The state of all parts. Shared by the threads that run them.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    quiet: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    total: usize,
    done: usize,
    /// Of `done`, those that were run now and not found.
    run: usize,
    /// Parts under way: their name and share.
    under_way: BTreeMap<usize, (String, f64)>,
    began: Instant,
    shown: Instant,
}

impl Live {
    /// Shows `total` parts on standard error.
    pub(crate) fn new(total: usize, quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{spinner} {bar:20} {percent:>3}% {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let now = Instant::now();
        let inner = Inner { total, done: 0, run: 0, under_way: BTreeMap::new(), began: now, shown: now };
        Self { bar, quiet, inner: Mutex::new(inner) }
    }

    /// A part (of the chain with this number) is so far.
    pub(crate) fn progress(&self, chain: usize, name: &str, share: f64) {
        self.change(|inner| {
            inner.under_way.insert(chain, (name.to_owned(), share));
        });
    }

    /// A part is done; `found` when it had been done before.
    pub(crate) fn done(&self, chain: usize, found: bool) {
        self.change(|inner| {
            inner.under_way.remove(&chain);
            inner.done += 1;
            inner.run += usize::from(!found);
        });
    }

    /// So many parts more are to be run.
    pub(crate) fn more(&self, parts: usize) {
        self.change(|inner| inner.total += parts);
    }

    /// Removes the live line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Says a line.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(line),
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut inner);
        let line = inner.line();
        if let Some(bar) = &self.bar {
            bar.set_position((inner.share() * 1000.0) as u64);
            bar.set_message(line);
        } else if !self.quiet && inner.shown.elapsed() >= PLAIN_EVERY {
            inner.shown = Instant::now();
            let _ = writeln!(std::io::stderr(), "{:>3.0} % {line}", inner.share() * 100.0);
        }
    }
}

impl Inner {
    /// Parts done, those under way by their share.
    fn parts(&self) -> f64 {
        self.done as f64 + self.under_way.values().map(|(_, share)| share).sum::<f64>()
    }

    fn share(&self) -> f64 {
        self.parts() / self.total.max(1) as f64
    }

    fn line(&self) -> String {
        let run = self.parts() - (self.done - self.run) as f64;
        let seconds = self.began.elapsed().as_secs_f64();
        let left = self.total as f64 - self.parts();
        let eta = if run > 0.2 { tables::seconds(seconds * left / run) } else { "-".to_owned() };
        let rate = if run > 0.2 { format!("{:.1} parts/min", run / seconds * 60.0) } else { "-".to_owned() };
        let names: Vec<&str> = self.under_way.values().map(|(name, _)| name.as_str()).collect();
        format!("ETA {eta} | {rate} | {}/{} parts | {}", self.done, self.total, names.join(" | "))
    }
}
