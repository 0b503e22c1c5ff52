//! From the text of a column to a feature's values.

use std::borrow::Cow;

use gearshift_types::{Jagged, Key};
use memchr::memmem::Finder;
use regex::Regex;

use crate::hash::{EMPTY_KEY, key_of};
use crate::numbers::{Number, NumberRule, parse_number};
use crate::options::{FeatureKind, FeatureOptions, NumericTransform};
use crate::text::bad::excerpt;

/// What a feature makes of its column.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    name: String,
    column: String,
    pattern: Option<Regex>,
    make: Make,
}

#[derive(Clone, Debug)]
enum Make {
    Key,
    Nth {
        separator: Finder<'static>,
        nth: usize,
    },
    Bag {
        separator: Finder<'static>,
        max_values: usize,
    },
    Number(NumberRule),
    /// The hour's or weekday's key by number, and which of them.
    Time {
        keys: Vec<Key>,
        weekday: bool,
    },
}

/// The values of one feature over several samples.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    Keys(Vec<Key>),
    Bags { values: Vec<Key>, offsets: Vec<u32> },
    Numbers(Vec<f32>),
}

impl Rule {
    /// `options` and `pattern`, its compiled regular expression, have been checked.
    pub(crate) fn new(options: &FeatureOptions, pattern: Option<Regex>) -> Self {
        let separator = || Finder::new(options.separator.as_deref().unwrap_or_default()).into_owned();
        let times = |count: u32| (0..count).map(|at| key_of(at.to_string().as_bytes())).collect();
        let make = match (options.kind, options.nth) {
            (FeatureKind::Categorical, None) => Make::Key,
            (FeatureKind::Categorical, Some(nth)) => Make::Nth { separator: separator(), nth },
            (FeatureKind::Numeric, _) => Make::Number(NumberRule::new(options.transform)),
            (FeatureKind::Multi, _) => {
                Make::Bag { separator: separator(), max_values: options.max_values.unwrap_or(usize::MAX) }
            }
            (FeatureKind::Hour, _) => Make::Time { keys: times(24), weekday: false },
            (FeatureKind::Weekday, _) => Make::Time { keys: times(7), weekday: true },
        };
        Self { name: options.name.clone(), column: options.column.clone(), pattern, make }
    }

    /// Room for `rows` samples.
    pub(crate) fn values(&self, rows: usize) -> Values {
        match &self.make {
            Make::Number(NumberRule::Log1p(_) | NumberRule::Raw) => Values::Numbers(Vec::with_capacity(rows)),
            Make::Bag { .. } => {
                let mut offsets = Vec::with_capacity(rows + 1);
                offsets.push(0);
                Values::Bags { values: Vec::with_capacity(rows), offsets }
            }
            _ => Values::Keys(Vec::with_capacity(rows)),
        }
    }

    /// Adds one sample whose column holds `text`; the error says what is wrong with it.
    pub(crate) fn add(&self, text: &[u8], to: &mut Values) -> Result<(), String> {
        let text = match &self.pattern {
            Some(pattern) => self.matched(pattern, text)?,
            None => text,
        };
        match (&self.make, to) {
            (Make::Key, Values::Keys(keys)) => keys.push(key_of(text)),
            (Make::Nth { separator, nth }, Values::Keys(keys)) => {
                keys.push(pieces(text, separator).nth(*nth).map_or(EMPTY_KEY, key_of));
            }
            (Make::Bag { separator, max_values }, Values::Bags { values, offsets }) => {
                let filled = pieces(text, separator).filter(|piece| !piece.is_empty());
                values.extend(filled.take(*max_values).map(key_of));
                let end = u32::try_from(values.len()).map_err(|_| {
                    format!("feature {}: more than 2^32 values in a block; lower block_rows", self.name)
                })?;
                offsets.push(end);
            }
            (Make::Number(rule), to) => match (rule.apply(text), to) {
                (Some(Number::Dense(x)), Values::Numbers(numbers)) => numbers.push(x),
                (Some(Number::Categorical(key)), Values::Keys(keys)) => keys.push(key),
                _ => return Err(self.expected("a number or nothing", text)),
            },
            (Make::Time { keys: times, weekday }, Values::Keys(keys)) => {
                keys.push(self.time(times, *weekday, text)?);
            }
            _ => unreachable!("values of another rule"),
        }
        Ok(())
    }

    fn matched<'a>(&self, pattern: &Regex, text: &'a [u8]) -> Result<&'a [u8], String> {
        let text =
            std::str::from_utf8(text).map_err(|_| self.expected("UTF-8 text for the pattern", text))?;
        let groups = pattern.captures(text);
        let found = groups.and_then(|groups| if groups.len() > 1 { groups.get(1) } else { groups.get(0) });
        Ok(found.map_or(b"".as_slice(), |found| found.as_str().as_bytes()))
    }

    fn time(&self, keys: &[Key], weekday: bool, text: &[u8]) -> Result<Key, String> {
        if text.is_empty() {
            return Ok(EMPTY_KEY);
        }
        let seconds = parse_number(text)
            .ok_or_else(|| self.expected("a timestamp in seconds (UTC) or nothing", text))?
            .floor() as i64;
        Ok(keys[if weekday { weekday_of(seconds) } else { hour_of(seconds) }])
    }

    fn expected(&self, what: &str, text: &[u8]) -> String {
        format!("expected {what} in column {} (feature {}), got {}", self.column, self.name, excerpt(text))
    }
}

/// Hour of day (UTC) of seconds since 1970.
fn hour_of(seconds: i64) -> usize {
    (seconds.rem_euclid(86_400) / 3600) as usize
}

/// Day of week (UTC), 0 = Monday, of seconds since 1970, which began on a Thursday.
fn weekday_of(seconds: i64) -> usize {
    (seconds.div_euclid(86_400) + 3).rem_euclid(7) as usize
}

fn pieces<'a>(text: &'a [u8], separator: &'a Finder<'static>) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(at) = separator.find(text) else {
            rest = None;
            return Some(text);
        };
        rest = Some(&text[at + separator.needle().len()..]);
        Some(&text[..at])
    })
}

impl Values {
    /// Leaves out the samples after the first `rows`.
    pub(crate) fn truncate(&mut self, rows: usize) {
        match self {
            Self::Keys(keys) => keys.truncate(rows),
            Self::Numbers(numbers) => numbers.truncate(rows),
            Self::Bags { values, offsets } => {
                offsets.truncate(rows + 1);
                values.truncate(offsets.last().map_or(0, |&end| end as usize));
            }
        }
    }

    /// Adds sample `row` of `from`, values of the same rule.
    pub(crate) fn copy(&mut self, from: &Self, row: usize) {
        match (self, from) {
            (Self::Keys(to), Self::Keys(from)) => to.push(from[row]),
            (Self::Numbers(to), Self::Numbers(from)) => to.push(from[row]),
            (Self::Bags { values: to, offsets: ends }, Self::Bags { values, offsets }) => {
                to.extend_from_slice(&values[offsets[row] as usize..offsets[row + 1] as usize]);
                ends.push(to.len() as u32);
            }
            _ => unreachable!("values of another rule"),
        }
    }

    /// As a feature of a batch, or the numbers of a dense one.
    pub(crate) fn into_feature(self) -> Result<Jagged, Vec<f32>> {
        match self {
            Self::Keys(values) => Ok(Jagged { values, offsets: None }),
            Self::Bags { values, offsets } => Ok(Jagged { values, offsets: Some(offsets) }),
            Self::Numbers(numbers) => Err(numbers),
        }
    }
}

/// Whether a feature becomes a dense number.
pub(crate) fn is_dense(options: &FeatureOptions) -> bool {
    options.kind == FeatureKind::Numeric && options.transform != NumericTransform::Bucket
}

/// A name list for messages.
pub(crate) fn listed(names: &[String]) -> Cow<'static, str> {
    if names.is_empty() { "none".into() } else { names.join(", ").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_and_weekdays() {
        // 1970-01-01 was a Thursday; 2013-02-28 14:38:27 UTC too; 2026-11-30 00:00 UTC is a Monday.
        for (seconds, hour, weekday) in
            [(0, 0, 3), (-1, 23, 2), (1_362_062_307, 14, 3), (1_795_996_800, 0, 0), (1_795_996_799, 23, 6)]
        {
            assert_eq!((hour_of(seconds), weekday_of(seconds)), (hour, weekday), "{seconds}");
        }
    }
}
