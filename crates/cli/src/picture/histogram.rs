//! Counts by whole numbers, such as staleness in steps: bars side by side, one colour or filling per series.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::axis::{Axis, Format, Laid};
use super::frame::{Area, Sheet, figures_left, place, room_left, rule, width, words};
use super::ink::Ink;
use super::legend::{Entry, below, height_below, square_sample};
use super::{Caption, Look};

/// A picture of counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    /// What it shows.
    pub(crate) caption: Caption,
    /// What is counted by, with the unit.
    pub(crate) x: String,
    /// What is counted.
    pub(crate) y: String,
    /// One bar of each beside the other.
    pub(crate) series: Vec<Counts>,
}

/// How often each number came.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Its name.
    pub(crate) name: String,
    /// How it is drawn.
    pub(crate) ink: Ink,
    /// Counts by number.
    pub(crate) counts: BTreeMap<i64, u64>,
}

/// Numbers in groups of `step` from `first` on; the last group takes all above.
struct Groups {
    first: i64,
    step: i64,
    count: usize,
    open: bool,
}

/// Draws shares of counts by number. Numbers are put in groups when there are too many for one bar each, and
/// those above all but half a percent share the last bar.
pub(crate) fn histogram(chart: &Histogram, look: Look) -> String {
    let sheet = Sheet::new(look);
    let Some(groups) = groups(&chart.series, if sheet.is_wide() { 32 } else { 13 }) else {
        return sheet.nothing(&chart.caption);
    };
    let shares: Vec<Vec<f64>> = chart.series.iter().map(|series| shares(series, &groups)).collect();
    let plot = if sheet.is_wide() { 260.0 } else { 150.0 };
    let top = sheet.top + 28.0;
    let axis = Axis::default().format(Format::Percent).include([0.0]);
    let y = axis.lay(shares.iter().flatten().copied(), top + plot, top, 4);
    let area = Area { left: room_left(&y), right: sheet.width - 10.0, top, bottom: top + plot };
    let label = area.bottom + 38.0;
    let entries: Vec<Entry<'_>> =
        chart.series.iter().map(|series| Entry { name: &series.name, ink: series.ink, end: 0.0 }).collect();
    let legend = if entries.len() < 2 { 0.0 } else { height_below(&entries, sheet.width - 16.0) + 8.0 };
    let content = html! {
        (words(4.0, sheet.top + 14.0, "start", "quiet", html! { (chart.y) }))
        (figures_left(&y, area))
        @for (place, series) in chart.series.iter().enumerate() {
            (bars(series, &shares[place], (place, chart.series.len()), &groups, area, &y))
        }
        (rule("edge", (area.left, area.bottom), (area.right, area.bottom)))
        (figures(&groups, area))
        (words((area.left + area.right) / 2.0, label, "middle", "quiet", html! { (chart.x) }))
        @if legend > 0.0 { (below(&entries, (8.0, label + 10.0), sheet.width - 16.0, square_sample)) }
    };
    sheet.finish(&chart.caption, label + 10.0 + legend, &content)
}

fn groups(series: &[Counts], bars_max: i64) -> Option<Groups> {
    let first = series.iter().filter_map(|series| series.counts.keys().next()).min().copied()?;
    let most = series.iter().filter_map(nearly_all).max()?;
    let last = series.iter().filter_map(|series| series.counts.keys().next_back()).max().copied()?;
    let span = most.saturating_sub(first).saturating_add(1);
    let mut step = 1i64;
    // 1, 2, 5, 10, 20, 50, ...
    for factor in [2, 5, 10].into_iter().cycle() {
        if span.div_euclid(step) < bars_max {
            break;
        }
        let power = 10i64.saturating_pow(step.ilog10());
        step = power.saturating_mul(factor);
    }
    let first = first.div_euclid(step).saturating_mul(step);
    let count = most.saturating_sub(first).div_euclid(step) as usize + 1;
    let open = last >= first.saturating_add(step.saturating_mul(count as i64));
    Some(Groups { first, step, count, open })
}

/// The smallest number that 99.5 % do not exceed.
fn nearly_all(series: &Counts) -> Option<i64> {
    let wanted = series.counts.values().sum::<u64>() as f64 * 0.995;
    let mut seen = 0;
    series.counts.iter().find_map(|(number, count)| {
        seen += count;
        (seen as f64 >= wanted).then_some(*number)
    })
}

fn shares(series: &Counts, groups: &Groups) -> Vec<f64> {
    let all = series.counts.values().sum::<u64>().max(1) as f64;
    let mut shares = vec![0.0; groups.count];
    for (number, count) in &series.counts {
        let group = number.saturating_sub(groups.first).div_euclid(groups.step).max(0) as usize;
        shares[group.min(groups.count - 1)] += *count as f64 / all;
    }
    shares
}

fn bars(
    series: &Counts,
    shares: &[f64],
    (index, of): (usize, usize),
    groups: &Groups,
    area: Area,
    y: &Laid,
) -> Markup {
    let slot = (area.right - area.left) / groups.count as f64;
    let wide = (slot * 0.8).min(48.0) / of as f64;
    let (class, fill) =
        if series.ink.is_hollow() { ("hollow", "#ffffff") } else { ("fill stroke", series.ink.light()) };
    html! {
        @for (group, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            @if let Some(top) = y.place(*share) {
                @let middle = area.left + slot * (group as f64 + 0.5);
                @let left = middle - wide * of as f64 / 2.0 + wide * index as f64;
                rect class={ (class) " " (series.ink.class()) } x=(place(left)) y=(place(top)) width=(place(wide - 1.0))
                    height=(place((area.bottom - top).max(1.0))) fill=(fill) stroke=(series.ink.light()) stroke-width="1" {
                    title { (series.name) ", " (groups.name(group)) ": " (Format::Percent.exact(*share)) }
                }
            }
        }
    }
}

/// Numbers below the bars, as many as fit.
fn figures(groups: &Groups, area: Area) -> Markup {
    let slot = (area.right - area.left) / groups.count as f64;
    let names: Vec<String> = (0..groups.count).map(|group| groups.tick(group)).collect();
    let widest = names.iter().map(|name| width(name)).fold(0.0, f64::max) + 6.0;
    let every = (widest / slot).ceil().max(1.0) as usize;
    html! {
        @for (group, name) in names.iter().enumerate() {
            @let last = group + 1 == groups.count;
            // The open group is always named; what would touch it is not.
            @if (last && groups.open) || (group.is_multiple_of(every) && !(groups.open && group + every >= groups.count)) {
                (words(area.left + slot * (group as f64 + 0.5), area.bottom + 18.0, "middle", "quiet", html! { (name) }))
            }
        }
    }
}

impl Groups {
    fn from(&self, group: usize) -> i64 {
        self.first.saturating_add(self.step.saturating_mul(group as i64))
    }

    fn tick(&self, group: usize) -> String {
        let open = if self.open && group + 1 == self.count { "\u{2265}" } else { "" };
        format!("{open}{}", self.from(group)).replace('-', "\u{2212}")
    }

    fn name(&self, group: usize) -> String {
        if self.step == 1 || (self.open && group + 1 == self.count) {
            return self.tick(group);
        }
        format!("{} to {}", self.from(group), self.from(group).saturating_add(self.step - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(i64, u64)]) -> Counts {
        Counts { name: "token".to_owned(), ink: Ink::pale(), counts: counts.iter().copied().collect() }
    }

    #[test]
    fn a_long_tail_shares_the_last_bar() {
        let series = counts(&[(-1, 100), (0, 800), (1, 97), (2, 2), (50, 1)]);
        let groups = groups(std::slice::from_ref(&series), 13).unwrap();
        assert_eq!((groups.first, groups.step, groups.count, groups.open), (-1, 1, 3, true));
        assert_eq!(shares(&series, &groups), [0.1, 0.8, 0.1]);
        assert_eq!(groups.tick(2), "\u{2265}1");
    }

    #[test]
    fn many_numbers_go_in_groups() {
        let series = counts(&(0..100).map(|number| (number, 1)).collect::<Vec<_>>());
        let groups = groups(std::slice::from_ref(&series), 13).unwrap();
        assert_eq!((groups.step, groups.count, groups.open), (10, 10, false));
        assert_eq!(groups.name(1), "10 to 19");
        assert!(shares(&series, &groups).iter().all(|share| (share - 0.1).abs() < 1e-9));
    }

    #[test]
    fn far_apart_numbers_end() {
        let series = counts(&[(i64::MIN, 1), (i64::MAX, 1)]);
        assert!(groups(&[series], 13).is_some_and(|groups| groups.count <= 14));
        assert!(groups(&[counts(&[])], 13).is_none());
    }
}
