//! A comparison in the terminal: two tables of at most 120 columns and a line per branch.

use std::fmt::Write;

use gearshift_cluster::StalenessHistogram;
use gearshift_coordination::Gear;

use super::{Branch, CompareReport, Moments, PointKey, Summary, Verdict};
use crate::tables;

/// Most letters of a branch's name.
const NAME_MAX: usize = 25;

/// Most columns of evaluations: more do not fit.
const POINTS_MAX: usize = 7;

/// The whole comparison.
pub(crate) fn tables(report: &CompareReport) -> String {
    let summaries = report.summaries();
    let mut text = format!(
        "\n{}: {} branches, {} seeds; base of {} parts, then {} more, of {}\n{}\n\n",
        report.name,
        report.branches.len(),
        report.seeds.len(),
        report.base_parts,
        report.parts,
        report.parts_of_data,
        report.cluster,
    );
    text.push_str(&wrap(&report.rate.sentence(updates_factor(report)), 110));
    let _ = write!(
        text,
        "\nAUC minus that of staying, same seed: at shares of the first part, at ends of parts, mean over these ends\n{}\n",
        deltas(report, &summaries)
    );
    let _ = write!(
        text,
        "\nVirtual-time speed, per worker over that of staying; staleness in steps as mean / 95 % / max\n{}\n",
        speeds(report, &summaries)
    );
    text.push('\n');
    for (place, (branch, summary)) in report.branches.iter().zip(&summaries).enumerate() {
        let verdict = Verdict::new(summary, report.is_reference(place));
        let _ = writeln!(text, "{:<NAME_MAX$}  {}", cut(&branch.name), verdict.words(summary));
    }
    for (advice, branches) in report.warnings() {
        text.push('\n');
        text.push_str(&wrap(&format!("warning: {advice} (about: {})", branches.join("; ")), 110));
    }
    text
}

fn deltas(report: &CompareReport, summaries: &[Summary]) -> comfy_table::Table {
    let keys = columns(summaries);
    let names: Vec<String> = keys.iter().map(|key| key.name()).collect();
    let mut header = vec!["branch"];
    header.extend(names.iter().map(String::as_str));
    header.push("mean of ends");
    let rows: Vec<Vec<String>> = summaries
        .iter()
        .enumerate()
        .map(|(place, summary)| {
            let mut row = vec![cut(&report.branches[place].name)];
            if report.is_reference(place) {
                // What others are compared to shows where it stands.
                let auc = |key: &PointKey| summary.point(*key).and_then(|point| point.auc);
                row.extend(keys.iter().map(|key| auc(key).map_or_else(dash, |of| format!("{:.4}", of.mean))));
                row.push("(AUC)".to_owned());
                return row;
            }
            let delta = |key: &PointKey| summary.point(*key).and_then(|point| point.delta);
            row.extend(keys.iter().map(|key| delta(key).map_or_else(dash, |of| signed(of.mean))));
            row.push(
                summary
                    .mean_delta
                    .map_or_else(dash, |of| mean_of_ends(of, report.branches[place].runs.len())),
            );
            row
        })
        .collect();
    tables::table(&header, &rows)
}

/// The places of all branches; when there are too many, the first ones and the last.
fn columns(summaries: &[Summary]) -> Vec<PointKey> {
    let all = summaries.iter().flat_map(|summary| summary.points.iter().map(|point| point.key));
    let mut keys: Vec<PointKey> = all.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
    if keys.len() > POINTS_MAX {
        keys.drain(POINTS_MAX - 1..keys.len() - 1);
    }
    keys
}

fn speeds(report: &CompareReport, summaries: &[Summary]) -> comfy_table::Table {
    let row = |(branch, summary): (&Branch, &Summary)| {
        vec![
            cut(&branch.name),
            branch.workers.to_string(),
            summary.per_second.map_or_else(dash, |of| tables::count(of.mean.round() as u64)),
            summary.speed.map_or_else(dash, |of| format!("{:.2}", of.mean)),
            summary.updates.map_or_else(dash, |updates| tables::count(updates.round() as u64)),
            summary.lost_share().map_or_else(dash, |share| format!("{:.2} %", share * 100.0)),
            staleness(&summary.token),
            staleness(&summary.version),
        ]
    };
    let rows: Vec<Vec<String>> = report.branches.iter().zip(summaries).map(row).collect();
    let header =
        ["branch", "workers", "samples/s", "per worker", "updates", "lost", "by token", "by version"];
    tables::table(&header, &rows)
}

fn staleness(histogram: &StalenessHistogram) -> String {
    match (histogram.quantile(0.95), histogram.max()) {
        (Some(most), Some(max)) => format!("{:.1} / {most} / {max}", histogram.mean()),
        _ => dash(),
    }
}

/// A difference of AUC with its sign and four decimals. A difference that rounds to nothing has no sign.
pub(crate) fn signed(figure: f64) -> String {
    let text = format!("{:.4}", figure.abs());
    match text.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        true => text,
        false if figure < 0.0 => format!("-{text}"),
        false => format!("+{text}"),
    }
}

/// A mean with its spread over seeds, `-` for the spread of one seed.
pub(crate) fn give_or_take(of: Moments) -> String {
    format!("{} +- {}", signed(of.mean), of.std.map_or_else(dash, |std| format!("{std:.4}")))
}

/// The same, with the seeds that it is of where some lack an end.
fn mean_of_ends(of: Moments, seeds: usize) -> String {
    let text = give_or_take(of);
    if of.count == seeds { text } else { format!("{text} ({} of {seeds})", of.count) }
}

/// Gears by part, `synchronous > gba`.
pub(crate) fn gears_text(base: Gear, gears: &[Gear]) -> String {
    std::iter::once(base).chain(gears.iter().copied()).map(Gear::name).collect::<Vec<_>>().join(" > ")
}

/// Local batches in a global one, the most of all branches that update on each local batch; 1 without such.
pub(crate) fn updates_factor(report: &CompareReport) -> u32 {
    let updates_on_each = |gear: &Gear| matches!(gear, Gear::Asynchronous | Gear::BoundedStaleness);
    let such = report.branches.iter().filter(|branch| branch.gears.iter().any(updates_on_each));
    such.map(|branch| branch.global_batch / branch.local_batch.max(1)).max().unwrap_or(1)
}

fn dash() -> String {
    "-".to_owned()
}

fn cut(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['\u{2026}']).collect()
}

/// Lines of at most so many letters, ended by a line feed.
fn wrap(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > columns {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += letters;
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::report::fixture;

    #[test]
    fn fits_120_columns() {
        let text = tables(&fixture::report());
        let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(longest.chars().count() <= 120, "{longest}");
        assert!(text.contains("falls by") && text.contains("within 0.0005 of staying"), "{text}");
    }

    #[test]
    fn signs_and_spreads() {
        assert_eq!(signed(-0.00004), "0.0000");
        assert_eq!((signed(-0.0148), signed(0.00016)), ("-0.0148".to_owned(), "+0.0002".to_owned()));
        let one = Moments { mean: 0.001, std: None, count: 1 };
        assert_eq!(give_or_take(one), "+0.0010 +- -");
        assert_eq!(cut(&"a".repeat(40)).chars().count(), NAME_MAX);
        assert_eq!(wrap("one two three", 7), "one two\nthree\n");
    }
}
