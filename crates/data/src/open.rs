//! From the job file's `[data]` to an open data set, and everything that can be wrong with it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::criteo::{CriteoParser, criteo_schema};
use crate::delimited;
use crate::generator::{self, Generated};
use crate::options::{DataKind, DataOptions};
use crate::source::{DataError, DataSet};
use crate::text::set::{TextSet, files_of, root};
use crate::text::unpack::Source;

/// The largest `block_rows`.
const BLOCK_ROWS_MAX: u32 = 1 << 22;

/// Opens the data set that `options` describe. `base` is the job file's folder, to which `folder` is relative;
/// `seed` makes generated data and the shuffle.
///
/// Reads headers and side tables, and all train files once when `split` has to count their rows.
///
/// # Errors
/// The first problem that [`check`] would list, or a file that cannot be read.
pub fn open(options: &DataOptions, base: &Path, seed: u64) -> Result<Arc<dyn DataSet>, DataError> {
    if let Some(problem) = problems(options, base).into_iter().next() {
        return Err(problem);
    }
    let shuffle_seed = options.shuffle.then_some(seed);
    Ok(match options.kind {
        DataKind::Generated => Arc::new(Generated::new(options, seed)),
        DataKind::Criteo => {
            let integers = options.criteo.integers;
            let parser = Arc::new(CriteoParser::new(integers, options.on_bad_line, shuffle_seed));
            Arc::new(TextSet::new(options, base, None, criteo_schema(integers), parser)?)
        }
        DataKind::Delimited => {
            let opened = delimited::open(options, base, shuffle_seed)?;
            Arc::new(TextSet::new(options, base, opened.header, opened.schema, opened.parser)?)
        }
    })
}

/// Everything that is wrong with `options`, as messages that say what was expected, what came and what to do. Looks
/// at the files' existence and headers but reads no rows; an empty list means that [`open`] will try.
#[must_use]
pub fn check(options: &DataOptions, base: &Path) -> Vec<String> {
    problems(options, base).iter().map(DataError::to_string).collect()
}

fn problems(options: &DataOptions, base: &Path) -> Vec<DataError> {
    let mut found = general_problems(options);
    match options.kind {
        DataKind::Generated => generator::problems(&options.generated, &mut found),
        DataKind::Criteo | DataKind::Delimited => split_problems(options, &mut found),
    }
    let mut found: Vec<DataError> = found.into_iter().map(DataError::Options).collect();
    if options.kind == DataKind::Generated {
        return found;
    }
    let before = found.len();
    let root = root(options, base);
    let mut seen = HashSet::new();
    let joins = options.delimited.iter().flat_map(|delimited| &delimited.joins).map(|join| &join.file);
    let joins = joins.filter(|_| options.kind == DataKind::Delimited);
    for file in options.train.iter().flat_map(files_of).chain(&options.evaluate).chain(joins) {
        if seen.insert(file) {
            let path: Arc<PathBuf> = Arc::new(root.join(file));
            found.extend(Source::open(&path, 0).err());
        }
    }
    let files_good = found.len() == before;
    if options.kind == DataKind::Delimited {
        found.extend(delimited::problems(options, base, files_good));
    }
    found
}

fn general_problems(options: &DataOptions) -> Vec<String> {
    let mut found = Vec::new();
    if !(1..=BLOCK_ROWS_MAX).contains(&options.block_rows) {
        found.push(format!("block_rows = {}; give 1 to {BLOCK_ROWS_MAX}", options.block_rows));
    }
    let share = options.bad_line_share_max;
    if !(0.0..=1.0).contains(&share) {
        found.push(format!("bad_line_share_max = {share}; a share is 0 to 1"));
    }
    let kind = match options.kind {
        DataKind::Generated => "generated",
        DataKind::Criteo => "criteo",
        DataKind::Delimited => "delimited",
    };
    let mut absent = |name: &str, given: bool| {
        if given {
            found.push(format!("kind = \"{kind}\" does not use {name}; leave it out or change kind"));
        }
    };
    if options.kind == DataKind::Generated {
        absent("train", !options.train.is_empty());
        absent("evaluate", !options.evaluate.is_empty());
        absent("split", options.split.is_some());
        absent("folder", options.folder.is_some());
    } else {
        absent("[data.generated]", options.generated != Default::default());
    }
    if options.kind != DataKind::Criteo {
        absent("[data.criteo]", options.criteo != Default::default());
    }
    if options.kind != DataKind::Delimited {
        absent("[data.delimited]", options.delimited.is_some());
    } else if options.delimited.is_none() {
        found.push(
            "kind = \"delimited\" needs [data.delimited] with the columns, label and features".to_owned(),
        );
    }
    if options.kind != DataKind::Generated {
        if options.train.is_empty() {
            found.push(format!("kind = \"{kind}\" needs train, the list of its files; got none"));
        }
        for (at, part) in options.train.iter().enumerate() {
            if files_of(part).is_empty() {
                found.push(format!("train[{at}] is an empty list; name its files or remove it"));
            }
        }
    }
    found
}

fn split_problems(options: &DataOptions, found: &mut Vec<String>) {
    let Some(split) = &options.split else { return };
    if split.parts == 0 {
        found.push("split: parts = 0; give at least 1".to_owned());
    }
    if split.rows_per_part == Some(0) {
        found.push("split: rows_per_part = 0; give at least 1 or leave it out".to_owned());
    }
}
