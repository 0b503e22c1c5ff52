//! The two steps of reading: raw blocks one after the other (file IO, decompression), then parsing, which any
//! number of threads may do at once.

use std::path::PathBuf;
use std::sync::Arc;

use gearshift_types::{Batch, FeatureSpec, PartId};

use crate::options::OnBadLine;

/// What a part is read from: its text, or the recipe of a generated block.
#[derive(Clone, Debug)]
pub struct RawBlock {
    /// The part.
    pub part: PartId,
    /// Block within the part, from 0.
    pub block: u32,
    /// The file it comes from (empty for generated data).
    pub file: Arc<PathBuf>,
    /// Line number of its first line in that file, from 1.
    pub first_line: u64,
    /// Lines in it (bad ones included).
    pub lines: u32,
    /// The lines, each ended by `\n` (empty for generated data).
    pub text: Vec<u8>,
}

/// One line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The file.
    pub file: PathBuf,
    /// Line number, from 1.
    pub line: u64,
    /// What is wrong: expected and got.
    pub reason: String,
}

/// A parsed block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The good rows, already shuffled if the job says so.
    pub batch: Batch,
    /// Number of bad lines left out.
    pub bad_lines: u64,
    /// The first of them, ten at most.
    pub first_bad: Vec<BadLine>,
}

/// Why data cannot be read; file and position named.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A file cannot be opened or read.
    #[error("{}: {message}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What failed, where, and what to do.
        message: String,
    },
    /// A bad line with `on_bad_line = "stop"`.
    #[error("{}:{line}: {reason}", file.display())]
    BadLine {
        /// The file.
        file: PathBuf,
        /// Line number, from 1.
        line: u64,
        /// What is wrong: expected and got.
        reason: String,
    },
    /// Too many bad lines with [`OnBadLine::Skip`].
    #[error("{bad} of {read} lines are bad, more than bad_line_share_max = {share_max}; the first: {first}")]
    TooManyBadLines {
        /// Bad lines.
        bad: u64,
        /// Lines read.
        read: u64,
        /// The limit.
        share_max: f64,
        /// The first bad line.
        first: String,
    },
    /// The options do not make sense together.
    #[error("[data] {0}")]
    Options(String),
}

/// What a job's data look like to a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// Categorical features; `table` is a position in `tables`.
    pub features: Vec<FeatureSpec>,
    /// Names of the tables.
    pub tables: Vec<String>,
    /// Names of the dense features.
    pub dense: Vec<String>,
}

/// Reads the raw blocks of one part in data order.
pub trait BlockReader: Send {
    /// The next block; `None` after the last. A block holds `block_rows` lines but for the last of a file or part,
    /// so that it lies in one file and each of its lines has a number there.
    ///
    /// # Errors
    /// When a file cannot be opened, read or unpacked.
    fn next_block(&mut self) -> Result<Option<RawBlock>, DataError>;

    /// Bytes read so far and in all (compressed size for compressed files; rows for generated data and for parts
    /// made by `split`), for progress.
    fn position(&self) -> (u64, u64);
}

/// Parses raw blocks: pure, shared by threads.
pub trait BlockParser: Send + Sync {
    /// Parses a block. Bad lines are left out under [`OnBadLine::Skip`].
    ///
    /// # Errors
    /// A bad line under [`OnBadLine::Stop`].
    fn parse(&self, raw: &RawBlock) -> Result<Parsed, DataError>;
}

/// What an opened data set offers.
pub trait DataSet: Send + Sync {
    /// What the data look like to a model.
    fn schema(&self) -> &Schema;

    /// Names of the parts, in order.
    fn parts(&self) -> &[String];

    /// Whether there is a final evaluation set.
    fn has_evaluation(&self) -> bool;

    /// Opens a part from its first block.
    ///
    /// # Errors
    /// When its first file cannot be opened.
    fn open(&self, part: PartId) -> Result<Box<dyn BlockReader>, DataError>;

    /// Opens the final evaluation set; its blocks carry [`EVALUATION_PART`].
    ///
    /// # Errors
    /// When there is none or its first file cannot be opened.
    fn open_evaluation(&self) -> Result<Box<dyn BlockReader>, DataError>;

    /// The parser for this data set's blocks.
    fn parser(&self) -> Arc<dyn BlockParser>;

    /// What to do with bad lines.
    fn on_bad_line(&self) -> OnBadLine;
}

/// The part id of the final evaluation set.
pub const EVALUATION_PART: PartId = PartId(u32::MAX);
