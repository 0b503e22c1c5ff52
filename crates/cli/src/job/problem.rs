//! What is wrong with a file: every problem with its place, its key, what is expected, what came, what to do.

use std::fmt;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// Nowhere: something is missing from the whole file.
    File,
    /// A line of the file, from 1.
    Line(usize),
    /// A `key=value` put over the file, with who says it: `--set seed=2`.
    Set(String),
}

/// One thing wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Where.
    pub(crate) origin: Origin,
    /// Path of the key, such as `shift.0.at_part`; empty for a syntax error.
    pub(crate) key: String,
    /// What is expected and what came.
    pub(crate) what: String,
    /// What to do; may be empty.
    pub(crate) help: String,
}

/// All that is wrong with a file, sorted by line; `--set`s last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Problems {
    file: String,
    problems: Vec<Problem>,
}

impl Problems {
    /// Sorts them; a line and key are named once for the same complaint.
    pub(crate) fn new(file: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort();
        problems.dedup();
        Self { file: file.to_owned(), problems }
    }

    /// Those of a file that holds one thing wrong as a whole.
    pub(crate) fn whole(file: &str, what: String, help: String) -> Self {
        Self::new(file, vec![Problem { origin: Origin::File, key: String::new(), what, help }])
    }

    /// The same, of a variant of the file such as `branch "gba"`: named where the place does not.
    pub(crate) fn in_variant(mut self, owner: &str) -> Self {
        for problem in &mut self.problems {
            if !matches!(&problem.origin, Origin::Set(text) if text.starts_with(owner)) {
                problem.what = format!("in {owner}: {}", problem.what);
            }
        }
        self
    }

    /// The problems, to be put among others.
    pub(crate) fn into_vec(self) -> Vec<Problem> {
        self.problems
    }

    /// The problems.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len();
        write!(f, "{count} problem{} in {}", if count == 1 { "" } else { "s" }, self.file)?;
        for problem in &self.problems {
            match &problem.origin {
                Origin::File => write!(f, "\n{}: ", self.file)?,
                Origin::Line(line) => write!(f, "\n{}:{line}: ", self.file)?,
                Origin::Set(text) => write!(f, "\n{text}: ")?,
            }
            if !problem.key.is_empty() {
                write!(f, "{}: ", problem.key)?;
            }
            f.write_str(&problem.what)?;
            if !problem.help.is_empty() {
                write!(f, "; {}", problem.help)?;
            }
        }
        Ok(())
    }
}
