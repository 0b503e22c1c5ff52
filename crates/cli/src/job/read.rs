//! From text and settings put over it to a struct, with everything that is wrong on the way. Job files and cluster
//! files are read alike.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::keys::{KeyList, Keys};
use super::problem::{Origin, Problem, Problems};
use super::sets::{self, Set};
use super::tree::{self, Table};
use super::walk;

/// Largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A file as text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Names it in messages.
    pub(crate) file: String,
    /// What it holds.
    pub(crate) text: String,
    /// Its folder.
    pub(crate) base: PathBuf,
}

impl Source {
    /// Text that is at hand.
    pub(crate) fn of_text(file: &str, text: &str, base: &Path) -> Self {
        Self { file: file.to_owned(), text: text.to_owned(), base: base.to_owned() }
    }

    /// Reads a file of the sort that `list` describes.
    ///
    /// # Errors
    /// When it cannot be read or is no text.
    pub(crate) fn read(path: &Path, list: &KeyList) -> Result<Self, Problems> {
        let file = path.display().to_string();
        let text = read(path, list.noun).map_err(|what| {
            let KeyList { noun, shown_by, .. } = list;
            let help = format!("give the path of a {noun} file; {shown_by} lists what it may hold");
            Problems::whole(&file, what, help)
        })?;
        Ok(Self { file, text, base: path.parent().unwrap_or(Path::new("")).to_owned() })
    }
}

/// A file held against its list of keys.
pub(crate) struct Checked<T> {
    /// What it says, with all that is wrong left out or replaced; absent when some line is not TOML.
    value: Option<T>,
    written: Table,
    tainted: BTreeSet<String>,
    problems: Vec<Problem>,
}

/// Parses `text`, puts `sets` over it, later ones over earlier ones, and holds it against `keys`.
pub(crate) fn check<T: DeserializeOwned>(keys: &Keys, text: &str, sets: &[Set]) -> Checked<T> {
    let (mut written, syntax) = tree::parse(text);
    let mut problems = Vec::new();
    for set in sets {
        problems.extend(sets::apply(keys, &mut written, set).err());
    }
    let walked = walk::walk(keys, &written);
    let mut value = None;
    if syntax.is_empty() {
        problems.extend(walked.problems);
        match toml::Value::Table(walked.clean).try_into::<T>() {
            Ok(read) => value = Some(read),
            Err(error) => problems.push(Problem {
                origin: Origin::File,
                key: String::new(),
                what: error.message().to_owned(),
                help: String::new(),
            }),
        }
    } else {
        // What a broken line meant is unknown, so neither it nor what seems missing is reported twice.
        let broken: Vec<&Origin> = syntax.iter().map(|problem| &problem.origin).collect();
        problems.extend(
            walked
                .problems
                .into_iter()
                .filter(|problem| !broken.contains(&&problem.origin) && !problem.what.starts_with("missing")),
        );
        problems.extend(syntax);
    }
    Checked { value, written, tainted: walked.tainted, problems }
}

impl<T> Checked<T> {
    /// The value if nothing is wrong with it. `cross` finds what is wrong across keys, from the value, where things
    /// are written, and the keys whose values stand in for wrong ones.
    ///
    /// # Errors
    /// Everything that is wrong.
    pub(crate) fn finish(
        self,
        file: &str,
        cross: impl FnOnce(&mut T, &Table, &BTreeSet<String>) -> Vec<Problem>,
    ) -> Result<T, Problems> {
        let mut problems = self.problems;
        if let Some(mut value) = self.value {
            problems.extend(cross(&mut value, &self.written, &self.tainted));
            if problems.is_empty() {
                return Ok(value);
            }
        }
        Err(Problems::new(file, problems))
    }
}

/// Reads a text file; `noun` says what sort it is.
///
/// # Errors
/// When it cannot be read, is too long or is no text: what was expected and what came.
pub(crate) fn read(path: &Path, noun: &str) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    if std::fs::metadata(path).map_err(cannot)?.is_dir() {
        return Err("expected a file, got a folder".to_owned());
    }
    let mut bytes = Vec::new();
    // What is no plain file may be longer than it says.
    let mut file = File::open(path).map_err(cannot)?.take(FILE_BYTES_MAX + 1);
    file.read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("expected a {noun} file of at most {FILE_BYTES_MAX} bytes, got more"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        format!("expected UTF-8 text, got other bytes in line {}", line + 1)
    })
}
