//! Every key that a job file or a cluster file may hold: the one source of the checks, of the lists of keys that
//! are shown and of suggestions. Tests hold each list against the structs that the file is read into, both ways.

use std::collections::BTreeMap;

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A string that is not empty.
    Text,
    /// Strings.
    Texts,
    /// A path.
    Path,
    /// Paths.
    Paths,
    /// Paths or lists of paths.
    PathGroups,
    /// An integer in a range, ends included.
    Integer(i64, i64),
    /// Integers, each in a range, ends included.
    Integers(i64, i64),
    /// A finite number in a range, ends included.
    Number(f64, f64),
    /// A finite number above the first and up to the second.
    Above(f64, f64),
    /// Finite numbers, each in a range, ends included.
    Numbers(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Some of these words.
    Choices(&'static [&'static str]),
}

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It has a default.
    Default,
    /// It may be absent, which means something of its own.
    Optional,
    /// It must be there when its table is.
    Required,
}

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Path; `[]` follows the name of an array of tables: `shift[].to`.
    pub(crate) path: String,
    /// What it takes.
    pub(crate) kind: Kind,
    /// Whether it may be left out.
    pub(crate) presence: Presence,
    /// A valid value, as TOML.
    pub(crate) example: &'static str,
    /// What it means.
    pub(crate) doc: &'static str,
}

/// One line of a list of keys, under the head of its section.
pub(crate) type Row = (&'static str, Kind, Presence, &'static str, &'static str);

/// All that is to be known of one sort of file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyList {
    /// Start of the paths of a section, such as `shift[].`, and its rows; in the order of the file.
    pub(crate) sections: &'static [(&'static str, &'static [Row])],
    /// Tables that exist only when they are written: some key in them is required, or their absence means something.
    pub(crate) optional_tables: &'static [&'static str],
    /// Keys of which exactly one must be there, by table.
    pub(crate) exactly_one: &'static [(&'static str, &'static [&'static str])],
    /// What such a file describes: `job` of a job file.
    pub(crate) noun: &'static str,
    /// The command that shows the keys.
    pub(crate) shown_by: &'static str,
}

/// All keys by path, in the order of the file.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The list they come from.
    pub(crate) list: KeyList,
    all: Vec<Key>,
    by_path: BTreeMap<String, usize>,
}

/// What a path of the file is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'a> {
    /// A key.
    Key(&'a Key),
    /// A table.
    Table,
    /// An array of tables.
    Tables,
    /// Not known.
    Unknown,
}

impl Keys {
    /// The keys of a list.
    pub(crate) fn new(list: KeyList) -> Self {
        let key = |section: &str, &(name, kind, presence, example, doc): &Row| Key {
            path: format!("{section}{name}"),
            kind,
            presence,
            example,
            doc,
        };
        let all: Vec<Key> = list
            .sections
            .iter()
            .flat_map(|(section, rows)| rows.iter().map(move |row| key(section, row)))
            .collect();
        let by_path = all.iter().enumerate().map(|(index, key)| (key.path.clone(), index)).collect();
        Self { list, all, by_path }
    }

    /// In the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Key> {
        self.all.iter()
    }

    /// The key, table or array of tables at a pattern such as `shift[].to`.
    pub(crate) fn find(&self, pattern: &str) -> Found<'_> {
        if let Some(&index) = self.by_path.get(pattern) {
            return Found::Key(&self.all[index]);
        }
        let under = |mark: &str| {
            self.all
                .iter()
                .any(|key| key.path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with(mark)))
        };
        if under("[].") {
            Found::Tables
        } else if under(".") {
            Found::Table
        } else {
            Found::Unknown
        }
    }

    /// Names directly in a table (empty pattern: the top), without `[]`, in the order of the file.
    pub(crate) fn names_in(&self, pattern: &str) -> Vec<&str> {
        let prefix = if pattern.is_empty() { String::new() } else { format!("{pattern}.") };
        let mut names = Vec::new();
        for key in &self.all {
            let Some(rest) = key.path.strip_prefix(&prefix) else { continue };
            let name = rest.split('.').next().unwrap_or(rest).trim_end_matches("[]");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// `table.name`, or `name` at the top.
pub(crate) fn join(table: &str, name: &str) -> String {
    if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
}
