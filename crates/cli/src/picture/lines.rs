//! Curves, each with an optional band around it.

use maud::{Markup, html};

use super::axis::{Axis, Laid};
use super::frame::{Area, Sheet, figures_below, figures_left, place, room_left, rule, words};
use super::ink::{Ink, mark};
use super::legend::{Entry, below, beside, height_below, line_sample, room_right};
use super::{Caption, Look};

/// A picture of curves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    /// What it shows.
    pub(crate) caption: Caption,
    /// The horizontal axis.
    pub(crate) x: Axis,
    /// The vertical axis.
    pub(crate) y: Axis,
    /// The curves, later ones on top.
    pub(crate) series: Vec<Series>,
    /// A heavier horizontal line, such as 0 or 1.
    pub(crate) baseline: Option<f64>,
}

/// One curve.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Its name.
    pub(crate) name: String,
    /// How it is drawn.
    pub(crate) ink: Ink,
    /// Its points by x; those that are not finite are left out.
    pub(crate) points: Vec<LinePoint>,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinePoint {
    /// Along.
    pub(crate) x: f64,
    /// Up.
    pub(crate) y: f64,
    /// The band, from low to high.
    pub(crate) band: Option<(f64, f64)>,
}

impl LinePoint {
    /// A point without a band.
    pub(crate) fn new(x: f64, y: f64) -> Self {
        Self { x, y, band: None }
    }

    /// With a band of so much to both sides.
    pub(crate) fn give_or_take(self, spread: Option<f64>) -> Self {
        Self { band: spread.map(|spread| (self.y - spread, self.y + spread)), ..self }
    }
}

/// Draws curves. Names stand at the ends of the lines where there is room, else below.
pub(crate) fn lines(chart: &Lines, look: Look) -> String {
    let sheet = Sheet::new(look);
    let points = || chart.series.iter().flat_map(|series| &series.points);
    if !points().any(|point| point.x.is_finite() && point.y.is_finite()) {
        return sheet.nothing(&chart.caption);
    }
    let plot = if sheet.is_wide() { 330.0 } else { 0.58 * sheet.width };
    let top = sheet.top + if chart.y.label.is_empty() { 10.0 } else { 30.0 };
    let heights = points().flat_map(|point| {
        [point.y, point.band.map_or(point.y, |b| b.0), point.band.map_or(point.y, |b| b.1)]
    });
    let y = chart.y.lay(heights.chain(chart.baseline), top + plot, top, if sheet.is_wide() { 6 } else { 5 });
    let entries = entries(chart, &y);
    let aside = sheet.is_wide() && entries.len() as f64 * 17.0 <= plot;
    let left = room_left(&y);
    let right = sheet.width - if aside { room_right(&entries) } else { 14.0 };
    let x = chart.x.lay(points().map(|point| point.x), left, right, ((right - left) / 80.0) as usize);
    let area = Area { left, right, top, bottom: top + plot };
    let label = area.bottom + if chart.x.label.is_empty() { 24.0 } else { 40.0 };
    let legend =
        if aside || entries.len() < 2 { 0.0 } else { height_below(&entries, sheet.width - 16.0) + 10.0 };
    let content = html! {
        (words(4.0, sheet.top + 14.0, "start", "quiet", html! { (chart.y.label) }))
        (figures_left(&y, area))
        (figures_below(&x, area, false))
        (rule("edge", (left, area.bottom), (right, area.bottom)))
        @if let Some(at) = chart.baseline.and_then(|value| y.place(value)) { (rule("edge", (left, at), (right, at))) }
        (words((left + right) / 2.0, label, "middle", "quiet", html! { (chart.x.label) }))
        @for series in &chart.series { (band(series, &x, &y)) }
        @for series in &chart.series { (curve(series, chart, &x, &y, look)) }
        @if aside { (beside(&entries, right, area.top, area.bottom)) }
        @else if legend > 0.0 { (below(&entries, (8.0, label + 12.0), sheet.width - 16.0, line_sample)) }
    };
    sheet.finish(&chart.caption, label + 10.0 + legend, &content)
}

/// The names of the curves that have a point, with the heights at which they end.
fn entries<'a>(chart: &'a Lines, y: &Laid) -> Vec<Entry<'a>> {
    let entry = |series: &'a Series| {
        let end = series.points.iter().rev().find_map(|point| y.place(point.y))?;
        Some(Entry { name: &series.name, ink: series.ink, end })
    };
    chart.series.iter().filter_map(entry).collect()
}

fn band(series: &Series, x: &Laid, y: &Laid) -> Markup {
    let sides: Vec<(f64, f64, f64)> = series
        .points
        .iter()
        .filter_map(|point| {
            let (low, high) = point.band?;
            Some((x.place(point.x)?, y.place(low)?, y.place(high)?))
        })
        .collect();
    if sides.len() < 2 {
        return Markup::default();
    }
    let upper = sides.iter().map(|(x, _, high)| format!("{} {}", place(*x), place(*high)));
    let lower = sides.iter().rev().map(|(x, low, _)| format!("{} {}", place(*x), place(*low)));
    let path = format!("M{}Z", upper.chain(lower).collect::<Vec<_>>().join("L"));
    html! { path class={ "fill " (series.ink.class()) } d=(path) fill=(series.ink.light()) opacity="0.14" {} }
}

fn curve(series: &Series, chart: &Lines, x: &Laid, y: &Laid, look: Look) -> Markup {
    let ink = series.ink;
    let places: Vec<(f64, f64, &LinePoint)> = series
        .points
        .iter()
        .filter_map(|point| Some((x.place(point.x)?, y.place(point.y)?, point)))
        .collect();
    if places.is_empty() {
        return Markup::default();
    }
    let path: Vec<String> = places.iter().map(|(x, y, _)| format!("{} {}", place(*x), place(*y))).collect();
    let radius = if look == Look::Panel { 3.0 } else { 4.0 };
    html! {
        path class={ "stroke " (ink.class()) } d={ "M" (path.join("L")) } fill="none" stroke=(ink.light())
            stroke-width="2" stroke-linejoin="round" stroke-dasharray=[ink.dashes()] {}
        @for (across, up, point) in &places {
            g { title { (tip(series, chart, point)) } (mark(ink, *across, *up, radius)) }
        }
    }
}

/// What a pointer over a marker says.
fn tip(series: &Series, chart: &Lines, point: &LinePoint) -> String {
    let along = chart.x.ticks.iter().find(|(value, _)| *value == point.x);
    let along = along.map_or_else(|| chart.x.format.exact(point.x), |(_, text)| text.clone());
    let up = |value: f64| chart.y.format.exact(value);
    let band = point.band.map_or_else(String::new, |(low, high)| format!(" ({} to {})", up(low), up(high)));
    format!("{}, {along}: {}{band}", series.name, up(point.y))
}
