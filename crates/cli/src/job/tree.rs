//! A file as written: TOML values that remember their line or the `--set` that they come from.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Origin, Problem};

/// Keys of one table.
pub(crate) type Table = BTreeMap<String, Item>;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// Where its key (in a list: itself) was written.
    pub(crate) origin: Origin,
    /// The value.
    pub(crate) value: Value,
}

/// A TOML value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a fraction or exponent.
    Float(f64),
    /// `true` or `false`.
    Flag(bool),
    /// Something that no key takes: a date, an integer of more than 64 bits.
    Other(String),
    /// A list, or an array of tables.
    List(Vec<Item>),
    /// A table.
    Table(Table),
}

impl Value {
    /// How a message shows it.
    pub(crate) fn show(&self) -> String {
        match self {
            Self::Text(text) if text.chars().count() > 60 => {
                format!("{:?}...", text.chars().take(57).collect::<String>())
            }
            Self::Text(text) => format!("{text:?}"),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => format!("{value:?}"),
            Self::Flag(value) => value.to_string(),
            Self::Other(text) => text.clone(),
            Self::List(items) if items.iter().any(|item| matches!(item.value, Self::Table(_))) => {
                "a list of tables".to_owned()
            }
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// The same value without its places.
    pub(crate) fn to_toml(&self) -> toml::Value {
        match self {
            Self::Text(text) | Self::Other(text) => toml::Value::String(text.clone()),
            Self::Integer(value) => toml::Value::Integer(*value),
            Self::Float(value) => toml::Value::Float(*value),
            Self::Flag(value) => toml::Value::Boolean(*value),
            Self::List(items) => toml::Value::Array(items.iter().map(|item| item.value.to_toml()).collect()),
            Self::Table(table) => toml::Value::Table(
                table.iter().map(|(key, item)| (key.clone(), item.value.to_toml())).collect(),
            ),
        }
    }
}

/// Parses a whole file. What can be read is returned even when some lines are not TOML.
pub(crate) fn parse(text: &str) -> (Table, Vec<Problem>) {
    let lines = Lines::new(text);
    let (table, errors) = DeTable::parse_recoverable(text);
    let problems = errors
        .iter()
        .map(|error| Problem {
            origin: error.span().map_or(Origin::File, |span| Origin::Line(lines.line(span.start))),
            key: String::new(),
            what: format!("not TOML: {}", error.message()),
            help: String::new(),
        })
        .collect();
    (convert_table(table.get_ref(), &|offset| Origin::Line(lines.line(offset))), problems)
}

/// Parses one value of a `--set`; `None` when it is not TOML.
pub(crate) fn parse_value(text: &str, origin: &Origin) -> Option<Value> {
    let value = DeValue::parse(text).ok()?;
    Some(convert(value.get_ref(), &|_| origin.clone()))
}

fn convert_table(table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin) -> Table {
    let item = |key: &Spanned<_>, value: &Spanned<DeValue<'_>>| Item {
        origin: origin(key.span().start),
        value: convert(value.get_ref(), origin),
    };
    table.iter().map(|(key, value)| (key.get_ref().to_string(), item(key, value))).collect()
}

fn convert(value: &DeValue<'_>, origin: &dyn Fn(usize) -> Origin) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| Value::Other(integer.to_string()), Value::Integer),
        DeValue::Float(float) => {
            float.as_str().parse().map_or_else(|_| Value::Other(float.to_string()), Value::Float)
        }
        DeValue::Boolean(value) => Value::Flag(*value),
        DeValue::Datetime(date) => Value::Other(date.to_string()),
        DeValue::Array(items) => Value::List(
            items
                .iter()
                .map(|item| Item {
                    origin: origin(item.span().start),
                    value: convert(item.get_ref(), origin),
                })
                .collect(),
        ),
        DeValue::Table(table) => Value::Table(convert_table(table, origin)),
    }
}

/// Offsets to line numbers.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(offset, _)| offset).collect())
    }

    fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }
}

/// The item at a path such as `shift.0.to`, or the nearest one above it.
pub(crate) fn origin_of(table: &Table, path: &str) -> Origin {
    let mut origin = Origin::File;
    let mut segments = path.split('.');
    let mut item = segments.next().and_then(|name| table.get(name));
    while let Some(found) = item {
        origin = found.origin.clone();
        let Some(segment) = segments.next() else { break };
        item = match &found.value {
            Value::Table(table) => table.get(segment),
            Value::List(items) => segment.parse().ok().and_then(|index: usize| items.get(index)),
            _ => None,
        };
    }
    origin
}
