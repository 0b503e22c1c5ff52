//! From a file and `--set`s to a [`Job`], and back to text.

use std::path::Path;

use gearshift_data::options::DataKind;

use super::keys::Keys;
use super::problem::{Origin, Problem, Problems};
use super::{Job, cross, sets, tree, walk};

/// The job of `gearshift train` without arguments.
const DEMO: &str = include_str!("demo.toml");

/// Largest job file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

impl Job {
    /// Reads a job file (without `path`: the demonstration) and puts `sets` (`key=value`) over it.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub(crate) fn load(path: Option<&Path>, sets: &[String]) -> Result<Self, Problems> {
        let Some(path) = path else {
            return Self::parse("demo.toml (built in)", DEMO, Path::new(""), sets);
        };
        let file = path.display().to_string();
        let text = read(path).map_err(|what| {
            let help = "give the path of a job file; gearshift job keys lists what it may hold".to_owned();
            Problems::new(&file, vec![Problem { origin: Origin::File, key: String::new(), what, help }])
        })?;
        Self::parse(&file, &text, path.parent().unwrap_or(Path::new("")), sets)
    }

    /// The job of `gearshift train` without arguments: generated data, DeepFM, 4 workers, from the synchronous
    /// gear to gba and back on the way.
    ///
    /// # Errors
    /// None that a test does not exclude.
    #[cfg(test)]
    pub(crate) fn default_demo() -> Result<Self, Problems> {
        Self::load(None, &[])
    }

    /// As [`Job::load`], from text. `file` names it in messages, `base` is its folder.
    pub(crate) fn parse(file: &str, text: &str, base: &Path, sets: &[String]) -> Result<Self, Problems> {
        let keys = Keys::new();
        let (mut table, syntax) = tree::parse(text);
        let mut problems = Vec::new();
        for set in sets {
            problems.extend(sets::apply(&keys, &mut table, set).err());
        }
        let walked = walk::walk(&keys, &table);
        if !syntax.is_empty() {
            // What a broken line meant is unknown, so neither it nor what seems missing is reported twice.
            let broken: Vec<&Origin> = syntax.iter().map(|problem| &problem.origin).collect();
            problems.extend(walked.problems.into_iter().filter(|problem| {
                !broken.contains(&&problem.origin) && !problem.what.starts_with("missing")
            }));
            problems.extend(syntax);
            return Err(Problems::new(file, problems));
        }
        problems.extend(walked.problems);
        match toml::Value::Table(walked.clean).try_into::<Self>() {
            Ok(mut job) => {
                job.base = base.to_owned();
                problems.extend(cross::check(&job, &table, &walked.tainted));
                if problems.is_empty() {
                    return Ok(job);
                }
            }
            Err(error) => problems.push(Problem {
                origin: Origin::File,
                key: String::new(),
                what: error.message().to_owned(),
                help: String::new(),
            }),
        }
        Err(Problems::new(file, problems))
    }

    /// The job with every default filled in, as a job file that gives the same job from any folder.
    ///
    /// # Errors
    /// When a path of the job is not UTF-8, or the working directory is gone.
    pub(crate) fn to_toml(&self) -> anyhow::Result<String> {
        let mut job = self.clone();
        if job.data.kind != DataKind::Generated {
            // "." first: a job file named without a folder, with data beside it, leaves both of the others empty.
            let folder = Path::new(".").join(&self.base).join(job.data.folder.unwrap_or_default());
            job.data.folder = Some(std::path::absolute(folder.join(""))?);
        }
        Ok(toml::to_string(&job)?)
    }

    /// Number of parts of the training data.
    pub(crate) fn parts(&self) -> u32 {
        match (self.data.kind, &self.data.split) {
            (DataKind::Generated, _) => self.data.generated.parts,
            (_, Some(split)) => split.parts,
            (_, None) => u32::try_from(self.data.train.len()).unwrap_or(u32::MAX),
        }
    }

    /// Number of training samples, where it is known before reading.
    pub(crate) fn samples(&self) -> Option<u64> {
        match (self.data.kind, &self.data.split) {
            (DataKind::Generated, _) => Some(
                u64::from(self.data.generated.parts).saturating_mul(self.data.generated.samples_per_part),
            ),
            (_, Some(split)) => split.rows_per_part.map(|rows| rows.saturating_mul(u64::from(split.parts))),
            _ => None,
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| format!("cannot be read: {error}"))?;
    if size.is_dir() {
        return Err("expected a file, got a folder".to_owned());
    }
    if size.len() > FILE_BYTES_MAX {
        return Err(format!("expected a job file of at most {FILE_BYTES_MAX} bytes, got {}", size.len()));
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let line =
            error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        format!("expected UTF-8 text, got other bytes in line {}", line + 1)
    })
}
