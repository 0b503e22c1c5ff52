//! Speed in virtual time and what it costs: staleness.

use maud::{Markup, html};

use super::Sheet;
use super::figure::{figure, panel};
use crate::picture::{Axis, Bar, Bars, Caption, Counts, Format, Histogram, Look, bars, histogram, marker};
use crate::tables::count;

/// Samples taken in per second of virtual time.
pub(super) fn speed(sheet: &Sheet<'_>) -> Markup {
    html! {
        section #speed {
            h2 { "Speed" }
            (figure(
                "Samples taken in per worker and second of virtual time, over staying",
                &html! { "Samples per second of all workers stand beside it. Lost samples do not count. Whiskers are the standard deviation of one seed." },
                |look| bars(&speeds(sheet), look),
            ))
        }
    }
}

fn speeds(sheet: &Sheet<'_>) -> Bars {
    let bar = |place: usize| {
        let summary = &sheet.summaries[place];
        let ratio = summary.speed.map_or_else(|| "\u{2013}".to_owned(), |of| format!("{:.2}\u{d7}", of.mean));
        let rate = summary
            .per_second
            .map_or_else(String::new, |of| format!(", {}/s", count(of.mean.round() as u64)));
        Bar {
            name: sheet.name(place).to_owned(),
            heading: sheet.heading_of(place),
            ink: sheet.inks[place].variant(0),
            value: summary.speed.map(|of| of.mean),
            spread: summary.speed.and_then(|of| of.std),
            text: format!("{ratio}{rate}"),
        }
    };
    let all: Vec<Bar> = sheet.in_groups().map(bar).collect();
    let words = all.iter().map(|bar| format!("{}: {}", bar.name, bar.text)).collect::<Vec<_>>().join("; ");
    Bars {
        caption: Caption::new("Speed per worker in virtual time over that of staying", words),
        value: Axis::new("times the speed of staying, per worker").format(Format::Factor),
        bars: all,
        baseline: 0.0,
        line: Some(1.0),
    }
}

/// Staleness of both kinds, a small picture per branch.
pub(super) fn staleness(sheet: &Sheet<'_>) -> Markup {
    html! {
        section #staleness {
            h2 { "Staleness" }
            p {
                "How many updates were made between a gradient's parameters and its own update. By token: the step at commit minus "
                "the token that the batch was given. By version: minus the version that it pulled. Shares of all gradients; a last "
                "bar marked \u{2265} takes the longest-delayed half percent."
            }
            @let (stale, fresh): (Vec<usize>, Vec<usize>) = sheet.in_groups().partition(|place| is_stale(sheet, *place));
            @if !fresh.is_empty() {
                p { "No gradient was stale in: " (fresh.iter().map(|place| sheet.name(*place)).collect::<Vec<_>>().join("; ")) "." }
            }
            div.panels { @for place in stale { (of_branch(sheet, place)) } }
        }
    }
}

fn is_stale(sheet: &Sheet<'_>, place: usize) -> bool {
    let summary = &sheet.summaries[place];
    [&summary.token, &summary.version].iter().any(|histogram| histogram.0.keys().any(|steps| *steps != 0))
}

fn of_branch(sheet: &Sheet<'_>, place: usize) -> Markup {
    let (summary, ink) = (&sheet.summaries[place], sheet.inks[place].variant(0));
    let words =
        format!("mean by token {:.2}, by version {:.2}", summary.token.mean(), summary.version.mean());
    let chart = Histogram {
        caption: Caption::new(format!("Staleness of {}", sheet.name(place)), words.clone()),
        x: "steps".to_owned(),
        y: "share of gradients".to_owned(),
        series: vec![
            Counts { name: "by token".to_owned(), ink, counts: summary.token.0.clone() },
            Counts { name: "by version".to_owned(), ink: ink.variant(1), counts: summary.version.0.clone() },
        ],
    };
    panel(&html! { (marker(sheet.inks[place])) (sheet.name(place)) }, &words, histogram(&chart, Look::Panel))
}
