//! The data set of text files, whatever the format of their lines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gearshift_types::PartId;

use super::parts::{FileRows, Reading, TextPart, TextReader, count_rows};
use crate::options::{DataOptions, OnBadLine, PartFiles};
use crate::source::{BlockParser, BlockReader, DataError, DataSet, EVALUATION_PART, Schema};

pub(crate) struct TextSet {
    schema: Schema,
    names: Vec<String>,
    parts: Vec<TextPart>,
    evaluation: Option<TextPart>,
    reading: Reading,
    parser: Arc<dyn BlockParser>,
    on_bad_line: OnBadLine,
}

/// The folder that file names are relative to.
pub(crate) fn root(options: &DataOptions, base: &Path) -> PathBuf {
    options.folder.as_ref().map_or_else(|| base.to_path_buf(), |folder| base.join(folder))
}

/// The file names of one entry of `train`.
pub(crate) fn files_of(part: &PartFiles) -> &[PathBuf] {
    match part {
        PartFiles::One(file) => std::slice::from_ref(file),
        PartFiles::Several(files) => files,
    }
}

impl TextSet {
    /// Counts rows when `split` needs it.
    pub(crate) fn new(
        options: &DataOptions,
        base: &Path,
        header: Option<Arc<str>>,
        schema: Schema,
        parser: Arc<dyn BlockParser>,
    ) -> Result<Self, DataError> {
        let root = root(options, base);
        let reading = Reading { block_rows: options.block_rows, header };
        let resolve = |files: &[PathBuf]| files.iter().map(|file| Arc::new(root.join(file))).collect();
        let whole = |id: u32, files: Arc<[Arc<PathBuf>]>| TextPart {
            id: PartId(id),
            files,
            rows: None,
            counted: Arc::new([]),
        };
        let (names, parts) = if options.split.is_some() {
            let all: Vec<PathBuf> = options.train.iter().flat_map(files_of).cloned().collect();
            split_parts(options, resolve(&all), &reading)?
        } else {
            let parts = options.train.iter().enumerate();
            (
                part_names(&options.train),
                parts.map(|(at, part)| whole(at as u32, resolve(files_of(part)))).collect(),
            )
        };
        let evaluation =
            (!options.evaluate.is_empty()).then(|| whole(EVALUATION_PART.0, resolve(&options.evaluate)));
        Ok(Self { schema, names, parts, evaluation, reading, parser, on_bad_line: options.on_bad_line })
    }
}

fn split_parts(
    options: &DataOptions,
    files: Arc<[Arc<PathBuf>]>,
    reading: &Reading,
) -> Result<(Vec<String>, Vec<TextPart>), DataError> {
    let split = options.split.clone().unwrap_or(crate::options::SplitOptions {
        parts: 1,
        rows_per_part: None,
        skip_rows: 0,
    });
    let (rows, counted) = match split.rows_per_part {
        Some(rows) => (rows, Vec::new()),
        None => {
            let counted: Vec<FileRows> =
                files.iter().map(|file| count_rows(file, reading)).collect::<Result<_, _>>()?;
            let all = counted.iter().map(|file| file.rows).sum::<u64>();
            let rows = all.saturating_sub(split.skip_rows) / u64::from(split.parts);
            if rows == 0 {
                return Err(DataError::Options(format!(
                    "split: the train files hold {all} rows, too few for skip_rows = {} and {} parts: lower them",
                    split.skip_rows, split.parts
                )));
            }
            (rows, counted)
        }
    };
    let counted: Arc<[FileRows]> = counted.into();
    let part = |at: u32| TextPart {
        id: PartId(at),
        files: files.clone(),
        rows: Some((split.skip_rows.saturating_add(u64::from(at).saturating_mul(rows)), rows)),
        counted: counted.clone(),
    };
    let names = (1..=split.parts).map(|at| format!("part {at} of {}", split.parts)).collect();
    Ok((names, (0..split.parts).map(part).collect()))
}

/// The file's name, with its folder when another part has the same; several files show the first.
fn part_names(train: &[PartFiles]) -> Vec<String> {
    let name = |part: &PartFiles, full: bool| {
        let files = files_of(part);
        let Some(first) = files.first() else { return String::new() };
        let short = first.file_name().filter(|_| !full).map_or(first.as_os_str(), |name| name);
        let more = if files.len() > 1 { format!(" and {} more", files.len() - 1) } else { String::new() };
        format!("{}{more}", short.to_string_lossy())
    };
    let short: Vec<String> = train.iter().map(|part| name(part, false)).collect();
    let unique = |at: usize| short.iter().filter(|other| **other == short[at]).count() == 1;
    train.iter().enumerate().map(|(at, part)| name(part, !unique(at))).collect()
}

impl DataSet for TextSet {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn parts(&self) -> &[String] {
        &self.names
    }

    fn has_evaluation(&self) -> bool {
        self.evaluation.is_some()
    }

    fn open(&self, part: PartId) -> Result<Box<dyn BlockReader>, DataError> {
        let Some(found) = self.parts.get(part.0 as usize) else {
            return Err(DataError::Options(format!(
                "part {} asked for, but there are {} parts (counted from 0)",
                part.0,
                self.parts.len()
            )));
        };
        Ok(Box::new(TextReader::open(found.clone(), self.reading.clone())?))
    }

    fn open_evaluation(&self) -> Result<Box<dyn BlockReader>, DataError> {
        let Some(part) = &self.evaluation else {
            return Err(DataError::Options(
                "there is no final evaluation set: name its files in evaluate".to_owned(),
            ));
        };
        Ok(Box::new(TextReader::open(part.clone(), self.reading.clone())?))
    }

    fn parser(&self) -> Arc<dyn BlockParser> {
        self.parser.clone()
    }

    fn on_bad_line(&self) -> OnBadLine {
        self.on_bad_line
    }
}
