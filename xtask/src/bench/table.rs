//! From windows to a table: medians, spreads and ratios taken within a round.

use std::collections::BTreeMap;

use comfy_table::{Table, presets};

/// One window of ours.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Tables and layers.
    pub(super) shape: String,
    /// The case's name.
    pub(super) case: String,
    /// Samples of a batch.
    pub(super) batch: u32,
    /// Workers of ours, threads of the peer.
    pub(super) parallel: u32,
    /// The figure.
    pub(super) samples_per_s: f64,
}

/// The windows of one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Ours.
    pub(super) ours: Vec<Measured>,
    /// The peer's samples per second, by (batch, threads); several windows of one kind follow each other.
    pub(super) peer: Vec<((u32, u32), f64)>,
}

impl Round {
    /// In one line.
    pub(super) fn summary(&self) -> String {
        let ours = self.ours.iter().map(|m| format!("{} B={} {:.0}", m.case, m.batch, m.samples_per_s));
        let peer = self.peer.iter().map(|((batch, threads), v)| format!("torch {threads} B={batch} {v:.0}"));
        ours.chain(peer).collect::<Vec<_>>().join(", ")
    }

    fn peer_of(&self, measured: &Measured) -> Option<f64> {
        let same = |(key, _): &&((u32, u32), f64)| *key == (measured.batch, measured.parallel);
        spread(self.peer.iter().filter(same).map(|(_, value)| *value)).map(|spread| spread.median)
    }
}

/// Median, smallest, largest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn show(self, digits: usize) -> String {
        format!("{:.digits$} [{:.digits$}..{:.digits$}]", self.median, self.min, self.max)
    }
}

/// `None` of nothing; of an even number the mean of the middle two is the median.
fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    Some(Spread { median, min, max })
}

/// The table of all rounds.
pub(super) fn render(rounds: &[Round]) -> Table {
    let mut windows: BTreeMap<_, Vec<(f64, Option<f64>)>> = BTreeMap::new();
    for round in rounds {
        for ours in &round.ours {
            let key = (ours.shape.clone(), ours.batch, ours.parallel, ours.case.clone());
            windows.entry(key).or_default().push((ours.samples_per_s, round.peer_of(ours)));
        }
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["shape", "case", "batch", "workers / threads", "ours", "PyTorch", "ratio"]);
    for ((shape, batch, parallel, case), windows) in windows {
        let shown =
            |values: Option<Spread>, digits| values.map_or("-".to_owned(), |spread| spread.show(digits));
        let ours = spread(windows.iter().map(|(ours, _)| *ours));
        let peer = spread(windows.iter().filter_map(|(_, peer)| *peer));
        let ratio = spread(windows.iter().filter_map(|(ours, peer)| Some(ours / (*peer)?)));
        table.add_row([
            shape,
            case,
            batch.to_string(),
            parallel.to_string(),
            shown(ours, 0),
            shown(peer, 0),
            shown(ratio, 2),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ours: f64, peer: Option<f64>) -> Round {
        let measured =
            Measured { shape: "s".into(), case: "w1".into(), batch: 1024, parallel: 1, samples_per_s: ours };
        Round { ours: vec![measured], peer: peer.map(|value| ((1024, 1), value)).into_iter().collect() }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let table =
            render(&[round(10.0, Some(5.0)), round(30.0, Some(10.0)), round(20.0, Some(20.0))]).to_string();
        assert!(table.contains("20 [10..30]") && table.contains("10 [5..20]"), "{table}");
        assert!(table.contains("2.00 [1.00..3.00]"), "{table}");
    }

    #[test]
    fn without_the_peer_ours_stands_alone() {
        let table = render(&[round(10.0, None), round(20.0, None)]).to_string();
        assert!(table.contains("15 [10..20]"), "{table}");
        assert!(
            table.lines().last().is_some_and(|row| row.trim_end().ends_with("| -       | -     |")),
            "{table}"
        );
    }
}
