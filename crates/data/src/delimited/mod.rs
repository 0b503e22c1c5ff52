//! Delimited text with a schema: any delimiter, header or not, quotes, side tables.
//!
//! Of a column's text `pattern` takes its piece first; then `separator`, `nth` and `max_values` apply. Empty pieces
//! of a multi-valued column are left out, so an empty column is an empty bag.

mod columns;
mod parser;
mod plan;
mod rule;
mod side;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use columns::{Columns, Cutter};
use parser::DelimitedParser;
use plan::{Place, Plan, plan};
use side::Side;

use crate::options::{DataOptions, DelimitedOptions, JoinOptions};
use crate::source::{BlockParser, DataError, Schema};
use crate::text::lines::Lines;
use crate::text::set::{files_of, root};
use crate::text::unpack::file_error;

/// What [`open`] makes.
pub(crate) struct Opened {
    /// The header line of every file.
    pub header: Option<Arc<str>>,
    pub schema: Schema,
    pub parser: Arc<dyn BlockParser>,
}

/// Reads the header and the side tables. The options have passed [`problems`].
pub(crate) fn open(
    options: &DataOptions,
    base: &Path,
    shuffle_seed: Option<u64>,
) -> Result<Opened, DataError> {
    let missing = || DataError::Options("kind = \"delimited\" needs [data.delimited]".to_owned());
    let delimited = options.delimited.as_ref().ok_or_else(missing)?;
    let root = root(options, base);
    let (header, columns) = main_columns(options, delimited, &root)?;
    let side_columns = delimited
        .joins
        .iter()
        .map(|join| side_columns(join, &root))
        .collect::<Result<Vec<Vec<String>>, DataError>>()?;
    let plan = plan(delimited, &columns, &side_columns)
        .map_err(|problems| DataError::Options(format!("delimited: {}", problems.join("; "))))?;
    let sides = delimited
        .joins
        .iter()
        .enumerate()
        .map(|(at, join)| load_side(at, join, &side_columns[at], &plan, &root))
        .collect::<Result<Vec<Side>, DataError>>()?;
    let schema = plan.schema.clone();
    let cutter = Cutter::new(&delimited.delimiter);
    let parser =
        Arc::new(DelimitedParser { plan, cutter, sides, on_bad_line: options.on_bad_line, shuffle_seed });
    Ok(Opened { header, schema, parser })
}

fn load_side(
    at: usize,
    join: &JoinOptions,
    columns: &[String],
    plan: &Plan,
    root: &Path,
) -> Result<Side, DataError> {
    let features: Vec<_> = plan
        .features
        .iter()
        .map(|(place, rule)| match *place {
            Place::Side { join, column } if join == at => Some((column, rule)),
            _ => None,
        })
        .collect();
    Side::load(&Arc::new(root.join(&join.file)), join, columns, plan.joins[at].0, &features)
}

/// Everything that is wrong with `[data.delimited]`; looks into the files only when they are all there.
pub(crate) fn problems(options: &DataOptions, base: &Path, files_good: bool) -> Vec<DataError> {
    let Some(delimited) = &options.delimited else { return Vec::new() };
    let mut found = delimiter_problems(delimited);
    let root = root(options, base);
    if found.is_empty() && files_good && !options.train.is_empty() {
        let main = main_columns(options, delimited, &root);
        let sides: Result<Vec<_>, _> = delimited.joins.iter().map(|join| side_columns(join, &root)).collect();
        match (main, sides) {
            (Ok((_, columns)), Ok(sides)) => {
                found.extend(plan(delimited, &columns, &sides).err().unwrap_or_default());
            }
            (main, sides) => return main.err().into_iter().chain(sides.err()).collect(),
        }
    }
    found.into_iter().map(|problem| DataError::Options(format!("delimited: {problem}"))).collect()
}

fn delimiter_problems(options: &DelimitedOptions) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |what: &str, delimiter: &str, header: bool, columns: &[String]| {
        if delimiter.is_empty() || delimiter.contains(['\n', '\r', '"']) {
            found.push(format!("{what}delimiter = {delimiter:?}; give text without line ends and quotes"));
        }
        if !header && columns.is_empty() {
            found.push(format!("{what}columns is missing; name the columns or set header = true"));
        }
        if let Some(name) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
            found.push(format!("{what}columns names {} twice", name.1));
        }
    };
    check("", &options.delimiter, options.header, &options.columns);
    for join in &options.joins {
        check(&format!("join {}: ", join.name), &join.delimiter, join.header, &join.columns);
    }
    for (at, join) in options.joins.iter().enumerate() {
        if options.joins[..at].iter().any(|other| other.name == join.name) {
            found.push(format!("two joins are named {}; give each its own name", join.name));
        }
    }
    found
}

type Header = Option<Arc<str>>;

fn main_columns(
    options: &DataOptions,
    delimited: &DelimitedOptions,
    root: &Path,
) -> Result<(Header, Vec<String>), DataError> {
    if !delimited.header {
        return Ok((None, delimited.columns.clone()));
    }
    let first = options.train.iter().flat_map(files_of).next();
    let first = first.ok_or_else(|| DataError::Options("train names no file".to_owned()))?;
    let file = Arc::new(root.join(first));
    let (line, columns) = read_header(&file, &delimited.delimiter, &delimited.columns)?;
    Ok((Some(line.into()), columns))
}

fn side_columns(join: &JoinOptions, root: &Path) -> Result<Vec<String>, DataError> {
    if !join.header {
        return Ok(join.columns.clone());
    }
    Ok(read_header(&Arc::new(root.join(&join.file)), &join.delimiter, &join.columns)?.1)
}

/// The first line of `file` and the columns that it names; `expected` ones, if any, must be the same.
fn read_header(
    file: &Arc<PathBuf>,
    delimiter: &str,
    expected: &[String],
) -> Result<(String, Vec<String>), DataError> {
    let mut text = Vec::new();
    Lines::open(file)?.take(1, &mut text)?;
    let line = String::from_utf8(text)
        .map_err(|_| file_error(file, "its first line, the header, is not UTF-8 text".to_owned()))?;
    let line = line.trim_end_matches(['\r', '\n']).to_owned();
    if line.is_empty() {
        return Err(file_error(file, "is empty or starts with an empty line; expected a header".to_owned()));
    }
    let mut cut = Columns::default();
    Cutter::new(delimiter)
        .cut(line.as_bytes(), &mut cut)
        .map_err(|reason| file_error(file, format!("header: {reason}")))?;
    let name = |at| String::from_utf8_lossy(cut.get(line.as_bytes(), at)).into_owned();
    let columns: Vec<String> = (0..cut.len()).map(name).collect();
    if !expected.is_empty() && expected != columns {
        return Err(file_error(
            file,
            format!(
                "its header names the columns {}, but columns in the job file says {}: correct or remove columns",
                columns.join(", "),
                expected.join(", ")
            ),
        ));
    }
    if let Some(twice) = (1..columns.len()).find(|&at| columns[..at].contains(&columns[at])) {
        return Err(file_error(file, format!("its header names the column {} twice", columns[twice])));
    }
    Ok((line, columns))
}
