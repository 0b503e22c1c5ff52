//! The top of the page: what was compared, what came out, how the learning rates were found.

use maud::{Markup, html};

use super::super::report::{Rate, Verdict, updates_factor};
use super::{Sheet, typeset};
use crate::picture::marker;
use crate::tables::count;

/// The top.
pub(super) fn head(sheet: &Sheet<'_>) -> Markup {
    let report = sheet.report;
    html! {
        header {
            p.kicker { "Gears compared" }
            h1 { (report.name) }
            p.lead { (lead(sheet)) }
            (outcomes(sheet))
            (rate(sheet))
            (facts(sheet))
            (contents(sheet))
        }
    }
}

fn facts(sheet: &Sheet<'_>) -> Markup {
    let report = sheet.report;
    let trained = sheet.summaries.iter().map(|summary| summary.samples.resolved()).sum();
    html! {
        dl.facts {
            (fact("Data", &parts(report.parts_of_data)))
            (fact("Base", &parts(report.base_parts)))
            (fact("After the base", &parts(report.parts)))
            (fact("Seeds", &report.seeds.len().to_string()))
            (fact("Branches", &report.branches.len().to_string()))
            (fact("Samples trained after the base", &count(trained)))
        }
    }
}

fn parts(count: u32) -> String {
    if count == 1 { "1 part".to_owned() } else { format!("{count} parts") }
}

/// Links to the sections that there are.
fn contents(sheet: &Sheet<'_>) -> Markup {
    let warned = sheet.report.branches.iter().any(|branch| !branch.advice.is_empty());
    let insight = sheet.report.insight.as_ref().is_some_and(super::insight::has_figures);
    let all = [
        ("#branches", "Every branch", true),
        ("#accuracy", "What a shift costs", true),
        ("#speed", "Speed", true),
        ("#staleness", "Staleness", true),
        ("#insight", "Why it works", insight),
        ("#warnings", "Warnings", warned),
        ("#method", "How it was measured", true),
        ("#settings", "Do it again", true),
    ];
    html! {
        nav aria-label="Contents" { ul { @for (link, name, _) in all.iter().filter(|(_, _, shown)| *shown) { li { a href=(link) { (name) } } } } }
    }
}

fn fact(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// The result in one sentence.
fn lead(sheet: &Sheet<'_>) -> Markup {
    let all = sheet.shifted().count();
    let within = sheet.shifted().filter(|place| matches!(sheet.verdicts[*place], Verdict::Within(_))).count();
    html! {
        @match (all, within) {
            (0, _) => { "No branch shifts gears, so there is nothing to compare." }
            (_, 0) => { "None of " (all) " ways to shift gears stays within 0.001 AUC of not shifting." }
            _ => {
                strong { (within) " of " (all) }
                " ways to shift gears "
                @if within == 1 { "stays" } @else { "stay" }
                " within 0.001 AUC of not shifting."
            }
        }
    }
}

/// Branches by what came of them.
fn outcomes(sheet: &Sheet<'_>) -> Markup {
    html! {
        dl.outcomes {
            @for name in Verdict::KINDS {
                @let members: Vec<usize> = sheet.shifted().filter(|place| sheet.verdicts[*place].kind() == Some(name)).collect();
                @if !members.is_empty() {
                    dt { (name) }
                    dd {
                        ul {
                            @for place in members {
                                li {
                                    (marker(sheet.inks[place]))
                                    span.name { (sheet.name(place)) }
                                    @let words = sheet.verdicts[place].words(&sheet.summaries[place]);
                                    @if let Some(detail) = detail(&words) { span.detail { (typeset(detail)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a verdict says beyond its kind.
fn detail(words: &str) -> Option<&str> {
    if words.starts_with("within") {
        return words.split_once("; ").map(|(_, rest)| rest);
    }
    ["falls by ", "gains ", "no clear difference: ", "unknown: "]
        .iter()
        .find_map(|kind| words.strip_prefix(kind))
}

/// How the learning rates were found, where nobody misses it.
fn rate(sheet: &Sheet<'_>) -> Markup {
    let rate = &sheet.report.rate;
    let class = if rate.is_doubtful() { "note doubtful" } else { "note" };
    html! {
        section class=(class) aria-label="How the learning rates were found" {
            p { (rate.sentence(updates_factor(sheet.report))) }
            @if let Rate::Searched { grid, chosen, .. } = rate {
                details {
                    summary { "What was tried" }
                    div.scroll tabindex="0" role="region" aria-label="Learning rates that were tried" {
                        table {
                            thead { tr { th scope="col" { "Factor" } th scope="col" { "Rows" } th scope="col" { "Dense" } th scope="col" { "AUC" } th {} } }
                            tbody {
                                @for (place, point) in grid.iter().enumerate() {
                                    tr class=[(place == *chosen).then_some("chosen")] {
                                        th scope="row" { (point.factor) "\u{d7}" }
                                        td { (super::super::report::short(point.sparse)) }
                                        td { (super::super::report::short(point.dense)) }
                                        td {
                                            @match point.auc_mean { Some(mean) => { (format!("{mean:.4}")) } None => { "\u{2013}" } }
                                            @if let Some(std) = point.auc_std { " \u{b1} " (format!("{std:.4}")) }
                                        }
                                        td.words { @if place == *chosen { "taken" } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
