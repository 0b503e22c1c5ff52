//! The list of keys against the structs that serde fills: whoever adds a field or a word to one of them and not
//! to the other hears of it here.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::Job;
use super::super::keys::{EXACTLY_ONE, Found, Key, Keys, Kind, join};

/// The path with the first element of every list.
fn first(path: &str) -> String {
    path.replace("[]", ".0")
}

/// A job with every key set to its example (of keys that exclude each other the first), as TOML.
fn everything(keys: &Keys) -> toml::Table {
    let mut job = toml::Table::new();
    for key in keys.iter() {
        let rival = EXACTLY_ONE
            .iter()
            .any(|(owner, group)| group[1..].iter().any(|name| join(owner, name) == key.path));
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

fn serde_message(job: toml::Table) -> String {
    toml::Value::Table(job).try_into::<Job>().expect_err("an unknown word is refused").to_string()
}

#[test]
fn every_listed_key_with_its_example_is_a_field() {
    let keys = Keys::new();
    let job: Job = toml::Value::Table(everything(&keys)).try_into().unwrap();
    assert_eq!(job.shift.len(), 1);
    for (owner, group) in EXACTLY_ONE {
        for name in *group {
            let mut job = everything(&keys);
            let list = job[owner.trim_end_matches("[]")].as_array_mut().unwrap();
            let table = list[0].as_table_mut().unwrap();
            group.iter().for_each(|name| drop(table.remove(*name)));
            let Found::Key(key) = keys.find(&join(owner, name)) else {
                panic!("{owner}.{name} is not listed")
            };
            table.insert((*name).to_owned(), example(key));
            toml::Value::Table(job).try_into::<Job>().unwrap();
        }
    }
}

#[test]
fn every_field_of_the_structs_is_listed() {
    let keys = Keys::new();
    let mut tables = BTreeSet::from([String::new()]);
    for key in keys.iter() {
        let mut path = key.path.as_str();
        while let Some((above, _)) = path.rsplit_once('.') {
            tables.insert(above.to_owned());
            path = above;
        }
    }
    for table in tables {
        let mut job = everything(&keys);
        insert(&mut job, &first(&join(&table, "no_such_key")), toml::Value::Integer(1));
        let message = serde_message(job);
        let mut fields = expected_words(&message);
        if table == "gear" {
            // Parsed apart from the other fields.
            fields.insert("start".to_owned());
        }
        let listed: BTreeSet<String> = keys.names_in(&table).into_iter().map(str::to_owned).collect();
        assert_eq!(fields, listed, "[{table}]: {message}");
    }
}

#[test]
fn every_word_of_the_enums_is_listed() {
    let keys = Keys::new();
    for key in keys.iter() {
        let Kind::Choice(words) = key.kind else { continue };
        let mut job = everything(&keys);
        insert(&mut job, &first(&key.path), toml::Value::String("no_such_word".to_owned()));
        let message = serde_message(job);
        let listed: BTreeSet<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(expected_words(&message), listed, "{}: {message}", key.path);
    }
}

#[test]
fn every_example_is_what_its_key_takes() {
    let keys = Keys::new();
    for key in keys.iter() {
        let value =
            super::super::tree::parse_value(key.example, &super::super::problem::Origin::File).unwrap();
        assert_eq!(key.kind.check(&value), Ok(()), "{}", key.path);
    }
}

#[test]
fn the_ends_of_integer_ranges_fit_the_fields() {
    let keys = Keys::new();
    for key in keys.iter() {
        let Kind::Integer(min, max) = key.kind else { continue };
        for end in [min, max] {
            let mut job = everything(&keys);
            if let Some((owner, name)) = key.path.rsplit_once('.')
                && let Some((owner, group)) = EXACTLY_ONE.iter().find(|(known, _)| *known == owner)
                && group.contains(&name)
            {
                let list = job[owner.trim_end_matches("[]")].as_array_mut().unwrap();
                let table = list[0].as_table_mut().unwrap();
                group.iter().for_each(|name| drop(table.remove(*name)));
            }
            insert(&mut job, &first(&key.path), toml::Value::Integer(end));
            let loaded = toml::Value::Table(job).try_into::<Job>();
            assert!(loaded.is_ok(), "{} = {end}: {loaded:?}", key.path);
        }
    }
}

#[test]
fn a_job_written_back_is_the_same_job() {
    for sets in [
        &[][..],
        &[
            "shift.1.at_seconds=2.5",
            "optimizer.sparse.rate=0.1",
            "fault.0={worker=1,kind=\"leave\",at_sample=3}",
        ],
    ] {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let job = Job::load(None, &sets).unwrap();
        let again = Job::parse("again.toml", &job.to_toml().unwrap(), Path::new(""), &[]).unwrap();
        assert_eq!(job, again);
    }
}
