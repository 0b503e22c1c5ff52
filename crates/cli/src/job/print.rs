//! `gearshift job keys`: every key with its default and meaning.

use std::fmt::Write as _;

use super::Job;
use super::keys::{Keys, Presence};
use super::tree::Table;
use super::{sets, walk};

/// The text of `gearshift job keys`: each key with its default, then its meaning and what it takes.
pub(crate) fn keys_text() -> String {
    let keys = Keys::new();
    let defaults = defaults(&keys);
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

/// A job of required keys alone, one element in each list, with every default filled in.
fn defaults(keys: &Keys) -> toml::Value {
    let mut written = Table::new();
    for key in keys.iter().filter(|key| key.presence == Presence::Required) {
        let set = format!("{}={}", key.path.replace("[]", ".0"), key.example);
        let applied = sets::apply(keys, &mut written, &set);
        assert!(applied.is_ok(), "the example of {} fits no job: {applied:?}", key.path);
    }
    let clean = walk::walk(keys, &written).clean;
    let job = toml::Value::Table(clean).try_into::<Job>().ok();
    let text = job.and_then(|job| toml::to_string(&job).ok()).unwrap_or_default();
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
mod tests {
    use super::*;

    #[test]
    fn every_key_with_a_default_shows_it() {
        let keys = Keys::new();
        let defaults = defaults(&keys);
        for key in keys.iter() {
            let shown = look(&defaults, &key.path).is_some();
            match key.presence {
                Presence::Default => assert!(shown, "{} has no default", key.path),
                Presence::Optional if key.path.contains(".at_") => {}
                Presence::Optional => assert!(!shown, "{} has a default", key.path),
                Presence::Required => assert!(shown, "{} is not in the minimal job", key.path),
            }
        }
        let text = keys_text();
        assert!(
            text.contains("cluster.workers = 4\n    Number of workers. Takes an integer from 1 to 65536.")
        );
        assert!(text.contains("optimizer.sparse.rate = 0.05\n"), "{text}");
    }
}
