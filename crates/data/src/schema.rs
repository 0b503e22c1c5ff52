//! Schemas of data whose columns are fixed: Criteo's format and generated data.

use gearshift_types::{FeatureSpec, Pooling, TableId};

use crate::source::Schema;

/// Integers I1.. that have become categorical, then categories C1.., each with a table of its own name; then the
/// dense features I1...
pub(crate) fn plain_schema(bucketed: usize, categories: usize, dense: usize) -> Schema {
    let integers = (1..=bucketed).map(|at| format!("I{at}"));
    let tables: Vec<String> = integers.chain((1..=categories).map(|at| format!("C{at}"))).collect();
    let features = tables
        .iter()
        .enumerate()
        .map(|(at, name)| FeatureSpec {
            name: name.clone(),
            table: TableId(at as u16),
            pooling: Pooling::Sum,
        })
        .collect();
    Schema { features, tables, dense: (1..=dense).map(|at| format!("I{at}")).collect() }
}
