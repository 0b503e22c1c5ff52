//! Checks of `[optimizer]`: all problems at once, each naming its field.

use crate::options::{OptimizerKind, OptimizerOptions, UpdateOptions};

impl UpdateOptions {
    /// Every problem of these options, in words for the user; empty when there is none.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut problems = Vec::new();
        check(&self.sparse, "optimizer.sparse", &mut problems);
        check(&self.dense, "optimizer.dense", &mut problems);
        if self.dense.kind == OptimizerKind::RowWiseAdagrad {
            problems.push(
                "optimizer.dense.kind: row_wise_adagrad keeps one accumulator per embedding row and dense \
                 parameters have no rows; use adagrad"
                    .to_owned(),
            );
        }
        if let Some(norm) = self.clip_norm
            && !(norm.is_finite() && norm > 0.0)
        {
            problems.push(format!("optimizer.clip_norm: must be finite and above 0, got {norm}"));
        }
        problems
    }
}

fn check(options: &OptimizerOptions, at: &str, problems: &mut Vec<String>) {
    let mut need = |field: &str, value: f32, good: bool, what: &str| {
        if !(good && value.is_finite()) {
            problems.push(format!("{at}.{field}: must be {what}, got {value}"));
        }
    };
    let above = |x: f32| x > 0.0;
    let from_zero = |x: f32| x >= 0.0;
    need("rate", options.rate, above(options.rate), "finite and above 0");
    match options.kind {
        OptimizerKind::Sgd => {}
        OptimizerKind::Adagrad | OptimizerKind::RowWiseAdagrad => {
            let (epsilon, start) = (options.epsilon, options.initial_accumulator);
            need("epsilon", epsilon, from_zero(epsilon), "finite and at least 0");
            need("initial_accumulator", start, from_zero(start), "finite and at least 0");
            let both = "above 0 when initial_accumulator is 0 (a zero gradient would divide 0 by 0)";
            need("epsilon", epsilon, epsilon != 0.0 || start != 0.0, both);
        }
        OptimizerKind::Adam => {
            need("epsilon", options.epsilon, above(options.epsilon), "finite and above 0");
            for (field, beta) in [("beta1", options.beta1), ("beta2", options.beta2)] {
                need(field, beta, (0.0..1.0).contains(&beta), "at least 0 and below 1");
            }
        }
        OptimizerKind::Ftrl => {
            for (field, value) in [("l1", options.l1), ("l2", options.l2)] {
                need(field, value, from_zero(value), "finite and at least 0");
            }
            let beta = options.ftrl_beta;
            need("ftrl_beta", beta, from_zero(beta), "finite and at least 0");
            let both = "above 0 when l2 is 0 (a zero gradient would divide 0 by 0)";
            need("ftrl_beta", beta, beta != 0.0 || options.l2 != 0.0, both);
        }
    }
    need("weight_decay", options.weight_decay, from_zero(options.weight_decay), "finite and at least 0");
    if let Some(clip) = options.clip_value {
        need("clip_value", clip, above(clip), "finite and above 0");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_every_problem() {
        assert_eq!(UpdateOptions::default().validate(), Vec::<String>::new());
        let options = UpdateOptions {
            sparse: OptimizerOptions {
                kind: OptimizerKind::Adam,
                rate: f32::NAN,
                beta2: 1.0,
                epsilon: 0.0,
                clip_value: Some(-1.0),
                ..OptimizerOptions::default()
            },
            dense: OptimizerOptions {
                kind: OptimizerKind::RowWiseAdagrad,
                weight_decay: -0.1,
                epsilon: 0.0,
                initial_accumulator: 0.0,
                ..OptimizerOptions::default()
            },
            clip_norm: Some(0.0),
            ..UpdateOptions::default()
        };
        let problems = options.validate();
        for word in [
            "optimizer.sparse.rate",
            "optimizer.sparse.beta2",
            "optimizer.sparse.epsilon",
            "optimizer.sparse.clip_value",
            "optimizer.dense.kind: row_wise_adagrad",
            "optimizer.dense.weight_decay",
            "optimizer.dense.epsilon",
            "optimizer.clip_norm",
        ] {
            assert_eq!(problems.iter().filter(|p| p.starts_with(word)).count(), 1, "{word}: {problems:#?}");
        }
        assert_eq!(problems.len(), 8);
    }

    #[test]
    fn fields_of_other_kinds_are_not_looked_at() {
        let mut options = UpdateOptions::default();
        options.sparse.kind = OptimizerKind::Sgd;
        options.sparse.beta1 = 7.0;
        options.sparse.l1 = -1.0;
        assert!(options.validate().is_empty());
    }
}
