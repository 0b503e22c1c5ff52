//! From the job file's `[model]` to a learner.

use std::collections::BTreeSet;

use gearshift_types::FeatureSpec;

use crate::deepfm::DeepFm;
use crate::{Learner, ModelKind, ModelOptions};

/// Largest accepted embedding length and hidden width: beyond it a typing error is likelier than a model.
const WIDTH_MAX: usize = 65_536;

/// Everything wrong with a job's model, found in one go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.join("; "))]
pub struct ModelOptionsError {
    /// One sentence per problem, each naming the setting, what was expected and what came.
    pub problems: Vec<String>,
}

/// Makes the model that `options` describe, over `features` (their tables are positions in `tables`, the tables'
/// names) and `dense_width` dense features.
///
/// # Errors
/// When a setting is out of range or the features do not fit the tables; all problems at once.
pub fn build(
    options: &ModelOptions,
    features: &[FeatureSpec],
    tables: &[String],
    dense_width: usize,
) -> Result<Box<dyn Learner>, ModelOptionsError> {
    let mut problems = Vec::new();
    check_options(options, &mut problems);
    check_inputs(features, tables, dense_width, &mut problems);
    if !problems.is_empty() {
        return Err(ModelOptionsError { problems });
    }
    match options.kind {
        ModelKind::DeepFm => Ok(Box::new(DeepFm::new(options, features, tables, dense_width))),
    }
}

fn check_options(options: &ModelOptions, problems: &mut Vec<String>) {
    let mut width = |what: String, width: usize| {
        if width == 0 || width > WIDTH_MAX {
            problems.push(format!("{what}: expected 1 to {WIDTH_MAX}, got {width}"));
        }
    };
    width("model.embedding_dim".to_owned(), options.embedding_dim);
    for (i, &hidden) in options.hidden.iter().enumerate() {
        width(format!("model.hidden[{i}]"), hidden);
    }
    let std = options.embedding_std;
    if !std.is_finite() || std < 0.0 {
        problems.push(format!("model.embedding_std: expected a finite number of at least 0, got {std}"));
    }
}

fn check_inputs(features: &[FeatureSpec], tables: &[String], dense_width: usize, problems: &mut Vec<String>) {
    if features.is_empty() && dense_width == 0 {
        problems.push("the model needs at least one categorical or dense feature, got none".to_owned());
    }
    let limit = usize::from(u16::MAX) + 1;
    if tables.len() > limit {
        problems.push(format!("tables: expected at most {limit}, got {}", tables.len()));
    }
    let mut names = BTreeSet::new();
    for name in tables {
        if !names.insert(name) {
            problems.push(format!("table {name:?}: expected unique names, got it twice"));
        }
    }
    names.clear();
    for feature in features {
        if !names.insert(&feature.name) {
            problems.push(format!("feature {:?}: expected unique names, got it twice", feature.name));
        }
        if usize::from(feature.table.0) >= tables.len() {
            problems.push(format!(
                "feature {:?}: expected a table below {}, got {}",
                feature.name,
                tables.len(),
                feature.table
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use gearshift_types::{Init, Pooling, TableId};

    use super::*;

    fn feature(name: &str, table: u16) -> FeatureSpec {
        FeatureSpec { name: name.to_owned(), table: TableId(table), pooling: Pooling::Sum }
    }

    #[test]
    fn all_problems_are_found_in_one_go() {
        let options = ModelOptions {
            embedding_dim: 0,
            hidden: vec![4, 0],
            embedding_std: f32::NAN,
            ..Default::default()
        };
        let tables = ["a".to_owned(), "a".to_owned()];
        let error = build(&options, &[feature("x", 0), feature("x", 2)], &tables, 0).err().unwrap();
        assert_eq!(error.problems.len(), 6, "{error}");
        for word in ["embedding_dim", "hidden[1]", "embedding_std", "table \"a\"", "feature \"x\"", "got 2"] {
            assert!(error.to_string().contains(word), "{word} not in: {error}");
        }
        assert!(build(&ModelOptions::default(), &[], &[], 0).is_err());
    }

    #[test]
    fn the_spec_lists_what_servers_must_hold() {
        let options =
            ModelOptions { embedding_dim: 3, hidden: vec![5], embedding_std: 0.1, ..Default::default() };
        let tables = ["a".to_owned(), "b".to_owned()];
        let learner = build(&options, &[feature("x", 0), feature("y", 0)], &tables, 2).unwrap();
        let spec = learner.spec();
        assert_eq!(spec.tables.len(), 2);
        assert_eq!(spec.tables[0].segments, [(3, Init::Normal { std: 0.1 }), (1, Init::Zero)]);
        let dense: Vec<_> = spec.dense.iter().map(|t| (t.name.as_str(), t.shape.as_slice())).collect();
        let want: [(&str, &[usize]); 5] = [
            ("deep.0.weight", &[8, 5]),
            ("deep.0.bias", &[5]),
            ("deep.1.weight", &[5, 1]),
            ("deep.1.bias", &[1]),
            ("linear.dense.weight", &[2]),
        ];
        assert_eq!(dense, want);
        assert_eq!(spec.dense[0].init, Init::Normal { std: (2.0_f32 / 13.0).sqrt() });
        assert_eq!(spec.dense_len(), 40 + 5 + 5 + 1 + 2);
    }
}
