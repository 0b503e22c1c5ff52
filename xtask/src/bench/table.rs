//! From windows to tables: medians, spreads and ratios taken within a round.

use std::collections::BTreeMap;

use comfy_table::{Table, presets};
use serde::Deserialize;

/// Speed by the clock on the wall and by the CPU time of all threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Rate {
    /// By wall time.
    pub(super) samples_per_s: f64,
    /// By CPU time.
    pub(super) samples_per_cpu_s: f64,
}

/// One window of ours.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Tables and layers.
    pub(super) shape: String,
    /// The case's name: the gear.
    pub(super) case: String,
    /// Samples of an update.
    pub(super) update: u32,
    /// Samples of a batch.
    pub(super) batch: u32,
    /// Workers of ours, threads of the peer.
    pub(super) parallel: u32,
    /// The figure.
    pub(super) rate: Rate,
    /// The matrix products alone.
    pub(super) roofline: Rate,
    /// Those on one core.
    pub(super) gflop_per_s: f64,
}

/// The windows of one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Ours.
    pub(super) ours: Vec<Measured>,
    /// The peer's, by (batch, threads).
    pub(super) peer: Vec<((u32, u32), Rate)>,
}

impl Round {
    /// In one line.
    pub(super) fn summary(&self) -> String {
        let ours = self
            .ours
            .iter()
            .map(|m| format!("{} {} B={} {:.0}", m.case, m.parallel, m.batch, m.rate.samples_per_s));
        let peer = self.peer.iter();
        let peer = peer
            .map(|((batch, threads), rate)| format!("torch {threads} B={batch} {:.0}", rate.samples_per_s));
        ours.chain(peer).collect::<Vec<_>>().join(", ")
    }

    fn peer_of(&self, measured: &Measured) -> Option<Rate> {
        let key = (measured.batch, measured.parallel);
        self.peer.iter().find(|(of, _)| *of == key).map(|(_, rate)| *rate)
    }
}

/// Median, smallest, largest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

/// `None` of nothing; of an even number the mean of the middle two is the median.
fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    Some(Spread { median, min, max })
}

fn show(values: impl Iterator<Item = f64>, digits: usize) -> String {
    spread(values).map_or("-".to_owned(), |Spread { median, min, max }| {
        format!("{median:.digits$} [{min:.digits$}..{max:.digits$}]")
    })
}

const HEADER: [&str; 10] = [
    "batch",
    "workers / threads",
    "gear",
    "samples per update",
    "ours",
    "PyTorch",
    "ratio",
    "ratio by CPU time",
    "roofline (GFLOP/s a core)",
    "share of it",
];

/// The windows of a row, each with the peer's of its round.
type Windows<'a> = Vec<(&'a Measured, Option<Rate>)>;

/// A table per shape over all rounds.
pub(super) fn render(rounds: &[Round]) -> Vec<(String, Table)> {
    let mut shapes: BTreeMap<&str, BTreeMap<_, Windows<'_>>> = BTreeMap::new();
    for round in rounds {
        for ours in &round.ours {
            let key = (ours.batch, ours.parallel, ours.case.as_str(), ours.update);
            let rows = shapes.entry(&ours.shape).or_default();
            rows.entry(key).or_default().push((ours, round.peer_of(ours)));
        }
    }
    let table = |rows: BTreeMap<(u32, u32, &str, u32), Windows<'_>>| {
        let mut table = Table::new();
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(HEADER);
        for ((batch, parallel, case, update), windows) in rows {
            let mut row = vec![batch.to_string(), parallel.to_string(), case.to_owned(), update.to_string()];
            row.extend(cells(&windows));
            table.add_row(row);
        }
        table
    };
    shapes.into_iter().map(|(shape, rows)| (shape.to_owned(), table(rows))).collect()
}

/// Ours, the peer's, ratios, roofline, share.
fn cells(windows: &[(&Measured, Option<Rate>)]) -> [String; 6] {
    let ours = windows.iter().map(|(ours, _)| *ours);
    let pairs = || windows.iter().filter_map(|(ours, peer)| Some((ours.rate, (*peer)?)));
    let roofline = ours.clone().map(|ours| ours.roofline.samples_per_s);
    let gflop = spread(ours.clone().map(|ours| ours.gflop_per_s)).map_or(0.0, |spread| spread.median);
    [
        show(ours.clone().map(|ours| ours.rate.samples_per_s), 0),
        show(pairs().map(|(_, peer)| peer.samples_per_s), 0),
        show(pairs().map(|(ours, peer)| ours.samples_per_s / peer.samples_per_s), 2),
        show(pairs().map(|(ours, peer)| ours.samples_per_cpu_s / peer.samples_per_cpu_s), 2),
        format!("{} ({gflop:.0})", show(roofline, 0)),
        show(ours.map(|ours| ours.rate.samples_per_cpu_s / ours.roofline.samples_per_cpu_s), 2),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(value: f64) -> Rate {
        Rate { samples_per_s: value, samples_per_cpu_s: 2.0 * value }
    }

    fn round(ours: f64, peer: Option<f64>) -> Round {
        let measured = Measured {
            shape: "s".into(),
            case: "gba".into(),
            update: 2048,
            batch: 1024,
            parallel: 1,
            rate: rate(ours),
            roofline: rate(40.0),
            gflop_per_s: 150.0,
        };
        Round { ours: vec![measured], peer: peer.map(|value| ((1024, 1), rate(value))).into_iter().collect() }
    }

    fn rendered(rounds: &[Round]) -> String {
        let mut tables = render(rounds);
        assert_eq!(tables.len(), 1);
        tables.remove(0).1.to_string()
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let table = rendered(&[round(10.0, Some(5.0)), round(30.0, Some(10.0)), round(20.0, Some(20.0))]);
        assert!(table.contains("20 [10..30]") && table.contains("10 [5..20]"), "{table}");
        assert_eq!(table.matches("2.00 [1.00..3.00]").count(), 2, "wall and CPU: {table}");
        assert!(table.contains("(150)") && table.contains("0.50 [0.25..0.75]"), "{table}");
    }

    #[test]
    fn without_the_peer_ours_stands_alone() {
        let table = rendered(&[round(10.0, None), round(20.0, None)]);
        assert!(table.contains("15 [10..20]") && table.contains("0.38 [0.25..0.50]"), "{table}");
        let row = table.lines().last().unwrap_or_default();
        assert_eq!(row.split('|').filter(|cell| cell.trim() == "-").count(), 3, "{table}");
    }

    #[test]
    fn a_peer_of_another_size_is_no_peer() {
        let mut round = round(10.0, Some(5.0));
        round.peer[0].0 = (1024, 2);
        assert!(!rendered(&[round]).contains("2.00"));
    }
}
