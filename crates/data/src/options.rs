//! The job file's `[data]`.

use std::path::PathBuf;

use gearshift_types::Pooling;
use serde::{Deserialize, Serialize};

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataKind {
    /// A Criteo-shaped stream with a known teacher.
    Generated,
    /// Criteo's tab-separated format: label, 13 integers, 26 hexadecimal categories.
    Criteo,
    /// Delimited text with a schema.
    Delimited,
}

/// What to do with a line that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnBadLine {
    /// Leave it out, count it, report the first ten.
    #[default]
    Skip,
    /// End the job with an error that names file and line.
    Stop,
}

/// The `[data]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataOptions {
    /// Where samples come from.
    pub kind: DataKind,
    /// Folder that paths of this table are relative to; relative itself to the job file.
    #[serde(default)]
    pub folder: Option<PathBuf>,
    /// Parts in order, each one file or a list of files (`.gz` and `.zst` are unpacked). Train part d, evaluate on
    /// part d + 1 as soon as d ends. For generated data: absent.
    #[serde(default)]
    pub train: Vec<PartFiles>,
    /// Files of a final evaluation set.
    #[serde(default)]
    pub evaluate: Vec<PathBuf>,
    /// Cuts the rows of all `train` files, in order, into equal parts instead of one part per entry.
    #[serde(default)]
    pub split: Option<SplitOptions>,
    /// Rows per block: the unit of reading ahead and of shuffling.
    #[serde(default = "default_block_rows")]
    pub block_rows: u32,
    /// Shuffle the rows inside each block, by the job's seed.
    #[serde(default)]
    pub shuffle: bool,
    /// What to do with a line that cannot be read.
    #[serde(default)]
    pub on_bad_line: OnBadLine,
    /// With `skip`: the job stops when more than this share of the lines read so far (at least 1000) is bad.
    #[serde(default = "default_bad_line_share_max")]
    pub bad_line_share_max: f64,
    /// For `kind = "generated"`.
    #[serde(default)]
    pub generated: GeneratorOptions,
    /// For `kind = "criteo"`.
    #[serde(default)]
    pub criteo: CriteoOptions,
    /// For `kind = "delimited"`.
    #[serde(default)]
    pub delimited: Option<DelimitedOptions>,
}

fn default_block_rows() -> u32 {
    8192
}

fn default_bad_line_share_max() -> f64 {
    0.01
}

/// The files of one part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartFiles {
    /// One file.
    One(PathBuf),
    /// Several files, read one after the other.
    Several(Vec<PathBuf>),
}

/// Equal parts by row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitOptions {
    /// Number of parts.
    pub parts: u32,
    /// Rows per part; when absent the rows are counted first and divided equally.
    #[serde(default)]
    pub rows_per_part: Option<u64>,
    /// Rows left out at the start.
    #[serde(default)]
    pub skip_rows: u64,
}

/// A Criteo-shaped stream with a known teacher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GeneratorOptions {
    /// Number of parts (days).
    pub parts: u32,
    /// Samples per part.
    pub samples_per_part: u64,
    /// Vocabulary of each categorical field.
    pub vocabularies: Vec<u64>,
    /// Number of dense features.
    pub dense: usize,
    /// Exponent of the Zipf distribution of IDs.
    pub zipf: f64,
    /// Intercept of the teacher's logit.
    pub bias: f64,
    /// Strength of the first-order terms of the teacher.
    pub first_order: f64,
    /// Strength of the pairwise terms of the teacher.
    pub pairwise: f64,
    /// Largest rotation of an ID's weight, radians per part.
    pub drift: f64,
    /// Every so many parts a rank of a field stands for a new ID; 0 = never.
    pub new_ids_every_parts: u32,
}

/// Criteo's format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CriteoOptions {
    /// What becomes of the 13 integers.
    pub integers: NumericTransform,
}

/// What becomes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumericTransform {
    /// Dense feature ln(1 + max(x, 0)); empty is 0.
    #[default]
    Log1p,
    /// Dense feature as it is; empty is 0.
    Raw,
    /// Categorical feature: empty its own ID, x <= 2 its own, else floor(ln(x)^2).
    Bucket,
}

/// Delimited text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelimitedOptions {
    /// Separator of columns; several characters are allowed (`"::"`).
    #[serde(default = "default_delimiter")]
    pub delimiter: String,
    /// Whether the first line names the columns.
    #[serde(default)]
    pub header: bool,
    /// Names of the columns, needed without a header.
    #[serde(default)]
    pub columns: Vec<String>,
    /// The label.
    pub label: LabelOptions,
    /// Features in the model's order.
    #[serde(rename = "feature")]
    pub features: Vec<FeatureOptions>,
    /// Side tables.
    #[serde(default, rename = "join")]
    pub joins: Vec<JoinOptions>,
}

fn default_delimiter() -> String {
    "\t".to_owned()
}

/// The label of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelOptions {
    /// Column.
    pub column: String,
    /// 1 when the number is at least this, else 0; without it the column must hold 0 or 1.
    #[serde(default)]
    pub at_least: Option<f64>,
}

/// What a column becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeatureKind {
    /// One key per sample.
    #[default]
    Categorical,
    /// A number.
    Numeric,
    /// Several keys per sample.
    Multi,
    /// Hour of day (UTC) of a timestamp in seconds.
    Hour,
    /// Day of week (UTC) of a timestamp in seconds.
    Weekday,
}

/// One feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureOptions {
    /// Name.
    pub name: String,
    /// Column of the file, or `join.column` of a side table.
    pub column: String,
    /// What the column becomes.
    #[serde(default)]
    pub kind: FeatureKind,
    /// Table of its keys; features may share one. The feature's name when absent.
    #[serde(default)]
    pub table: Option<String>,
    /// `numeric`: what becomes of the number.
    #[serde(default)]
    pub transform: NumericTransform,
    /// `multi`, or `categorical` with `nth`: separator of the values inside the column.
    #[serde(default)]
    pub separator: Option<String>,
    /// `categorical` with `separator`: take the n-th value (from 0); absent ones share one key.
    #[serde(default)]
    pub nth: Option<usize>,
    /// `multi`: at most so many values, the first ones.
    #[serde(default)]
    pub max_values: Option<usize>,
    /// `multi`: how the rows become one vector.
    #[serde(default)]
    pub pooling: Pooling,
    /// Regular expression; its first group (or the match) is the value, to which `separator` then applies. No match:
    /// the key of the empty value.
    #[serde(default)]
    pub pattern: Option<String>,
}

/// A side table, held in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JoinOptions {
    /// Name that features use.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// Separator of columns.
    #[serde(default = "default_delimiter")]
    pub delimiter: String,
    /// Whether the first line names the columns.
    #[serde(default)]
    pub header: bool,
    /// Names of the columns, needed without a header.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Its key column.
    pub key: String,
    /// Column of the main file with that key.
    pub on: String,
}

impl Default for GeneratorOptions {
    fn default() -> Self {
        Self {
            parts: 8,
            samples_per_part: 100_000,
            vocabularies: vec![
                100_000, 50_000, 20_000, 10_000, 10_000, 5_000, 5_000, 2_000, 2_000, 1_000, 1_000, 1_000,
                500, 500, 500, 200, 200, 100, 100, 50, 50, 20, 20, 10, 10, 4,
            ],
            dense: 13,
            zipf: 1.05,
            bias: -1.5,
            first_order: 0.25,
            pairwise: 0.1,
            drift: 0.16,
            new_ids_every_parts: 20,
        }
    }
}
