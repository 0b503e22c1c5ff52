//! A list of keys against the structs that serde fills: whoever adds a field or a word to one of them and not
//! to the other hears of it here. Cluster files are held to the same.

use std::collections::BTreeSet;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::super::Job;
use super::super::key_list::JOB;
use super::super::keys::{Found, Key, Keys, Kind, join};

/// The path with the first element of every list.
fn first(path: &str) -> String {
    path.replace("[]", ".0")
}

/// A file with every key set to its example (of keys that exclude each other the first), as TOML.
fn everything(keys: &Keys) -> toml::Table {
    let mut job = toml::Table::new();
    for key in keys.iter() {
        let groups = keys.list.exactly_one;
        let rival =
            groups.iter().any(|(owner, group)| group[1..].iter().any(|name| join(owner, name) == key.path));
        if !rival {
            insert(&mut job, &first(&key.path), example(key));
        }
    }
    job
}

fn example(key: &Key) -> toml::Value {
    let table: toml::Table = format!("v = {}", key.example).parse().unwrap();
    table["v"].clone()
}

fn insert(table: &mut toml::Table, path: &str, value: toml::Value) {
    let Some((name, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    if let Some(rest) = rest.strip_prefix("0.") {
        let list = table.entry(name).or_insert_with(|| toml::Value::Array(vec![toml::Table::new().into()]));
        insert(list[0].as_table_mut().unwrap(), rest, value);
    } else {
        let below = table.entry(name).or_insert_with(|| toml::Table::new().into());
        insert(below.as_table_mut().unwrap(), rest, value);
    }
}

/// The words between backquotes after "expected" in a message of serde.
fn expected_words(message: &str) -> BTreeSet<String> {
    let line = message.lines().next().unwrap_or_default();
    let list = line.split_once("expected").map_or("", |(_, list)| list);
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn read<T: DeserializeOwned>(file: toml::Table) -> Result<T, String> {
    toml::Value::Table(file).try_into::<T>().map_err(|error| error.to_string())
}

fn refusal<T: DeserializeOwned>(file: toml::Table) -> String {
    read::<T>(file).err().expect("an unknown word is refused")
}

/// Every listed key is a field that takes what the list says, and every field and word is listed. `apart` are keys
/// that serde parses apart from their table.
pub(crate) fn list_and_structs_agree<T: DeserializeOwned>(keys: &Keys, apart: &[(&str, &str)]) {
    every_listed_key_with_its_example_is_a_field::<T>(keys);
    every_field_of_the_structs_is_listed::<T>(keys, apart);
    every_word_of_the_enums_is_listed::<T>(keys);
    every_example_is_what_its_key_takes(keys);
    the_ends_of_integer_ranges_fit_the_fields::<T>(keys);
}

/// The file with a key set, and those that it excludes removed.
fn with_key(keys: &Keys, key: &Key, value: toml::Value) -> toml::Table {
    let mut file = everything(keys);
    if let Some((owner, name)) = key.path.rsplit_once('.')
        && let Some((owner, group)) = keys.list.exactly_one.iter().find(|(known, _)| *known == owner)
        && group.contains(&name)
    {
        let list = file[owner.trim_end_matches("[]")].as_array_mut().unwrap();
        let table = list[0].as_table_mut().unwrap();
        group.iter().for_each(|name| drop(table.remove(*name)));
    }
    insert(&mut file, &first(&key.path), value);
    file
}

fn every_listed_key_with_its_example_is_a_field<T: DeserializeOwned>(keys: &Keys) {
    assert_eq!(read::<T>(everything(keys)).err(), None);
    for (owner, group) in keys.list.exactly_one {
        for name in *group {
            let Found::Key(key) = keys.find(&join(owner, name)) else {
                panic!("{owner}.{name} is not listed")
            };
            assert_eq!(read::<T>(with_key(keys, key, example(key))).err(), None);
        }
    }
}

fn every_field_of_the_structs_is_listed<T: DeserializeOwned>(keys: &Keys, apart: &[(&str, &str)]) {
    let mut tables = BTreeSet::from([String::new()]);
    for key in keys.iter() {
        let mut path = key.path.as_str();
        while let Some((above, _)) = path.rsplit_once('.') {
            tables.insert(above.to_owned());
            path = above;
        }
    }
    for table in tables {
        let mut file = everything(keys);
        insert(&mut file, &first(&join(&table, "no_such_key")), toml::Value::Integer(1));
        let message = refusal::<T>(file);
        let mut fields = expected_words(&message);
        let apart = apart.iter().filter(|(owner, _)| *owner == table);
        fields.extend(apart.map(|(_, name)| (*name).to_owned()));
        let listed: BTreeSet<String> = keys.names_in(&table).into_iter().map(str::to_owned).collect();
        assert_eq!(fields, listed, "[{table}]: {message}");
    }
}

fn every_word_of_the_enums_is_listed<T: DeserializeOwned>(keys: &Keys) {
    for key in keys.iter() {
        let wrong = toml::Value::String("no_such_word".to_owned());
        let (words, wrong) = match key.kind {
            Kind::Choice(words) => (words, wrong),
            Kind::Choices(words) => (words, toml::Value::Array(vec![wrong])),
            _ => continue,
        };
        let message = refusal::<T>(with_key(keys, key, wrong));
        let listed: BTreeSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(expected_words(&message), listed, "{}: {message}", key.path);
    }
}

fn every_example_is_what_its_key_takes(keys: &Keys) {
    for key in keys.iter() {
        let value =
            super::super::tree::parse_value(key.example, &super::super::problem::Origin::File).unwrap();
        assert_eq!(key.kind.check(&value), Ok(()), "{}", key.path);
    }
}

fn the_ends_of_integer_ranges_fit_the_fields<T: DeserializeOwned>(keys: &Keys) {
    for key in keys.iter() {
        let Kind::Integer(min, max) = key.kind else { continue };
        for end in [min, max] {
            let loaded = read::<T>(with_key(keys, key, toml::Value::Integer(end)));
            assert_eq!(loaded.err(), None, "{} = {end}", key.path);
        }
    }
}

#[test]
fn the_job_file_and_its_list_agree() {
    // `start` is parsed apart from the settings of the gears.
    list_and_structs_agree::<Job>(&Keys::new(JOB), &[("gear", "start")]);
}

#[test]
fn a_job_written_back_is_the_same_job() {
    for sets in [
        &[][..],
        &[
            "shift.1.at_seconds=2.5",
            "optimizer.sparse.rate=0.1",
            "fault.0={worker=1,kind=\"leave\",at_sample=3}",
            "compare.branch.0={name=\"a\",gears=[\"gba\"],set=[\"batch.local=64\"]}",
            "compare.speed.noise={}",
        ],
    ] {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let job = Job::load(None, &sets).unwrap();
        let again = Job::parse("again.toml", &job.to_toml().unwrap(), Path::new(""), &[]).unwrap();
        assert_eq!(job, again);
    }
}
