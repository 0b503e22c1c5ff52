//! The picture: throughput by gear over a changing setting.

use super::report::SweepReport;
use crate::picture::{Axis, Caption, Format, Ink, LinePoint, Lines, Look, Series, lines};
use crate::tables::count;

/// An SVG file.
pub(super) fn picture(name: &str, sweep: &SweepReport) -> String {
    let mut seen = Vec::new();
    let series = sweep.series.iter().map(|series| {
        let variant = seen.iter().filter(|gear| **gear == series.gear).count();
        seen.push(series.gear);
        let points = sweep.values.iter().zip(&series.accepted_per_second);
        Series {
            name: series.name.clone(),
            ink: Ink::gear(series.gear).variant(variant),
            points: points.map(|(x, y)| LinePoint::new(*x, *y)).collect(),
        }
    });
    // Later curves lie on top: those that are listed first.
    let mut series: Vec<Series> = series.collect();
    series.reverse();
    let chart = Lines {
        caption: Caption::new(format!("{name}: throughput by gear"), describe(sweep)),
        x: Axis::new(sweep.key.clone()).format(Format::Plain),
        y: Axis::new("samples accepted per virtual second").include([0.0]),
        series,
        baseline: None,
    };
    lines(&chart, Look::File)
}

/// First and last figure of each curve, in words.
fn describe(sweep: &SweepReport) -> String {
    let figure =
        |figure: Option<&f64>| figure.map_or_else(|| "-".to_owned(), |figure| count(figure.round() as u64));
    let (Some(first), Some(last)) = (sweep.values.first(), sweep.values.last()) else { return String::new() };
    let curves = sweep.series.iter().map(|series| {
        let figures = &series.accepted_per_second;
        format!("{} goes from {} to {}", series.name, figure(figures.first()), figure(figures.last()))
    });
    let curves: Vec<String> = curves.collect();
    format!(
        "Samples accepted per second as {} goes from {first} to {last}: {}.",
        sweep.key,
        curves.join(", ")
    )
}
