//! Why keeping the global batch works: how gradients shrink as more samples are averaged, and how seldom rows recur.

use gearshift_sim::compare::{GradientNorms, Insight, Quantiles, Recurrence};
use maud::{Markup, html};

use super::figure::figure;
use crate::picture::{
    Axis, Caption, Format, Ink, Interval, Intervals, LinePoint, Lines, Series, intervals, lines,
};

/// Whether there is anything to show.
pub(super) fn has_figures(insight: &Insight) -> bool {
    !insight.gradient_norms.is_empty() || !insight.recurrence.is_empty()
}

/// Both measurements, taken with the base's parameters.
pub(super) fn insight(insight: &Insight) -> Markup {
    if !has_figures(insight) {
        return Markup::default();
    }
    html! {
        section #insight {
            h2 { "Why it works" }
            @if !insight.gradient_norms.is_empty() {
                p {
                    "An optimizer is tuned to gradients of one size, and that size depends on how many samples an update averages. These are the norms of the mean gradient over so many samples, with the "
                    "parameters of the base held still: a gear that updates on every local batch sees the top row, one that fills the global batch the last."
                }
                (norms("Dense parameters", &insight.gradient_norms, |norms| norms.dense))
                (norms("Rows", &insight.gradient_norms, |norms| norms.rows))
            }
            @if !insight.recurrence.is_empty() {
                (figure(
                    "Rows that recur",
                    &html! {
                        "Share of a global batch's rows that one of the global batches just before held too. Rows that do not recur "
                        "cannot be stale, however late their gradient is."
                    },
                    |look| lines(&recurrence(insight), look),
                ))
            }
        }
    }
}

fn norms(title: &str, norms: &[GradientNorms], of: impl Fn(&GradientNorms) -> Quantiles) -> Markup {
    let row = |norms: &GradientNorms| {
        let Quantiles { p05, median, p95 } = of(norms);
        Interval {
            name: format!(
                "{} {} ({} samples)",
                norms.batches,
                if norms.batches == 1 { "batch" } else { "batches" },
                norms.samples
            ),
            heading: String::new(),
            ink: Ink::neutral(),
            middle: Some(median),
            range: Some((p05, p95)),
            text: short(median),
        }
    };
    let rows: Vec<Interval> = norms.iter().map(row).collect();
    let words =
        rows.iter().map(|row| format!("{}: median {}", row.name, row.text)).collect::<Vec<_>>().join("; ");
    let chart = Intervals {
        caption: Caption::new(format!("Gradient norms of {}", title.to_lowercase()), words),
        value: Axis::new("norm of the mean gradient (even factors)").log(),
        rows,
        line: None,
    };
    let note = html! { "Median, with 5 to 95 % of the updates, by local batches that are averaged." };
    figure(title, &note, |look| intervals(&chart, look))
}

fn short(figure: f64) -> String {
    match figure.abs() {
        0.001..100.0 => format!("{figure:.4}"),
        _ => format!("{figure:.2e}"),
    }
}

fn recurrence(insight: &Insight) -> Lines {
    let of = |share: fn(&Recurrence) -> f64| -> Vec<LinePoint> {
        let point = |seen| LinePoint::new(f64::from(seen_over(seen)), share(seen));
        insight.recurrence.iter().map(point).collect()
    };
    let words: Vec<String> = insight
        .recurrence
        .iter()
        .map(|seen| {
            let percent = |share: f64| format!("{:.1} %", share * 100.0);
            format!(
                "{} back: {} of distinct rows, {} of occurrences",
                seen.global_batches,
                percent(seen.unique),
                percent(seen.occurrences)
            )
        })
        .collect();
    let series = |name: &str, variant, points| Series {
        name: name.to_owned(),
        ink: Ink::neutral().variant(variant),
        points,
    };
    Lines {
        caption: Caption::new("Share of rows that recur", words.join("; ")),
        x: Axis::new("global batches looked back over (even factors)").log().ticks(
            insight
                .recurrence
                .iter()
                .map(|seen| (f64::from(seen_over(seen)), seen_over(seen).to_string()))
                .collect(),
        ),
        y: Axis::new("share that recurs").format(Format::Percent).include([0.0, 1.0]),
        series: vec![
            series("of occurrences", 0, of(|seen| seen.occurrences)),
            series("of distinct rows", 1, of(|seen| seen.unique)),
        ],
        baseline: None,
    }
}

fn seen_over(seen: &Recurrence) -> u32 {
    seen.global_batches
}
