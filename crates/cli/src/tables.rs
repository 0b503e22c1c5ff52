//! Figures as text.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};
use gearshift_cluster::StalenessHistogram;
use gearshift_runtime::RunReport;
use gearshift_runtime::report::PartReport;

/// A whole number with thin groups of three.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with so many decimals, `-` when absent.
pub(crate) fn number(number: Option<f64>, decimals: usize) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.decimals$}"))
}

/// A duration as `1h 02m`, `2m 03s` or `4s`.
pub(crate) fn seconds(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    match whole {
        3600.. => format!("{}h {:02}m", whole / 3600, whole % 3600 / 60),
        60.. => format!("{}m {:02}s", whole / 60, whole % 60),
        _ => format!("{whole}s"),
    }
}

/// Bytes as kB, MB, GB.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.2} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{:.1} MB", bytes as f64 / 1e6),
        1_000.. => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{bytes} B"),
    }
}

/// A line under the header and nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table whose columns but the first are right-aligned.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.iter().map(Cell::new));
    for row in rows {
        table.add_row(row.iter().map(Cell::new));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// The header that goes with [`part_line`].
pub(crate) fn part_header() -> String {
    format!(
        "{:<24} {:<26} {:>8} {:>10} {:>9} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7}",
        "part", "gear", "step", "samples", "samples/s", "loss", "online", "AUC", "log loss", "NE", "calib."
    )
}

/// One line for a part that has just ended.
pub(crate) fn part_line(part: &PartReport) -> String {
    let evaluation = part.evaluation.as_ref();
    format!(
        "{:<24} {:<26} {:>8} {:>10} {:>9} {:>8} {:>7} {:>7} {:>8} {:>7} {:>7}",
        part.name,
        gears(part),
        part.step,
        count(part.samples),
        count(part.samples_per_second() as u64),
        number(part.online.map(|online| online.log_loss), 4),
        number(part.online.and_then(|online| online.auc), 4),
        number(evaluation.and_then(|evaluation| evaluation.auc), 4),
        number(evaluation.map(|evaluation| evaluation.log_loss), 4),
        number(evaluation.and_then(|evaluation| evaluation.normalized_entropy), 4),
        number(evaluation.and_then(|evaluation| evaluation.calibration), 4),
    )
}

fn gears(part: &PartReport) -> String {
    part.gears.iter().map(ToString::to_string).collect::<Vec<_>>().join(" > ")
}

/// The whole report.
pub(crate) fn report(report: &RunReport) -> String {
    let mut text = format!(
        "\n{}: {}; {} steps, {} samples in {}, {} workers, {} servers\n",
        report.name,
        outcome(report),
        count(report.step - report.first_step),
        count(report.parts.iter().map(|part| part.samples).sum()),
        seconds(report.seconds),
        report.workers,
        report.servers,
    );
    for (title, table) in sections(report) {
        text.push_str(&format!("\n{title}\n{table}\n"));
    }
    for (title, lines) in [("Bad lines", &report.first_bad_lines), ("Incidents", &report.incidents)] {
        if !lines.is_empty() {
            let of = if title == "Bad lines" { report.bad_lines } else { lines.len() as u64 };
            text.push_str(&format!("\n{title} ({of}):\n"));
            for line in lines {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

fn outcome(report: &RunReport) -> String {
    match &report.outcome {
        gearshift_cluster::Outcome::Completed => "completed".to_owned(),
        gearshift_cluster::Outcome::Stopped => "stopped".to_owned(),
        gearshift_cluster::Outcome::Failed(reason) => format!("failed: {reason}"),
    }
}

fn sections(report: &RunReport) -> Vec<(&'static str, Table)> {
    let mut sections = vec![
        ("Parts: progressive loss and AUC while training, then the next part", parts(report)),
        ("Sample ledger", ledger(report)),
        ("Staleness of gradients, steps", staleness(report)),
        ("Workers", workers(report)),
        ("Servers, seconds", servers(report)),
    ];
    if !report.shifts.is_empty() {
        sections.push(("Shifts", shifts(report)));
    }
    sections.push(("Tables", rows(report)));
    sections
}

fn parts(report: &RunReport) -> Table {
    let rows: Vec<Vec<String>> = report
        .parts
        .iter()
        .map(|part| {
            let evaluation = part.evaluation.as_ref();
            vec![
                part.name.clone(),
                gears(part),
                count(part.step),
                count(part.samples),
                count(part.samples_per_second() as u64),
                number(part.online.map(|online| online.log_loss), 4),
                number(part.online.and_then(|online| online.auc), 4),
                part.evaluated_on.clone().unwrap_or_else(|| "-".to_owned()),
                number(evaluation.and_then(|evaluation| evaluation.auc), 4),
                number(evaluation.map(|evaluation| evaluation.log_loss), 4),
                number(evaluation.and_then(|evaluation| evaluation.normalized_entropy), 4),
                number(evaluation.and_then(|evaluation| evaluation.calibration), 4),
            ]
        })
        .collect();
    let header = [
        "part",
        "gear",
        "step",
        "samples",
        "samples/s",
        "loss",
        "AUC",
        "evaluated on",
        "AUC",
        "log loss",
        "NE",
        "calibration",
    ];
    table(&header, &rows)
}

fn ledger(report: &RunReport) -> Table {
    let samples = &report.samples;
    let sum = if report.ledger_adds_up { "adds up" } else { "DOES NOT ADD UP" };
    let row = [
        samples.read,
        samples.applied,
        samples.dropped,
        samples.discarded,
        samples.failed,
        report.samples_left,
        samples.granted_again,
    ];
    let mut row: Vec<String> = row.into_iter().map(count).collect();
    row.push(sum.to_owned());
    let header = ["read", "applied", "dropped", "discarded", "failed", "left", "granted again", ""];
    table(&header, &[row])
}

fn staleness(report: &RunReport) -> Table {
    let row = |name: &str, histogram: &StalenessHistogram| {
        let steps = |steps: Option<i64>| steps.map_or_else(|| "-".to_owned(), |steps| steps.to_string());
        let counts: Vec<String> =
            histogram.0.iter().take(12).map(|(steps, gradients)| format!("{steps}:{gradients}")).collect();
        let more = if histogram.0.len() > 12 { " ..." } else { "" };
        vec![
            name.to_owned(),
            format!("{:.2}", histogram.mean()),
            steps(histogram.quantile(0.5)),
            steps(histogram.quantile(0.95)),
            steps(histogram.max()),
            format!("{}{more}", counts.join(" ")),
        ]
    };
    let figures = &report.figures;
    let rows =
        [row("token", &figures.token_staleness_steps), row("version", &figures.version_staleness_steps)];
    table(&["staleness by", "mean", "median", "95 %", "max", "staleness:gradients"], &rows)
}

fn workers(report: &RunReport) -> Table {
    let nothing = Default::default();
    let rows: Vec<Vec<String>> = report
        .worker_phases
        .iter()
        .map(|(worker, phases)| {
            let figures = report.figures.workers.get(&gearshift_types::WorkerId(*worker)).unwrap_or(&nothing);
            let mut row = vec![worker.to_string()];
            row.extend(
                [
                    figures.batches,
                    figures.applied,
                    figures.dropped,
                    figures.discarded,
                    figures.lost,
                    figures.deaths,
                ]
                .map(count),
            );
            let seconds = [
                phases.compute,
                phases.load,
                phases.pull,
                phases.token,
                phases.acknowledge,
                phases.straggle,
                phases.other,
            ];
            row.extend(seconds.map(|seconds| format!("{seconds:.2}")));
            row
        })
        .collect();
    let header = [
        "worker",
        "batches",
        "applied",
        "dropped",
        "discarded",
        "lost",
        "deaths",
        "compute s",
        "load s",
        "pull s",
        "token s",
        "ack s",
        "slowed s",
        "other s",
    ];
    table(&header, &rows)
}

fn servers(report: &RunReport) -> Table {
    let rows: Vec<Vec<String>> = report
        .server_phases
        .iter()
        .map(|(server, phases)| {
            let mut row = vec![server.to_string()];
            let seconds = [phases.pull, phases.hold, phases.apply, phases.checkpoint, phases.idle];
            row.extend(seconds.map(|seconds| format!("{seconds:.2}")));
            row
        })
        .collect();
    table(&["server", "pull", "hold", "apply", "checkpoint", "idle"], &rows)
}

fn shifts(report: &RunReport) -> Table {
    let rows: Vec<Vec<String>> = report
        .shifts
        .iter()
        .map(|shift| {
            vec![
                format!("{} -> {}", shift.from, shift.to),
                count(shift.step),
                count(shift.samples),
                format!("{:.1}", shift.drain_seconds * 1e3),
                format!("{:.1}", shift.first_grant_seconds * 1e3),
            ]
        })
        .collect();
    table(&["shift", "at step", "at sample", "drained after ms", "first grant after ms"], &rows)
}

fn rows(report: &RunReport) -> Table {
    let mut all = gearshift_runtime::report::TableReport { name: "all".to_owned(), ..Default::default() };
    for table in &report.tables {
        all.rows += table.rows;
        all.vector_bytes += table.vector_bytes;
        all.slot_bytes += table.slot_bytes;
        all.overhead_bytes += table.overhead_bytes;
    }
    let shown = report.tables.iter().take(if report.tables.len() > 12 { 0 } else { 12 });
    let rows: Vec<Vec<String>> = shown
        .chain([&all])
        .map(|table| {
            let per_row = |bytes: u64| format!("{:.1}", bytes as f64 / table.rows.max(1) as f64);
            vec![
                table.name.clone(),
                count(table.rows),
                bytes(table.vector_bytes + table.slot_bytes + table.overhead_bytes),
                per_row(table.vector_bytes),
                per_row(table.slot_bytes),
                per_row(table.overhead_bytes),
                if table.digest.is_empty() { "-".to_owned() } else { table.digest.clone() },
            ]
        })
        .collect();
    let header = ["table", "rows", "memory", "vector B/row", "slots B/row", "overhead B/row", "digest"];
    table(&header, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(seconds(59.6), "1m 00s");
        assert_eq!(seconds(3725.0), "1h 02m");
        assert_eq!(bytes(1_500_000), "1.5 MB");
        assert_eq!(number(None, 3), "-");
    }
}
