//! Checks `[data.delimited]` against the columns that are there, and lays out what is read from where.

use std::collections::HashSet;

use gearshift_types::{FeatureSpec, TableId};
use regex::Regex;

use super::rule::{Rule, is_dense, listed};
use crate::options::{DelimitedOptions, FeatureKind, FeatureOptions};
use crate::source::Schema;

/// Where a feature's text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A column of the main file.
    Main(usize),
    /// A column of side table `join`.
    Side { join: usize, column: usize },
}

/// What is read from where.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Columns of the main file.
    pub columns: Vec<String>,
    pub label: usize,
    pub label_at_least: Option<f64>,
    /// In the order of the options.
    pub features: Vec<(Place, Rule)>,
    /// For each join its key column in the side table and the main file's column with that key.
    pub joins: Vec<(usize, usize)>,
    pub schema: Schema,
}

/// Makes the plan for a main file with `columns` and side tables with `side_columns`, or says what is wrong.
pub(crate) fn plan(
    options: &DelimitedOptions,
    columns: &[String],
    side_columns: &[Vec<String>],
) -> Result<Plan, Vec<String>> {
    let mut problems = Vec::new();
    let label = find(columns, &options.label.column, "label.column", &mut problems);
    if let Some(limit) = options.label.at_least.filter(|limit| !limit.is_finite()) {
        problems.push(format!("label.at_least = {limit}; a finite number is needed"));
    }
    let mut joins = Vec::new();
    for (join, side) in options.joins.iter().zip(side_columns) {
        let key = find(side, &join.key, &format!("join {}: key", join.name), &mut problems);
        let on = find(columns, &join.on, &format!("join {}: on", join.name), &mut problems);
        joins.push((key, on));
    }
    let mut features = Vec::new();
    let mut names = HashSet::new();
    for feature in &options.features {
        if !names.insert(feature.name.as_str()) {
            problems.push(format!("two features are named {}; give each its own name", feature.name));
        }
        let pattern = check_feature(feature, &mut problems);
        let place = place(feature, options, columns, side_columns, &mut problems);
        features.push((place, Rule::new(feature, pattern)));
    }
    if options.features.is_empty() {
        problems.push("no [[data.delimited.feature]]; name at least one".to_owned());
    }
    let schema = schema(options, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(Plan {
        columns: columns.to_vec(),
        label,
        label_at_least: options.label.at_least,
        features,
        joins,
        schema,
    })
}

/// The position of `name`, or 0 and a problem.
fn find(columns: &[String], name: &str, what: &str, problems: &mut Vec<String>) -> usize {
    columns.iter().position(|column| column == name).unwrap_or_else(|| {
        problems.push(format!("{what} = \"{name}\" is not a column; the columns are: {}", listed(columns)));
        0
    })
}

fn place(
    feature: &FeatureOptions,
    options: &DelimitedOptions,
    columns: &[String],
    side_columns: &[Vec<String>],
    problems: &mut Vec<String>,
) -> Place {
    let what = format!("feature {}: column", feature.name);
    // A main column whose name has a dot comes before a side table.
    if !columns.contains(&feature.column)
        && let Some((join, column)) = feature.column.split_once('.')
    {
        let Some(at) = options.joins.iter().position(|known| known.name == join) else {
            let known: Vec<String> = options.joins.iter().map(|join| join.name.clone()).collect();
            problems.push(format!(
                "{what} = \"{}\": there is no [[data.delimited.join]] named {join}; the joins are: {}",
                feature.column,
                listed(&known)
            ));
            return Place::Main(0);
        };
        return match side_columns.get(at) {
            Some(side) => Place::Side { join: at, column: find(side, column, &what, problems) },
            None => Place::Main(0),
        };
    }
    Place::Main(find(columns, &feature.column, &what, problems))
}

/// Checks the fields that go together and compiles the pattern.
fn check_feature(feature: &FeatureOptions, problems: &mut Vec<String>) -> Option<Regex> {
    let mut wrong = |text: String| problems.push(format!("feature {}: {text}", feature.name));
    let (multi, nth) = (feature.kind == FeatureKind::Multi, feature.nth.is_some());
    match feature.separator.as_deref() {
        Some("") => wrong("separator is empty; name the character between values".to_owned()),
        Some(_) if !multi && !nth => {
            wrong("separator needs kind = \"multi\", or nth to take one of the values".to_owned());
        }
        None if multi || nth => wrong("separator is missing; name the character between values".to_owned()),
        _ => {}
    }
    if nth && feature.kind != FeatureKind::Categorical {
        wrong("nth needs kind = \"categorical\"".to_owned());
    }
    if feature.max_values.is_some() && !multi {
        wrong("max_values needs kind = \"multi\"".to_owned());
    }
    if feature.max_values == Some(0) {
        wrong("max_values = 0; give at least 1 or leave it out".to_owned());
    }
    if feature.transform != Default::default() && feature.kind != FeatureKind::Numeric {
        wrong("transform needs kind = \"numeric\"".to_owned());
    }
    if feature.pooling != Default::default() && !multi {
        wrong("pooling needs kind = \"multi\"".to_owned());
    }
    if feature.table.is_some() && is_dense(feature) {
        wrong("a dense number has no table; leave table out or set transform = \"bucket\"".to_owned());
    }
    let pattern = Regex::new(feature.pattern.as_deref()?);
    pattern.inspect_err(|error| wrong(format!("pattern is not a regular expression: {error}"))).ok()
}

/// Categorical features with their tables, in order of first use; then dense ones.
fn schema(options: &DelimitedOptions, problems: &mut Vec<String>) -> Schema {
    let mut schema = Schema::default();
    for feature in &options.features {
        if is_dense(feature) {
            schema.dense.push(feature.name.clone());
            continue;
        }
        let name = feature.table.as_ref().unwrap_or(&feature.name);
        let table = schema.tables.iter().position(|known| known == name).unwrap_or_else(|| {
            schema.tables.push(name.clone());
            schema.tables.len() - 1
        });
        schema.features.push(FeatureSpec {
            name: feature.name.clone(),
            table: TableId(table as u16),
            pooling: feature.pooling,
        });
    }
    if schema.tables.len() > usize::from(u16::MAX) {
        problems.push(format!("{} tables; at most {} are possible", schema.tables.len(), u16::MAX));
    }
    schema
}
