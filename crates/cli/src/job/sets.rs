//! `--set a.b=c`: values of the command line, put over those of the file before anything is checked. Branches of a
//! comparison and runs of a cluster file bring such settings too.

use super::keys::{Found, Keys, join};
use super::problem::{Origin, Problem};
use super::tree::{Item, Table, Value, parse_value};

/// One `key=value` and who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    /// As written.
    pub(crate) text: String,
    /// How a message names its place.
    pub(crate) origin: Origin,
}

impl Set {
    /// One of the command line.
    pub(crate) fn of_command(text: &str) -> Self {
        Self { text: text.to_owned(), origin: Origin::Set(format!("--set {text}")) }
    }

    /// Those of a list of the file; `owner` is a phrase such as `branch "gba"`.
    pub(crate) fn of_list<'a>(owner: &'a str, texts: &'a [String]) -> impl Iterator<Item = Self> + 'a {
        texts.iter().map(move |text| Self {
            text: text.clone(),
            origin: Origin::Set(format!("{owner}, set {text:?}")),
        })
    }
}

/// Puts one setting into the file. Names of keys are checked later, with those of the file.
///
/// # Errors
/// When it is not `key=value` or its path leads through something that is no table.
pub(crate) fn apply(keys: &Keys, file: &mut Table, set: &Set) -> Result<(), Problem> {
    let Set { text: set, origin } = set;
    let problem = |key: &str, what: &str, help: String| Problem {
        origin: origin.clone(),
        key: key.to_owned(),
        what: what.to_owned(),
        help,
    };
    let Some((path, text)) = set.split_once('=') else {
        let help = "write it as in --set batch.global=1024".to_owned();
        return Err(problem("", "expected key=value, got no `=`", help));
    };
    let (path, text) = (path.trim(), text.trim());
    let segments: Vec<&str> = path.split('.').map(str::trim).collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        let help = "write it as in --set batch.global=1024".to_owned();
        return Err(problem(path, "expected names joined by dots, got an empty name", help));
    }
    let pattern = pattern_of(&segments);
    let value = value_of(keys, &pattern, text, origin);
    put(file, &segments, value, origin).map_err(|(at, what)| {
        problem(&at, &what, format!("{} lists what a {} takes", keys.list.shown_by, keys.list.noun))
    })?;
    drop_rivals(keys, file, &segments, &pattern);
    Ok(())
}

/// `shift.0.to` as in the list of keys: `shift[].to`.
pub(crate) fn pattern_of(segments: &[&str]) -> String {
    segments.iter().fold(String::new(), |pattern, segment| {
        if segment.parse::<usize>().is_ok() { pattern + "[]" } else { join(&pattern, segment) }
    })
}

/// TOML if it is; a bare word is text, and so is anything given to a key that takes text.
fn value_of(keys: &Keys, pattern: &str, text: &str, origin: &Origin) -> Value {
    let textual = matches!(keys.find(pattern), Found::Key(key) if key.kind.is_textual());
    match parse_value(text, origin) {
        Some(value @ (Value::Text(_) | Value::List(_) | Value::Table(_))) => value,
        Some(value) if !textual => value,
        _ => Value::Text(text.to_owned()),
    }
}

/// Inserts a value, making the tables on the way.
fn put(file: &mut Table, segments: &[&str], value: Value, origin: &Origin) -> Result<(), (String, String)> {
    let (name, rest) = (segments[0], &segments[1..]);
    let fresh = |value| Item { origin: origin.clone(), value };
    if rest.is_empty() {
        file.insert(name.to_owned(), fresh(value));
        return Ok(());
    }
    let index = rest[0].parse::<usize>().ok();
    let empty = || if index.is_some() { Value::List(Vec::new()) } else { Value::Table(Table::new()) };
    let item = file.entry(name.to_owned()).or_insert_with(|| fresh(empty()));
    let below = |(path, what): (String, String)| (join(name, &path), what);
    match (&mut item.value, index) {
        (Value::Table(table), None) => put(table, rest, value, origin).map_err(below),
        (Value::List(items), Some(index)) if index <= items.len() => {
            if index == items.len() {
                items.push(fresh(Value::Table(Table::new())));
            }
            let item = &mut items[index];
            match (&mut item.value, &rest[1..]) {
                (_, []) => *item = fresh(value),
                (Value::Table(table), rest) => {
                    return put(table, rest, value, origin)
                        .map_err(|problem| below((join(&index.to_string(), &problem.0), problem.1)));
                }
                (other, _) => {
                    return Err((join(name, rest[0]), format!("expected a table, got {}", other.show())));
                }
            }
            Ok(())
        }
        (Value::List(items), Some(index)) => {
            let what = format!(
                "there are {} of these; the next is number {}, not {index}",
                items.len(),
                items.len()
            );
            Err((join(name, rest[0]), what))
        }
        (Value::List(_), None) => {
            Err((name.to_owned(), format!("expected a number from 0 after the dot, got {:?}", rest[0])))
        }
        (other, _) => Err((name.to_owned(), format!("expected a table, got {}", other.show()))),
    }
}

/// Of keys that exclude each other the one on the command line wins over those of the file.
fn drop_rivals(keys: &Keys, file: &mut Table, segments: &[&str], pattern: &str) {
    let [list, index, name] = segments else { return };
    let Some((_, group)) = keys
        .list
        .exactly_one
        .iter()
        .find(|(owner, group)| group.iter().any(|rival| join(owner, rival) == pattern))
    else {
        return;
    };
    let Some(Item { value: Value::List(items), .. }) = file.get_mut(*list) else { return };
    let element = index.parse::<usize>().ok().and_then(|index| items.get_mut(index));
    if let Some(Item { value: Value::Table(table), .. }) = element {
        table.retain(|key, item| {
            key == name || !group.contains(&key.as_str()) || matches!(item.origin, Origin::Set(_))
        });
    }
}
