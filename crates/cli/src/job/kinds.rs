//! Whether a value is what a key takes, and what to do when it is not.

use super::keys::Kind;
use super::tree::{Item, Value};

/// Why a value does not fit.
#[derive(Debug, PartialEq)]
pub(crate) struct Misfit {
    /// What is expected.
    pub(crate) expected: String,
    /// What came.
    pub(crate) got: String,
    /// What to do; may be empty.
    pub(crate) help: String,
}

impl Kind {
    /// In words.
    pub(crate) fn describe(self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::PathGroups => "a list of paths or lists of paths".to_owned(),
            Self::Integer(min, max) => format!("an integer {}", range(min, max)),
            Self::Integers(min, max) => format!("a list of integers {}", range(min, max)),
            Self::Number(min, max) if min <= f64::MIN && max >= f64::MAX => "a number".to_owned(),
            Self::Number(min, max) => format!("a number from {min} to {max}"),
            Self::Above(min, max) => format!("a number above {min}, at most {max}"),
            Self::Numbers(min, max) if min <= f64::MIN && max >= f64::MAX => "a list of numbers".to_owned(),
            Self::Numbers(min, max) => format!("a list of numbers from {min} to {max}"),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Choices(words) => format!("a list of {}", words.join(", ")),
        }
    }

    /// Whether a bare word of a `--set` stands for itself.
    pub(crate) fn is_textual(self) -> bool {
        matches!(self, Self::Text | Self::Path | Self::Choice(_))
    }

    /// Checks a value.
    pub(crate) fn check(self, value: &Value) -> Result<(), Misfit> {
        let fits = match (self, value) {
            (Self::Flag, Value::Flag(_)) => true,
            (Self::Text | Self::Path, Value::Text(text)) => !text.is_empty(),
            (Self::Integer(min, max), Value::Integer(value)) => (min..=max).contains(value),
            (Self::Number(min, max), Value::Integer(_) | Value::Float(_)) => {
                number(value).is_some_and(|number| (min..=max).contains(&number))
            }
            (Self::Above(min, max), Value::Integer(_) | Value::Float(_)) => {
                number(value).is_some_and(|number| number > min && number <= max)
            }
            (Self::Choice(words), Value::Text(word)) => words.contains(&word.as_str()),
            (Self::Texts, Value::List(items)) => return each(self, Self::Text, items),
            (Self::Paths, Value::List(items)) => return each(self, Self::Path, items),
            (Self::Integers(min, max), Value::List(items)) => {
                return each(self, Self::Integer(min, max), items);
            }
            (Self::Numbers(min, max), Value::List(items)) => {
                return each(self, Self::Number(min, max), items);
            }
            (Self::Choices(words), Value::List(items)) => return each(self, Self::Choice(words), items),
            (Self::PathGroups, Value::List(items)) => {
                return items.iter().try_for_each(|item| match &item.value {
                    Value::List(group) => each(self, Self::Path, group),
                    _ => each(self, Self::Path, std::slice::from_ref(item)),
                });
            }
            _ => false,
        };
        if fits { Ok(()) } else { Err(self.misfit(value)) }
    }

    fn misfit(self, value: &Value) -> Misfit {
        Misfit { expected: self.describe(), got: value.show(), help: self.help(value).unwrap_or_default() }
    }

    fn help(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::Choice(words), Value::Text(word)) => {
                nearest(word, words).map(|word| format!("did you mean {word:?}?"))
            }
            (Self::Integer(..) | Self::Number(..) | Self::Above(..), Value::Text(text)) => {
                text.parse::<f64>().ok().map(|_| format!("leave out the quotes: {text}"))
            }
            (Self::Integer(min, max), Value::Float(float)) => {
                let whole = float.round();
                let near = whole >= min as f64 && whole <= max as f64;
                near.then(|| format!("write it without a fraction, such as {whole}"))
            }
            (Self::Flag, Value::Text(text)) => match text.to_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some("write true, without quotes".to_owned()),
                "false" | "no" | "off" | "0" => Some("write false, without quotes".to_owned()),
                _ => None,
            },
            (Self::Flag, Value::Integer(1)) => Some("write true".to_owned()),
            (Self::Flag, Value::Integer(0)) => Some("write false".to_owned()),
            (Self::Text | Self::Path, Value::Text(_)) => Some("it must not be empty".to_owned()),
            (
                Self::Text | Self::Path | Self::Choice(_),
                Value::Integer(_) | Value::Float(_) | Value::Flag(_),
            ) => Some(format!("put it in quotes: \"{}\"", value.show())),
            (Self::Paths | Self::PathGroups | Self::Texts | Self::Choices(_), Value::Text(text)) => {
                Some(format!("put it in a list: [{text:?}]"))
            }
            (Self::Integers(..) | Self::Numbers(..), Value::Integer(_))
            | (Self::Numbers(..), Value::Float(_)) => Some(format!("put it in a list: [{}]", value.show())),
            _ => None,
        }
    }
}

fn each(list: Kind, element: Kind, items: &[Item]) -> Result<(), Misfit> {
    let bad = items.iter().enumerate().find_map(|(at, item)| Some((at, element.check(&item.value).err()?)));
    match bad {
        None => Ok(()),
        Some((at, misfit)) => Err(Misfit {
            expected: list.describe(),
            got: format!("{} as element {at} (from 0)", misfit.got),
            help: misfit.help,
        }),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Float(value) => value.is_finite().then_some(*value),
        _ => None,
    }
}

fn range(min: i64, max: i64) -> String {
    match max {
        i64::MAX => format!("of at least {min}"),
        _ => format!("from {min} to {max}"),
    }
}

/// The word most like `word`, if any is like it at all.
pub(crate) fn nearest<'a>(word: &str, words: &[&'a str]) -> Option<&'a str> {
    let lower = word.to_lowercase().replace('-', "_");
    words
        .iter()
        .map(|&candidate| (strsim::jaro_winkler(&lower, candidate), candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(likeness, candidate)| {
            *likeness >= 0.85 || strsim::damerau_levenshtein(&lower, candidate) <= candidate.len().div_ceil(4)
        })
        .map(|(_, candidate)| candidate)
}
