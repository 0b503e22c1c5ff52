//! Holds a file as written against the known keys: unknown, missing, wrong type, out of range.
//!
//! What is wrong is left out or replaced by an example in the clean copy, so that the checks across keys still run
//! on the rest; they skip whatever touches a key that is listed as tainted.

use std::collections::BTreeSet;

use super::keys::{Found, Key, Keys, Presence, join};
use super::kinds::nearest;
use super::problem::{Origin, Problem};
use super::tree::{Item, Table, Value};

/// The outcome of a walk.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The file with all that is wrong left out or replaced.
    pub(crate) clean: toml::Table,
    /// Paths whose values in `clean` are not those of the file.
    pub(crate) tainted: BTreeSet<String>,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
}

/// Walks a whole file.
pub(crate) fn walk(keys: &Keys, file: &Table) -> Walked {
    let mut walker = Walker { keys, walked: Walked::default() };
    let clean = walker.table("", "", file, &Origin::File);
    walker.walked.clean = clean;
    walker.walked
}

struct Walker<'a> {
    keys: &'a Keys,
    walked: Walked,
}

impl Walker<'_> {
    /// One table at `path` (as written) and `pattern` (as in the list of keys).
    fn table(&mut self, path: &str, pattern: &str, table: &Table, origin: &Origin) -> toml::Table {
        let mut clean = toml::Table::new();
        for (name, item) in table {
            let (path, pattern_below) = (join(path, name), join(pattern, name));
            let value = match self.keys.find(&pattern_below) {
                Found::Key(key) => self.value(&path, key.clone(), item),
                Found::Table => self.section(&path, &pattern_below, item),
                Found::Tables => self.sections(&path, &pattern_below, item),
                Found::Unknown => {
                    let help = self.suggest(name, pattern);
                    self.report(&item.origin, &path, "unknown key".to_owned(), help);
                    None
                }
            };
            clean.extend(value.map(|value| (name.clone(), value)));
        }
        self.exactly_one(path, pattern, table, origin, &mut clean);
        self.fill_required(path, pattern, table, origin, &mut clean);
        clean
    }

    fn value(&mut self, path: &str, key: Key, item: &Item) -> Option<toml::Value> {
        match key.kind.check(&item.value) {
            Ok(()) => Some(item.value.to_toml()),
            Err(misfit) => {
                let what = format!("expected {}, got {}", misfit.expected, misfit.got);
                self.report(&item.origin, path, what, misfit.help);
                self.walked.tainted.insert(path.to_owned());
                None
            }
        }
    }

    fn section(&mut self, path: &str, pattern: &str, item: &Item) -> Option<toml::Value> {
        if let Value::Table(table) = &item.value {
            return Some(toml::Value::Table(self.table(path, pattern, table, &item.origin)));
        }
        let what = format!("expected a table, got {}", item.value.show());
        let names = self.keys.names_in(pattern).join(", ");
        self.report(&item.origin, path, what, format!("write [{path}] with keys of {names}"));
        self.walked.tainted.insert(path.to_owned());
        None
    }

    fn sections(&mut self, path: &str, pattern: &str, item: &Item) -> Option<toml::Value> {
        let pattern = format!("{pattern}[]");
        let Value::List(items) = &item.value else {
            let what = format!("expected a list of tables, got {}", item.value.show());
            self.report(&item.origin, path, what, format!("write [[{path}]], once for each"));
            self.walked.tainted.insert(path.to_owned());
            return None;
        };
        let mut clean = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let below = format!("{path}.{index}");
            let element = self.section(&below, &pattern, item);
            // An example keeps the places of the elements after it.
            clean.push(element.unwrap_or_else(|| toml::Value::Table(self.example(&pattern))));
        }
        Some(toml::Value::Array(clean))
    }

    fn exactly_one(
        &mut self,
        path: &str,
        pattern: &str,
        table: &Table,
        origin: &Origin,
        clean: &mut toml::Table,
    ) {
        for (_, group) in self.keys.list.exactly_one.iter().filter(|(owner, _)| *owner == pattern) {
            let present: Vec<&str> = group.iter().copied().filter(|name| table.contains_key(*name)).collect();
            if present.len() == 1 && clean.contains_key(present[0]) {
                continue;
            }
            if present.len() != 1 {
                let got = if present.is_empty() { "none".to_owned() } else { present.join(" and ") };
                let what = format!("expected exactly one of {}, got {got}", group.join(", "));
                let help = if present.is_empty() {
                    format!("add one, such as {}", self.example_line(&join(pattern, group[0])))
                } else {
                    format!(
                        "leave out all but one; for several changes write several [[{}]]",
                        list_name(pattern)
                    )
                };
                let at = present.iter().map(|name| &table[*name].origin).max().unwrap_or(origin);
                self.report(at, path, what, help);
            }
            for name in *group {
                clean.remove(*name);
                self.walked.tainted.insert(join(path, name));
            }
            clean.insert(group[0].to_owned(), self.example_value(&join(pattern, group[0])));
        }
    }

    /// Reports required keys that are missing and fills in examples, for wrong ones too.
    fn fill_required(
        &mut self,
        path: &str,
        pattern: &str,
        table: &Table,
        origin: &Origin,
        clean: &mut toml::Table,
    ) {
        for name in self.keys.names_in(pattern) {
            let (path, pattern) = (join(path, name), join(pattern, name));
            if clean.contains_key(name) {
                continue;
            }
            match self.keys.find(&pattern) {
                Found::Key(key) if key.presence == Presence::Required => {
                    if !table.contains_key(name) {
                        let help = format!("add it, such as {}", self.example_line(&pattern));
                        let what = format!("missing: {}", key.kind.describe());
                        self.report(origin, &path, what, help);
                    }
                    clean.insert(name.to_owned(), self.example_value(&pattern));
                    self.walked.tainted.insert(path);
                }
                Found::Table if !self.keys.list.optional_tables.contains(&pattern.as_str()) => {
                    let filled = if table.contains_key(name) {
                        self.example(&pattern)
                    } else {
                        self.table(&path, &pattern, &Table::new(), origin)
                    };
                    clean.insert(name.to_owned(), toml::Value::Table(filled));
                }
                _ => {}
            }
        }
    }

    /// The required keys of a table, each with its example.
    fn example(&self, pattern: &str) -> toml::Table {
        let mut quiet = Walker { keys: self.keys, walked: Walked::default() };
        quiet.table("", pattern, &Table::new(), &Origin::File)
    }

    fn example_value(&self, pattern: &str) -> toml::Value {
        let Found::Key(key) = self.keys.find(pattern) else {
            unreachable!("{pattern} is in the list of keys");
        };
        super::tree::parse_value(key.example, &Origin::File)
            .map_or_else(|| unreachable!("the example of {pattern} is TOML"), |value| value.to_toml())
    }

    fn example_line(&self, pattern: &str) -> String {
        let name = pattern.rsplit('.').next().unwrap_or(pattern);
        format!("{name} = {}", self.example_value(pattern))
    }

    fn suggest(&self, name: &str, pattern: &str) -> String {
        let siblings = self.keys.names_in(pattern);
        if let Some(near) = nearest(name, &siblings) {
            return format!("did you mean {near:?}?");
        }
        let owner = |key: &'_ Key| match key.path.rsplit_once('.') {
            Some((owner, last)) => (last == name).then(|| owner.to_owned()),
            None => (key.path == name).then(String::new),
        };
        let owners: BTreeSet<String> = self.keys.iter().filter_map(owner).collect();
        // Of several the outermost: a name deep inside is seldom meant.
        let depth = |owner: &str| owner.matches('.').count();
        if let Some(least) = owners.iter().map(|owner| depth(owner)).min() {
            let owners = owners.iter().filter(|owner| depth(owner) == least);
            let owners: Vec<String> = owners.map(|owner| table_name(owner)).collect();
            return format!("{name:?} belongs to {}", owners.join(" or "));
        }
        format!("known here: {}", siblings.join(", "))
    }

    fn report(&mut self, origin: &Origin, key: &str, what: String, help: String) {
        self.walked.problems.push(Problem { origin: origin.clone(), key: key.to_owned(), what, help });
    }
}

/// How a file names the table at `pattern`.
fn table_name(pattern: &str) -> String {
    match (pattern, pattern.strip_suffix("[]")) {
        ("", _) => "the top of the file, before any table".to_owned(),
        (_, Some(list)) => format!("[[{list}]]"),
        (_, None) => format!("[{pattern}]"),
    }
}

fn list_name(pattern: &str) -> &str {
    pattern.trim_end_matches("[]")
}
