//! What the data crate finds wrong with `[data]`: missing files, columns that do not exist and the like, placed at
//! the lines that its messages speak of.

use super::Job;
use super::problem::{Origin, Problem};
use super::tree::{Item, Table, Value, origin_of};

/// All problems of this sort.
pub(crate) fn check(job: &Job, written: &Table) -> Vec<Problem> {
    let found = gearshift_data::check(&job.data, &job.base);
    found.into_iter().map(|message| place(&message, written)).collect()
}

fn place(message: &str, written: &Table) -> Problem {
    let what = message.strip_prefix("[data] ").unwrap_or(message);
    let (key, origin) = written
        .get("data")
        .and_then(|data| spoken_of("data", data, what))
        .unwrap_or_else(|| ("data".to_owned(), origin_of(written, "data")));
    Problem { origin, key, what: what.to_owned(), help: String::new() }
}

/// The key below `item` whose text the message quotes, longest text first.
fn spoken_of(path: &str, item: &Item, message: &str) -> Option<(String, Origin)> {
    let mut found = Vec::new();
    texts(path, item, &mut found);
    found.retain(|(_, text, _)| text.len() > 1 && message.contains(text.as_str()));
    found.into_iter().max_by_key(|(_, text, _)| text.len()).map(|(path, _, origin)| (path, origin))
}

fn texts(path: &str, item: &Item, found: &mut Vec<(String, String, Origin)>) {
    match &item.value {
        Value::Text(text) if path != "data.folder" => {
            found.push((path.to_owned(), text.clone(), item.origin.clone()));
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                texts(&format!("{path}.{index}"), item, found);
            }
        }
        Value::Table(table) => {
            for (name, item) in table {
                texts(&format!("{path}.{name}"), item, found);
            }
        }
        _ => {}
    }
}
