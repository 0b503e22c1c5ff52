//! Tells what happens in a run, line by line, for debugging.

use gearshift_types::Time;

use crate::moment::{Moment, Watcher};

/// Hands each moment on as a line of text.
pub struct Tracer<F>(pub F);

/// Lines are cut here: messages may carry parameters.
const LINE_MAX: usize = 400;

impl<F: FnMut(&str)> Watcher for Tracer<F> {
    fn watch(&mut self, now: Time, moment: &Moment<'_>) -> Result<(), String> {
        let mut line = format!("{:12.6} {moment:?}", now.0 as f64 * 1e-9);
        if let Some((cut, _)) = line.char_indices().nth(LINE_MAX) {
            line.truncate(cut);
            line.push_str(" ...");
        }
        (self.0)(&line);
        Ok(())
    }
}
