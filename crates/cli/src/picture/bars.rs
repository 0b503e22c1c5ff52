//! Horizontal bars from a baseline, to either side, with error whiskers.

use maud::{Markup, html};

use super::axis::{Axis, Laid};
use super::frame::place;
use super::ink::Ink;
use super::rows::{Row, rows};
use super::{Caption, Look};

/// A picture of bars.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bars {
    /// What it shows.
    pub(crate) caption: Caption,
    /// The axis of the values.
    pub(crate) value: Axis,
    /// From top to bottom.
    pub(crate) bars: Vec<Bar>,
    /// Where bars begin.
    pub(crate) baseline: f64,
    /// A line to compare with, such as 1 for a ratio.
    pub(crate) line: Option<f64>,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Its name.
    pub(crate) name: String,
    /// Written above the first bar of those that share it; may be empty.
    pub(crate) heading: String,
    /// How it is drawn.
    pub(crate) ink: Ink,
    /// Its end; `None` draws no bar.
    pub(crate) value: Option<f64>,
    /// The whisker: so much to both sides.
    pub(crate) spread: Option<f64>,
    /// The figure written beside it.
    pub(crate) text: String,
}

/// Draws bars.
pub(crate) fn bars(chart: &Bars, look: Look) -> String {
    let words: Vec<Row<'_>> = chart
        .bars
        .iter()
        .map(|bar| Row { heading: &bar.heading, name: &bar.name, text: &bar.text })
        .collect();
    let ends = chart.bars.iter().flat_map(|bar| {
        let value = bar.value.unwrap_or(chart.baseline);
        let spread = bar.spread.unwrap_or(0.0);
        [value, value - spread, value + spread]
    });
    let line = chart.line.or(Some(chart.baseline));
    rows(&chart.caption, look, &chart.value, &words, ends.chain([chart.baseline]), line, |index, y, laid| {
        draw(&chart.bars[index], chart.baseline, y, laid)
    })
}

fn draw(bar: &Bar, baseline: f64, y: f64, laid: &Laid) -> Markup {
    let Some((value, from, to)) =
        bar.value.and_then(|value| Some((value, laid.place(baseline)?, laid.place(value)?)))
    else {
        return Markup::default();
    };
    let hollow = bar.ink.is_hollow();
    let (class, fill) = if hollow { ("hollow", "#ffffff") } else { ("fill stroke", bar.ink.light()) };
    let whisker = bar
        .spread
        .filter(|spread| *spread > 0.0)
        .and_then(|spread| Some((laid.place(value - spread)?, laid.place(value + spread)?)));
    html! {
        g {
            title { (bar.name) ": " (bar.text) }
            rect class={ (class) " " (bar.ink.class()) } x=(place(from.min(to))) y=(place(y - 7.0))
                width=(place((to - from).abs())) height="14" rx="2" fill=(fill) stroke=(bar.ink.light())
                stroke-width="1.4" {}
            @if let Some((low, high)) = whisker {
                @let path = format!("M{low} {top}v8M{low} {y}H{high}M{high} {top}v8", low = place(low), high = place(high),
                    top = place(y - 4.0), y = place(y));
                path class="halo" d=(path) fill="none" stroke="#ffffff" stroke-width="4" {}
                path class="whisker" d=(path) fill="none" stroke="#1c2129" stroke-width="1.4" {}
            }
        }
    }
}
