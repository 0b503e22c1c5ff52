//! A comparison as one HTML page: nothing from elsewhere, no script, for phones and wide screens, by day and night.

mod accuracy;
mod figure;
mod head;
mod insight;
mod method;
mod speed;
mod table;
#[cfg(test)]
mod tests;

use maud::{DOCTYPE, PreEscaped, html};

use super::report::{CompareReport, Summary, Verdict};
use crate::picture::{self, Ink};

const STYLE: &str = include_str!("style.css");

/// The page, as text of a file of its own.
pub(crate) fn page(report: &CompareReport) -> String {
    let sheet = Sheet::new(report);
    let title = format!("{}: gears compared", report.name);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "gearshift " (report.gearshift_version) };
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(picture::style())) }
            }
            body {
                a.skip href="#branches" { "Skip to the table" }
                (head::head(&sheet))
                main {
                    (table::table(&sheet))
                    (accuracy::accuracy(&sheet))
                    (speed::speed(&sheet))
                    (speed::staleness(&sheet))
                    @if let Some(insight) = &report.insight { (insight::insight(insight)) }
                    (method::warnings(&sheet))
                    (method::method(&sheet))
                    (method::settings(&sheet))
                }
                footer { p { "Written by gearshift " (report.gearshift_version) ", report format " (report.format_version) "." } }
            }
        }
    };
    markup.into_string()
}

/// A report with what every section needs of it.
struct Sheet<'a> {
    report: &'a CompareReport,
    summaries: Vec<Summary>,
    verdicts: Vec<Verdict>,
    inks: Vec<Ink>,
    groups: Vec<Group>,
}

/// Branches that are compared to the same one.
struct Group {
    /// The one that stays in the base's gear.
    reference: usize,
    /// All of them, in order, the reference too.
    members: Vec<usize>,
}

impl<'a> Sheet<'a> {
    fn new(report: &'a CompareReport) -> Self {
        let summaries = report.summaries();
        let verdict = |(place, summary)| Verdict::new(summary, report.is_reference(place));
        let verdicts = summaries.iter().enumerate().map(verdict).collect();
        let mut groups: Vec<Group> = Vec::new();
        let mut inks = Vec::new();
        for (place, branch) in report.branches.iter().enumerate() {
            let known = groups.iter_mut().position(|group| group.reference == branch.reference);
            let group = known.unwrap_or_else(|| {
                groups.push(Group { reference: branch.reference, members: Vec::new() });
                groups.len() - 1
            });
            let members = &mut groups[group].members;
            // Branches of one gear share its colour and differ in dashes.
            let alike =
                members.iter().filter(|&&other| report.branches[other].gear() == branch.gear()).count();
            members.push(place);
            inks.push(Ink::gear(branch.gear()).variant(alike));
        }
        Self { report, summaries, verdicts, inks, groups }
    }

    fn name(&self, place: usize) -> &str {
        self.report.branches.get(place).map_or("", |branch| &branch.name)
    }

    /// What a group of branches shares, `Base trained in gba`.
    fn heading(&self, group: &Group) -> String {
        let base = group.members.first().and_then(|place| self.report.branches.get(*place));
        base.map_or_else(String::new, |branch| format!("Base trained in {}", branch.base))
    }

    /// The branches that shift, in order.
    fn shifted(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.report.branches.len()).filter(|place| !self.report.is_reference(*place))
    }

    /// The heading of each branch's group, empty when there is one group only.
    fn heading_of(&self, place: usize) -> String {
        let group = self.groups.iter().find(|group| group.members.contains(&place));
        if self.groups.len() < 2 {
            String::new()
        } else {
            group.map_or_else(String::new, |group| self.heading(group))
        }
    }

    /// Branches by group, so that headings come once.
    fn in_groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.groups.iter().flat_map(|group| group.members.iter().copied())
    }
}

/// Signs as printers set them.
fn typeset(text: &str) -> String {
    let text = text.replace("+-", "\u{b1}").replace(" -0", " \u{2212}0");
    text.strip_prefix('-').map(|rest| format!("\u{2212}{rest}")).unwrap_or(text)
}
