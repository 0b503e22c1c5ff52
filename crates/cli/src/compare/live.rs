//! What a person sees while a comparison runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::live_line::LiveLine;
use crate::tables;

/// The state of all parts. Shared by the threads that run them.
pub(crate) struct Live(Mutex<Inner>);

struct Inner {
    line: LiveLine,
    total: usize,
    done: usize,
    /// Of `done`, those that were run now and not found.
    run: usize,
    /// Parts under way: their name and share.
    under_way: BTreeMap<usize, (String, f64)>,
    began: Instant,
}

impl Live {
    /// Shows `total` parts on standard error.
    pub(crate) fn new(total: usize, quiet: bool) -> Self {
        let (line, began) = (LiveLine::new(quiet), Instant::now());
        Self(Mutex::new(Inner { line, total, done: 0, run: 0, under_way: BTreeMap::new(), began }))
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
        self.lock().line.finish();
    }

    /// Says a line.
    pub(crate) fn say(&self, line: &str) {
        self.lock().line.say(line);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        let mut inner = self.lock();
        change(&mut inner);
        let (share, line) = (inner.share(), inner.text());
        inner.line.show(share, || line);
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

    fn text(&self) -> String {
        let run = self.parts() - (self.done - self.run) as f64;
        let seconds = self.began.elapsed().as_secs_f64();
        let left = self.total as f64 - self.parts();
        let eta = if run > 0.2 { tables::seconds(seconds * left / run) } else { "-".to_owned() };
        let rate = if run > 0.2 { format!("{:.1} parts/min", run / seconds * 60.0) } else { "-".to_owned() };
        let names: Vec<&str> = self.under_way.values().map(|(name, _)| name.as_str()).collect();
        format!("ETA {eta} | {rate} | {}/{} parts | {}", self.done, self.total, names.join(" | "))
    }
}
