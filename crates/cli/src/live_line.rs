//! One live line on a terminal; elsewhere a plain line now and then. On standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Between two lines of progress when the output is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// The line.
pub(crate) struct LiveLine {
    bar: Option<ProgressBar>,
    quiet: bool,
    shown: Instant,
}

impl LiveLine {
    /// A line; nothing at all when `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1000);
            let style = ProgressStyle::with_template("{spinner} {bar:20} {percent:>3}% {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { bar, quiet, shown: Instant::now() }
    }

    /// Shows that a share (0 to 1) is done, with `line`.
    pub(crate) fn show(&mut self, share: f64, line: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(line());
        } else if !self.quiet && self.shown.elapsed() >= PLAIN_EVERY {
            self.shown = Instant::now();
            self.say(&format!("{:>3.0}% {}", share * 100.0, line()));
        }
    }

    /// Says a line that stays.
    pub(crate) fn say(&self, line: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(line),
            None => {
                let _ = writeln!(std::io::stderr(), "{line}");
            }
        }
    }

    /// Removes the live line.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
