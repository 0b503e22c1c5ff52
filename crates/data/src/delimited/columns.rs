//! Cuts a line into columns.
//!
//! With the delimiter `,` or `;` a column that starts with a double quote ends at the next single one; inside, the
//! delimiter is text and two quotes are one (RFC 4180). Line ends inside quotes are not supported: a line is a sample.

use std::ops::Range;

use memchr::memchr;
use memchr::memmem::Finder;

use crate::text::bad::excerpt;

/// How lines are cut.
#[derive(Clone, Debug)]
pub(crate) struct Cutter {
    delimiter: Vec<u8>,
    finder: Finder<'static>,
    quotes: bool,
}

/// The columns of one line; kept from line to line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    ranges: Vec<Range<usize>>,
    /// The columns that had doubled quotes, one after the other; their ranges start at the line's length.
    unquoted: Vec<u8>,
    line_len: usize,
}

impl Columns {
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Column `at` of `line`, the one that was cut last.
    #[inline]
    pub(crate) fn get<'a>(&'a self, line: &'a [u8], at: usize) -> &'a [u8] {
        let range = self.ranges[at].clone();
        if range.start >= self.line_len && !range.is_empty() {
            return &self.unquoted[range.start - self.line_len..range.end - self.line_len];
        }
        &line[range]
    }

    fn add_unquoted(&mut self, quoted: &[u8]) {
        let start = self.line_len + self.unquoted.len();
        let mut before = 0;
        for &byte in quoted {
            // Of two quotes in a row the first stays.
            if byte == b'"' && before == b'"' {
                before = 0;
                continue;
            }
            self.unquoted.push(byte);
            before = byte;
        }
        self.ranges.push(start..self.line_len + self.unquoted.len());
    }
}

impl Cutter {
    pub(crate) fn new(delimiter: &str) -> Self {
        Self {
            delimiter: delimiter.as_bytes().to_vec(),
            finder: Finder::new(delimiter).into_owned(),
            quotes: delimiter == "," || delimiter == ";",
        }
    }

    /// Cuts `line`; the error says what is wrong with its quotes.
    pub(crate) fn cut(&self, line: &[u8], columns: &mut Columns) -> Result<(), String> {
        columns.ranges.clear();
        columns.unquoted.clear();
        columns.line_len = line.len();
        let mut start = 0;
        loop {
            let end = if self.quotes && line.get(start) == Some(&b'"') {
                self.quoted(line, start, columns)?
            } else {
                let end = self.next_delimiter(line, start).unwrap_or(line.len());
                columns.ranges.push(start..end);
                end
            };
            if end >= line.len() {
                return Ok(());
            }
            start = end + self.delimiter.len();
        }
    }

    fn next_delimiter(&self, line: &[u8], start: usize) -> Option<usize> {
        let found = match self.delimiter[..] {
            [byte] => memchr(byte, &line[start..]),
            _ => self.finder.find(&line[start..]),
        };
        found.map(|at| start + at)
    }

    /// Takes the quoted column that starts at `start` and returns where it ends, after the quote.
    fn quoted(&self, line: &[u8], start: usize, columns: &mut Columns) -> Result<usize, String> {
        let mut from = start + 1;
        let mut doubled = false;
        loop {
            let Some(at) = memchr(b'"', &line[from..]) else {
                return Err(format!(
                    "the quoted column that starts with {} does not end on this line (line breaks inside quotes are \
                     not supported; replace them, for example by a space)",
                    excerpt(&line[start..])
                ));
            };
            let quote = from + at;
            match line.get(quote + 1..) {
                Some([b'"', ..]) => {
                    doubled = true;
                    from = quote + 2;
                }
                Some(rest) if rest.is_empty() || rest.starts_with(&self.delimiter) => {
                    if doubled {
                        columns.add_unquoted(&line[start + 1..quote]);
                    } else {
                        columns.ranges.push(start + 1..quote);
                    }
                    return Ok(quote + 1);
                }
                _ => {
                    return Err(format!(
                        "expected {} or the end of the line after the closing quote, got {}",
                        excerpt(&self.delimiter),
                        excerpt(&line[quote + 1..])
                    ));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(delimiter: &str, line: &str) -> Result<Vec<String>, String> {
        let mut columns = Columns::default();
        Cutter::new(delimiter).cut(line.as_bytes(), &mut columns)?;
        let text = |at| String::from_utf8(columns.get(line.as_bytes(), at).to_vec()).unwrap();
        Ok((0..columns.len()).map(text).collect())
    }

    #[test]
    fn delimiters_of_any_length() {
        assert_eq!(cut("\t", "a\t\tb\t").unwrap(), ["a", "", "b", ""]);
        assert_eq!(cut("::", "1::x:y::").unwrap(), ["1", "x:y", ""]);
        assert_eq!(cut("::", "1:::2").unwrap(), ["1", ":2"]);
        assert_eq!(cut(",", "").unwrap(), [""]);
        assert_eq!(cut("\t", "\"a\t\"b").unwrap(), ["\"a", "\"b"]);
    }

    #[test]
    fn quotes_as_in_csv() {
        assert_eq!(cut(",", r#"1,"a,b",2"#).unwrap(), ["1", "a,b", "2"]);
        assert_eq!(cut(";", r#""say ""hi""";"";x"y"#).unwrap(), ["say \"hi\"", "", "x\"y"]);
        assert_eq!(cut(",", r#""""",z"#).unwrap(), ["\"", "z"]);
        assert_eq!(cut(",", &"\"".repeat(6)).unwrap(), ["\"\""]);
        assert_eq!(cut(",", r#""a""b","c""d""#).unwrap(), ["a\"b", "c\"d"]);
        assert_eq!(cut(",", r#""a","#).unwrap(), ["a", ""]);
    }

    #[test]
    fn quotes_that_are_wrong() {
        assert!(cut(",", r#"1,"a"#).unwrap_err().contains("line breaks inside quotes"));
        assert!(cut(",", r#""a"b,c"#).unwrap_err().contains("after the closing quote"));
    }
}
