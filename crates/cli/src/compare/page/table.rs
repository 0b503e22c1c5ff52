//! The table of all branches.

use std::collections::BTreeSet;

use gearshift_cluster::StalenessHistogram;
use gearshift_coordination::Gear;
use maud::{Markup, html};

use super::super::report::{Moments, PointKey, signed};
use super::{Group, Sheet, typeset};
use crate::picture::marker;

/// From this difference of AUC on a figure stands out.
const STANDS_OUT: f64 = 0.002;

/// The table of all branches, a body per base.
pub(super) fn table(sheet: &Sheet<'_>) -> Markup {
    let keys: BTreeSet<PointKey> =
        sheet.summaries.iter().flat_map(|summary| summary.points.iter().map(|point| point.key)).collect();
    let early = keys.iter().filter(|key| !key.is_end()).count();
    let ends = keys.len() - early;
    html! {
        section #branches {
            h2 { "Every branch" }
            p {
                "AUC on the part after, minus that of the run with the same seed that stayed in the base's gear: means over "
                (sheet.report.seeds.len()) " seeds, with the standard deviation of one seed. Rows of branches that stay show their AUC itself. "
                "Lost samples are those that met their fate outside the parameters: dropped as stale, discarded as late, or refused. "
                "Speed is samples taken into the parameters per worker and second of virtual time, and updates are those made, both over staying."
            }
            div.scroll tabindex="0" role="region" aria-label="Every branch" {
                table.branches {
                    thead {
                        tr {
                            th scope="col" rowspan="2" { "Branch" }
                            @if early > 0 { th.group scope="colgroup" colspan=(early) { "First part" } }
                            @if ends > 0 { th.group scope="colgroup" colspan=(ends) { "Ends of parts" } }
                            th scope="col" rowspan="2" { "Mean of ends" }
                            th scope="col" rowspan="2" { "Lost" }
                            th scope="col" rowspan="2" { "Speed" }
                            th scope="col" rowspan="2" { "Updates" }
                            th.group scope="colgroup" colspan="2" { "Staleness, steps" }
                        }
                        tr {
                            @for key in &keys { th scope="col" { @if key.is_end() { (key.part + 1) } @else { (key.name()) } } }
                            th scope="col" { "token" }
                            th scope="col" { "version" }
                        }
                    }
                    @for group in &sheet.groups { (body(sheet, group, &keys)) }
                }
            }
            p.quiet { "Staleness is mean / 95 % / largest: by token, the step at commit minus the token; by version, minus the version that was pulled." }
        }
    }
}

fn body(sheet: &Sheet<'_>, group: &Group, keys: &BTreeSet<PointKey>) -> Markup {
    html! {
        tbody {
            tr.heading { th scope="rowgroup" colspan=(keys.len() + 7) { span { (sheet.heading(group)) } } }
            @for place in &group.members { (row(sheet, *place, keys)) }
        }
    }
}

fn row(sheet: &Sheet<'_>, place: usize, keys: &BTreeSet<PointKey>) -> Markup {
    let (branch, summary) = (&sheet.report.branches[place], &sheet.summaries[place]);
    let stays = sheet.report.is_reference(place);
    html! {
        tr class=[stays.then_some("stays")] {
            th scope="row" {
                span.branch { (marker(sheet.inks[place])) (branch.name) }
                small { (turns(&branch.gears)) ", " (branch.workers) (if branch.workers == 1 { " worker" } else { " workers" }) }
            }
            @for key in keys {
                @let point = summary.point(*key);
                @if stays {
                    td.auc { (point.and_then(|point| point.auc).map_or_else(dash, |of| format!("{:.4}", of.mean))) }
                } @else {
                    (delta(point.and_then(|point| point.delta), false))
                }
            }
            @if stays { td.words { "stays" } } @else { (delta(summary.mean_delta, true)) }
            td { (summary.lost_share().map_or_else(dash, |share| format!("{:.2} %", share * 100.0))) }
            td {
                (summary.speed.map_or_else(dash, |of| format!("{:.2}\u{d7}", of.mean)))
            }
            td { (summary.updates_ratio().map_or_else(dash, |ratio| format!("{ratio:.1}\u{d7}"))) }
            td { (staleness(&summary.token)) }
            td { (staleness(&summary.version)) }
        }
    }
}

/// The gears after the base, in turn.
fn turns(gears: &[Gear]) -> String {
    gears.iter().copied().map(Gear::name).collect::<Vec<_>>().join(", ")
}

fn delta(of: Option<Moments>, with_spread: bool) -> Markup {
    let Some(of) = of else { return html! { td { (dash()) } } };
    let class = if of.mean <= -STANDS_OUT {
        Some("low")
    } else if of.mean >= STANDS_OUT {
        Some("high")
    } else {
        None
    };
    let spread = of.std.map_or_else(dash, |std| format!("{std:.4}"));
    html! {
        td class=[class] title={ "\u{b1} " (spread) " over " (of.count) " seeds" } {
            (typeset(&signed(of.mean)))
            @if with_spread { span.spread { " \u{b1} " (spread) } }
        }
    }
}

fn staleness(histogram: &StalenessHistogram) -> String {
    match (histogram.quantile(0.95), histogram.max()) {
        (Some(most), Some(max)) => format!("{:.1} / {most} / {max}", histogram.mean()),
        _ => dash(),
    }
}

fn dash() -> String {
    "\u{2013}".to_owned()
}
