//! Bad lines: what a parser notes of one block, and the limit over all blocks.

use memchr::memchr;

use crate::options::OnBadLine;
use crate::source::{BadLine, DataError, Parsed, RawBlock};

/// Longer lines are bad.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;

/// Bad lines that are kept for the report.
const REPORTED: usize = 10;

/// Lines before the share of bad ones counts.
const LINES_MIN: u64 = 1000;

/// Stands for a line of which only the start is kept.
const OVERLONG_MARK: &[u8] = b"\0line too long\0";

/// Puts a mark for a line of `bytes` bytes that starts with `excerpt`.
pub(super) fn write_overlong_mark(text: &mut Vec<u8>, bytes: usize, excerpt: &[u8]) {
    text.extend_from_slice(OVERLONG_MARK);
    text.extend_from_slice(format!("{bytes}\0").as_bytes());
    text.extend_from_slice(excerpt);
    text.push(b'\n');
}

/// Calls `row` with each line of `raw` (without its end, `\n` or `\r\n`) and notes those for which it says what is
/// wrong. Empty and over-long lines are bad without asking.
pub(crate) fn parse_lines(
    raw: &RawBlock,
    on_bad_line: OnBadLine,
    mut row: impl FnMut(&[u8]) -> Result<(), String>,
) -> Result<(u64, Vec<BadLine>), DataError> {
    let (mut bad, mut first_bad) = (0, Vec::new());
    let (mut start, mut number) = (0, raw.first_line);
    while start < raw.text.len() {
        let end = memchr(b'\n', &raw.text[start..]).map_or(raw.text.len(), |at| start + at);
        let line = raw.text[start..end].strip_suffix(b"\r").unwrap_or(&raw.text[start..end]);
        let outcome = match line.first() {
            None => Err("empty line; expected a sample".to_owned()),
            Some(0) if line.starts_with(OVERLONG_MARK) => Err(overlong(line)),
            Some(_) if line.len() > LINE_BYTES_MAX => Err(too_long(line.len(), line)),
            Some(_) => row(line),
        };
        if let Err(reason) = outcome {
            let file = raw.file.as_ref();
            if on_bad_line == OnBadLine::Stop {
                return Err(DataError::BadLine { file: file.clone(), line: number, reason });
            }
            bad += 1;
            if first_bad.len() < REPORTED {
                first_bad.push(BadLine { file: file.clone(), line: number, reason });
            }
        }
        start = end + 1;
        number += 1;
    }
    Ok((bad, first_bad))
}

fn overlong(mark: &[u8]) -> String {
    let rest = &mark[OVERLONG_MARK.len()..];
    let digits = memchr(0, rest).unwrap_or(rest.len());
    let bytes = std::str::from_utf8(&rest[..digits]).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    too_long(bytes, rest.get(digits + 1..).unwrap_or_default())
}

fn too_long(bytes: usize, line: &[u8]) -> String {
    format!(
        "line of {bytes} bytes, at most {LINE_BYTES_MAX} are read; is this text with line ends? {}",
        excerpt(line)
    )
}

/// The start of `text` in quotes, made printable, for a message.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 60;
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let more = if text.len() > SHOWN { "..." } else { "" };
    format!("\"{}{more}\"", shown.escape_debug())
}

/// Watches the share of bad lines over the parsed blocks of a job, handed in in data order.
#[derive(Clone, Debug)]
pub struct BadLineLimit {
    share_max: f64,
    read: u64,
    bad: u64,
    first: Vec<BadLine>,
}

impl BadLineLimit {
    /// With `bad_line_share_max` of the job's `[data]`.
    #[must_use]
    pub fn new(share_max: f64) -> Self {
        Self { share_max, read: 0, bad: 0, first: Vec::new() }
    }

    /// Counts a block in.
    ///
    /// # Errors
    /// [`DataError::TooManyBadLines`] when at least 1000 lines have been read and more than the share is bad.
    pub fn add(&mut self, parsed: &Parsed) -> Result<(), DataError> {
        self.read += parsed.batch.samples() as u64 + parsed.bad_lines;
        self.bad += parsed.bad_lines;
        let room = REPORTED.saturating_sub(self.first.len());
        self.first.extend(parsed.first_bad.iter().take(room).cloned());
        if self.read < LINES_MIN || self.bad as f64 <= self.share_max * self.read as f64 {
            return Ok(());
        }
        let first = self.first.first().map_or_else(
            || "not noted".to_owned(),
            |line| format!("{}:{}: {}", line.file.display(), line.line, line.reason),
        );
        Err(DataError::TooManyBadLines { bad: self.bad, read: self.read, share_max: self.share_max, first })
    }

    /// Lines read so far, bad ones included.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Bad lines so far.
    #[must_use]
    pub fn bad(&self) -> u64 {
        self.bad
    }

    /// The first bad lines, ten at most, in data order.
    #[must_use]
    pub fn first(&self) -> &[BadLine] {
        &self.first
    }
}
