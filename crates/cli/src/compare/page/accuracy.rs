//! AUC after the shift: by branch, over the parts, and beside staying.

use maud::{Markup, html};

use super::super::report::{Moments, PointKey, Summary, signed};
use super::figure::{figure, panel};
use super::{Group, Sheet, typeset};
use crate::picture::{
    Axis, Caption, Format, Ink, Interval, Intervals, LinePoint, Lines, Look, Series, intervals, lines, marker,
};

/// Branches whose deltas all stay within this are shown again by themselves when others leave it far behind.
const NEAR: f64 = 0.003;

/// Axes of differences reach at least so far to both sides, so that noise does not look like an effect.
const LEAST: f64 = 0.001;

/// Pictures of AUC.
pub(super) fn accuracy(sheet: &Sheet<'_>) -> Markup {
    html! {
        section #accuracy {
            h2 { "What a shift costs" }
            (figure(
                "Mean over the ends of parts",
                &html! { "AUC minus that of staying; whiskers are the standard deviation of one seed." },
                |look| intervals(&means(sheet), look),
            ))
            @for group in sheet.groups.iter().filter(|group| group.members.len() > 1) { (over_parts(sheet, group)) }
            h3 { "AUC beside staying" }
            p {
                "Each branch over the samples trained, with its spread over seeds; grey is the branch that stays. "
                "Pictures of branches that stay near share one scale, those of the others another."
            }
            div.panels {
                @for group in &sheet.groups {
                    @for place in group.members.iter().filter(|place| **place != group.reference) { (beside(sheet, group, *place)) }
                }
            }
        }
    }
}

fn means(sheet: &Sheet<'_>) -> Intervals {
    let row = |place: usize| {
        let delta = sheet.summaries[place].mean_delta;
        Interval {
            name: sheet.name(place).to_owned(),
            heading: sheet.heading_of(place),
            ink: sheet.inks[place],
            middle: delta.map(|of| of.mean),
            range: delta.and_then(|of| of.std.map(|std| (of.mean - std, of.mean + std))),
            text: delta.map_or_else(|| "\u{2013}".to_owned(), give_or_take),
        }
    };
    let rows: Vec<Interval> =
        sheet.in_groups().filter(|place| !sheet.report.is_reference(*place)).map(row).collect();
    let words = rows.iter().map(|row| format!("{}: {}", row.name, row.text)).collect::<Vec<_>>().join("; ");
    Intervals {
        caption: Caption::new("AUC minus that of staying, mean over the ends of parts", words),
        value: Axis::new("AUC minus that of staying").format(Format::Signed).include([-LEAST, LEAST]),
        rows,
        line: Some(0.0),
    }
}

fn give_or_take(of: Moments) -> String {
    let spread = of.std.map_or_else(|| "\u{2013}".to_owned(), |std| format!("{std:.4}"));
    format!("{} \u{b1} {spread}", typeset(&signed(of.mean)))
}

fn over_parts(sheet: &Sheet<'_>, group: &Group) -> Markup {
    let moved: Vec<usize> = group.members.iter().copied().filter(|place| *place != group.reference).collect();
    let near: Vec<usize> = moved.iter().copied().filter(|place| is_near(sheet, *place)).collect();
    let of = format!("{}: what others lose or gain", sheet.heading(group));
    let is_split = !near.is_empty() && near.len() < moved.len();
    html! {
        (figure(
            &of,
            &html! { "AUC minus that of staying, by how much was trained since the shift. Bands are the standard deviation of one seed." },
            |look| lines(&delta_lines(sheet, &moved, &of), look),
        ))
        @if is_split {
            (figure(
                "The same, those near zero alone",
                &html! { "Branches that stay within " (NEAR) " throughout, magnified." },
                |look| lines(&delta_lines(sheet, &near, "Branches near zero"), look),
            ))
        }
    }
}

/// Whether a branch stays near the one that it is compared to throughout.
fn is_near(sheet: &Sheet<'_>, place: usize) -> bool {
    deltas(&sheet.summaries[place]).all(|(_, of)| of.mean.abs() <= NEAR)
}

fn deltas(summary: &Summary) -> impl Iterator<Item = (PointKey, Moments)> + '_ {
    summary.points.iter().filter_map(|point| Some((point.key, point.delta?)))
}

fn delta_lines(sheet: &Sheet<'_>, places: &[usize], title: &str) -> Lines {
    let series = |&place: &usize| Series {
        name: sheet.name(place).to_owned(),
        ink: sheet.inks[place],
        points: deltas(&sheet.summaries[place])
            .map(|(key, of)| LinePoint::new(key.parts(), of.mean).give_or_take(of.std))
            .collect(),
    };
    let mut keys: Vec<PointKey> =
        places.iter().flat_map(|place| deltas(&sheet.summaries[*place]).map(|(key, _)| key)).collect();
    keys.sort_unstable();
    keys.dedup();
    let words: Vec<String> = places
        .iter()
        .filter_map(|place| {
            let (key, of) = deltas(&sheet.summaries[*place]).last()?;
            Some(format!("{} at {}: {}", sheet.name(*place), key.name(), signed(of.mean)))
        })
        .collect();
    Lines {
        caption: Caption::new(title, words.join("; ")),
        x: Axis::new("parts trained since the shift (even factors)")
            .log()
            .ticks(keys.iter().map(|key| (key.parts(), tick(*key))).collect()),
        y: Axis::new("AUC minus that of staying").format(Format::Signed).include([-LEAST, 0.0, LEAST]),
        series: places.iter().map(series).collect(),
        baseline: Some(0.0),
    }
}

fn tick(key: PointKey) -> String {
    match (key.is_end(), key.part) {
        (true, 0) => "1 part".to_owned(),
        (true, part) => (part + 1).to_string(),
        _ => key.name(),
    }
}

/// One branch and the one that stays.
fn beside(sheet: &Sheet<'_>, group: &Group, place: usize) -> Markup {
    let Some(staying) = sheet.summaries.get(group.reference) else { return Markup::default() };
    let curve = |summary: &Summary| -> Vec<LinePoint> {
        let points = summary.points.iter().filter_map(|point| Some((point.samples, point.auc?)));
        points.map(|(samples, of)| LinePoint::new(samples, of.mean).give_or_take(of.std)).collect()
    };
    let near = is_near(sheet, place);
    let alike = |member: &&usize| **member == group.reference || is_near(sheet, **member) == near;
    let all = group.members.iter().filter(alike).flat_map(|member| curve(&sheet.summaries[*member]));
    let levels = all.flat_map(|point| {
        [point.y, point.band.map_or(point.y, |band| band.0), point.band.map_or(point.y, |band| band.1)]
    });
    let summary = &sheet.summaries[place];
    let words = sheet.verdicts[place].words(summary);
    let chart = Lines {
        caption: Caption::new(format!("AUC of {} over samples", sheet.name(place)), words.clone()),
        x: Axis::new("samples"),
        y: Axis::new("AUC").include(levels),
        series: vec![
            Series { name: "stays".to_owned(), ink: Ink::pale(), points: curve(staying) },
            Series { name: "shifts".to_owned(), ink: sheet.inks[place], points: curve(summary) },
        ],
        baseline: None,
    };
    let title = html! { (marker(sheet.inks[place])) (sheet.name(place)) };
    let note = match sheet.heading_of(place) {
        heading if heading.is_empty() => typeset(&words),
        heading => format!("{heading}: {}", typeset(&words)),
    };
    panel(&title, &note, lines(&chart, Look::Panel))
}
