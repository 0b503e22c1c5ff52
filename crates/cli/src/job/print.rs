//! Every key of a file with its default and meaning: `gearshift job keys`, `gearshift simulate --keys`.

use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::keys::{Keys, Presence};
use super::sets::{self, Set};
use super::tree::Table;
use super::walk;

/// Each key with its default, then its meaning and what it takes. `T` is what the file is read into.
pub(crate) fn keys_text<T: Serialize + DeserializeOwned>(keys: &Keys) -> String {
    let defaults = defaults::<T>(keys);
    let mut text = String::new();
    for key in keys.iter() {
        let default = match key.presence {
            Presence::Required => "(required)".to_owned(),
            Presence::Optional => "(not set)".to_owned(),
            Presence::Default => look(&defaults, &key.path).map_or_else(String::new, ToString::to_string),
        };
        let _ = writeln!(text, "{} = {default}\n    {} Takes {}.", key.path, key.doc, key.kind.describe());
    }
    text
}

/// A file of required keys alone, one element in each list, every table there, with every default filled in.
fn defaults<T: Serialize + DeserializeOwned>(keys: &Keys) -> toml::Value {
    let mut written = Table::new();
    let mut set = |text: String| {
        let applied = sets::apply(keys, &mut written, &Set::of_command(&text));
        assert!(applied.is_ok(), "{text} fits no file: {applied:?}");
    };
    for table in keys.list.optional_tables {
        set(format!("{table}={{}}"));
    }
    for key in keys.iter().filter(|key| key.presence == Presence::Required) {
        set(format!("{}={}", key.path.replace("[]", ".0"), key.example));
    }
    let clean = walk::walk(keys, &written).clean;
    let file = toml::Value::Table(clean).try_into::<T>().ok();
    let text = file.and_then(|file| toml::to_string(&file).ok()).unwrap_or_default();
    toml::Value::Table(toml::from_str(&text).unwrap_or_default())
}

/// The value at a path of the list of keys; of a list the first element.
fn look<'a>(value: &'a toml::Value, path: &str) -> Option<&'a toml::Value> {
    path.split('.').try_fold(value, |value, name| match name.strip_suffix("[]") {
        Some(list) => value.get(list)?.get(0),
        None => value.get(name),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::keys::join;
    use super::super::{Job, key_list};
    use super::*;

    /// Whether a key excludes others.
    fn excludes(keys: &Keys, pattern: &str) -> bool {
        let mut groups = keys.list.exactly_one.iter();
        groups.any(|(owner, group)| group.iter().any(|name| join(owner, name) == pattern))
    }

    /// Defaults are where the list says.
    pub(crate) fn every_default_is_shown<T: Serialize + DeserializeOwned>(keys: &Keys) {
        let defaults = defaults::<T>(keys);
        for key in keys.iter() {
            let shown = look(&defaults, &key.path).is_some();
            match key.presence {
                Presence::Default => assert!(shown, "{} has no default", key.path),
                Presence::Optional if excludes(keys, &key.path) => {}
                Presence::Optional => assert!(!shown, "{} has a default", key.path),
                Presence::Required => assert!(shown, "{} is not in the minimal file", key.path),
            }
        }
    }

    #[test]
    fn every_key_with_a_default_shows_it() {
        let keys = Keys::new(key_list::JOB);
        every_default_is_shown::<Job>(&keys);
        let text = keys_text::<Job>(&keys);
        assert!(
            text.contains("cluster.workers = 4\n    Number of workers. Takes an integer from 1 to 65536.")
        );
        assert!(text.contains("optimizer.sparse.rate = 0.05\n"), "{text}");
        assert!(text.contains("compare.speed.noise.sigma = 0.5\n"), "{text}");
    }
}
