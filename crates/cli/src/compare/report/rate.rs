//! Where the learning rates come from. A comparison means little unless the base's rate suits the base's gear.

use serde::{Deserialize, Serialize};

/// The learning rates of all branches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rate {
    /// As the job says.
    FromJob {
        /// Of rows.
        sparse: f64,
        /// Of dense parameters.
        dense: f64,
    },
    /// The best of a grid for the base's gear.
    Searched {
        /// What was tried.
        grid: Vec<RatePoint>,
        /// The place in `grid` of what was taken.
        chosen: usize,
        /// Parts that each was trained on.
        parts_used: u32,
    },
}

/// One pair of rates that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RatePoint {
    /// Both rates of the job times this.
    pub(crate) factor: f64,
    /// Of rows.
    pub(crate) sparse: f64,
    /// Of dense parameters.
    pub(crate) dense: f64,
    /// Mean AUC over seeds; absent when it could not be had, as when training diverged.
    pub(crate) auc_mean: Option<f64>,
    /// Standard deviation over seeds; absent with one seed.
    pub(crate) auc_std: Option<f64>,
}

impl Rate {
    /// What was taken: rates of rows and of dense parameters.
    pub(crate) fn taken(&self) -> Option<(f64, f64)> {
        match self {
            Self::FromJob { sparse, dense } => Some((*sparse, *dense)),
            Self::Searched { grid, chosen, .. } => grid.get(*chosen).map(|point| (point.sparse, point.dense)),
        }
    }

    /// Whether nothing was tried on one side of what was taken, so that the best may lie beyond.
    pub(crate) fn is_at_edge(&self) -> bool {
        let Self::Searched { grid, chosen, .. } = self else { return false };
        let Some(taken) = grid.get(*chosen) else { return false };
        let is_end =
            |beyond: fn(f64, f64) -> bool| !grid.iter().any(|point| beyond(point.factor, taken.factor));
        is_end(|a, b| a < b) || is_end(|a, b| a > b)
    }

    /// How the rates were found, in sentences. `batches` is how many local batches make a global one where a branch
    /// updates on each.
    pub(crate) fn sentence(&self, batches: u32) -> String {
        let Some((sparse, dense)) = self.taken() else {
            return "The learning rates are not known.".to_owned();
        };
        let rates = format!("{} for rows and {} for dense parameters", short(sparse), short(dense));
        match self {
            Self::FromJob { .. } => format!(
                "The learning rates are the job's own, {rates}; they were not searched here. Comparing with an \
                 under-tuned synchronous rate reverses the result: asynchronous gears make {} more updates and look \
                 better. If you do not know that these rates are the best for the base's gear, run again with --tune.",
                if batches > 1 { format!("{batches} times") } else { "many times".to_owned() }
            ),
            Self::Searched { grid, parts_used, .. } => {
                let edge = if self.is_at_edge() {
                    " It lies at the edge of what was tried, so the best may lie beyond: widen the grid and run again \
                     before you trust the comparison."
                } else {
                    " Worse results on both sides of it say that it suits the base's gear."
                };
                format!(
                    "The learning rates are the best of {} tried for the base's gear on {parts_used} {}: {rates}.{edge} \
                     Branches use them unchanged; one with rates of its own says so in its settings.",
                    grid.len(),
                    if *parts_used == 1 { "part" } else { "parts" }
                )
            }
        }
    }

    /// Whether the reader should doubt the comparison for the rates' sake.
    pub(crate) fn is_doubtful(&self) -> bool {
        matches!(self, Self::FromJob { .. }) || self.is_at_edge()
    }
}

/// A rate without needless digits.
pub(crate) fn short(rate: f64) -> String {
    if rate != 0.0 && rate.abs() < 1e-4 {
        return format!("{rate:.2e}");
    }
    let text = format!("{rate:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(factors: &[f64], chosen: usize) -> Rate {
        let point = |&factor: &f64| RatePoint {
            factor,
            sparse: 0.05 * factor,
            dense: 0.001 * factor,
            auc_mean: Some(0.7),
            auc_std: None,
        };
        Rate::Searched { grid: factors.iter().map(point).collect(), chosen, parts_used: 2 }
    }

    #[test]
    fn an_edge_is_where_one_side_was_not_tried() {
        assert!(!searched(&[0.5, 1.0, 2.0], 1).is_at_edge());
        assert!(searched(&[0.5, 1.0, 2.0], 0).is_at_edge());
        assert!(searched(&[2.0, 0.5, 1.0], 0).is_at_edge());
        assert!(searched(&[1.0], 0).is_at_edge());
        assert!(!searched(&[1.0], 7).is_at_edge());
        assert!(searched(&[0.5, 1.0, 2.0], 2).sentence(32).contains("edge"));
        assert!(searched(&[0.5, 1.0, 2.0], 1).sentence(32).contains("best of 3 tried"));
    }

    #[test]
    fn rates_of_the_job_are_called_so() {
        let sentence = Rate::FromJob { sparse: 0.05, dense: 0.001 }.sentence(32);
        for part in
            ["not searched here", "32 times more updates", "--tune", "0.05 for rows", "0.001 for dense"]
        {
            assert!(sentence.contains(part), "{part}: {sentence}");
        }
    }

    #[test]
    fn json_names_the_kind_in_small_letters() {
        let text = serde_json::to_string(&Rate::FromJob { sparse: 0.05, dense: 0.001 }).unwrap();
        assert_eq!(text, r#"{"from_job":{"sparse":0.05,"dense":0.001}}"#);
        let rate = searched(&[0.5, 1.0], 1);
        assert_eq!(serde_json::from_str::<Rate>(&serde_json::to_string(&rate).unwrap()).unwrap(), rate);
    }

    #[test]
    fn rates_without_needless_digits() {
        assert_eq!(
            (short(0.05), short(1.0), short(0.00002), short(0.0)),
            ("0.05".into(), "1".into(), "2.00e-5".into(), "0".into())
        );
    }
}
