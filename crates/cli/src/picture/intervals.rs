//! Intervals: by row a middle with its range, such as a median with 5 to 95 %.

use maud::{Markup, html};

use super::axis::{Axis, Laid};
use super::frame::place;
use super::ink::{Ink, mark};
use super::rows::{Row, rows};
use super::{Caption, Look};

/// A picture of intervals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// What it shows.
    pub(crate) caption: Caption,
    /// The axis of the values.
    pub(crate) value: Axis,
    /// From top to bottom.
    pub(crate) rows: Vec<Interval>,
    /// A line to compare with, such as 0.
    pub(crate) line: Option<f64>,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    /// Its name.
    pub(crate) name: String,
    /// Written above the first row of those that share it; may be empty.
    pub(crate) heading: String,
    /// How it is drawn.
    pub(crate) ink: Ink,
    /// The mark; `None` draws nothing.
    pub(crate) middle: Option<f64>,
    /// The range.
    pub(crate) range: Option<(f64, f64)>,
    /// The figure written beside it.
    pub(crate) text: String,
}

/// Draws intervals.
pub(crate) fn intervals(chart: &Intervals, look: Look) -> String {
    let words: Vec<Row<'_>> = chart
        .rows
        .iter()
        .map(|row| Row { heading: &row.heading, name: &row.name, text: &row.text })
        .collect();
    let values = chart.rows.iter().flat_map(|row| {
        let range = row.range.map(|(low, high)| [low, high]).into_iter().flatten();
        row.middle.into_iter().chain(range)
    });
    rows(&chart.caption, look, &chart.value, &words, values, chart.line, |index, y, laid| {
        draw(&chart.rows[index], y, laid)
    })
}

fn draw(row: &Interval, y: f64, laid: &Laid) -> Markup {
    let Some(middle) = row.middle.and_then(|middle| laid.place(middle)) else {
        return Markup::default();
    };
    let range = row.range.and_then(|(low, high)| Some((laid.place(low)?, laid.place(high)?)));
    html! {
        g {
            title { (row.name) ": " (row.text) }
            @if let Some((low, high)) = range {
                path class={ "stroke " (row.ink.class()) } fill="none" stroke=(row.ink.light()) stroke-width="2"
                    d=(format!("M{low} {top}v8M{low} {y}H{high}M{high} {top}v8", low = place(low), high = place(high),
                        top = place(y - 4.0), y = place(y))) {}
            }
            (mark(row.ink, middle, y, 5.0))
        }
    }
}
