//! Rows under each other, each with a name, a mark along a shared axis and a figure: the sheet of bars and intervals.

use maud::{Markup, html};

use super::axis::{Axis, Laid};
use super::frame::{Area, Sheet, cut, figures_below, rule, width, words, words_over};
use super::{Caption, Look};

/// The words of a row.
pub(super) struct Row<'a> {
    /// Written above the row when it differs from that of the row before.
    pub(super) heading: &'a str,
    pub(super) name: &'a str,
    /// The figure at the right.
    pub(super) text: &'a str,
}

/// Where the parts of a picture of rows lie.
struct Plan {
    left: f64,
    right: f64,
    /// Height of a row: its name beside or above the mark.
    row: f64,
    /// From the top of a row to its mark.
    mark: f64,
}

const HEADING: f64 = 30.0;

/// Draws rows; `mark` draws that of row `index` around the height `y`.
pub(super) fn rows(
    caption: &Caption,
    look: Look,
    axis: &Axis,
    rows: &[Row<'_>],
    values: impl Iterator<Item = f64>,
    line: Option<f64>,
    mark: impl Fn(usize, f64, &Laid) -> Markup,
) -> String {
    let sheet = Sheet::new(look);
    if rows.is_empty() {
        return sheet.nothing(caption);
    }
    let plan = plan(sheet, rows);
    let laid =
        axis.lay(values.chain(line), plan.left, plan.right, ((plan.right - plan.left) / 85.0) as usize);
    let mut tops = Vec::new();
    let mut y = sheet.top + 6.0;
    let mut headings = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if !row.heading.is_empty() && (index == 0 || rows[index - 1].heading != row.heading) {
            headings.push((y + 19.0, row.heading));
            y += HEADING;
        }
        tops.push(y);
        y += plan.row;
    }
    let area = Area { left: plan.left, right: plan.right, top: sheet.top + 6.0, bottom: y + 4.0 };
    let content = html! {
        (figures_below(&laid, area, true))
        @if let Some(x) = line.and_then(|value| laid.place(value)) { (rule("edge", (x, area.top), (x, area.bottom))) }
        (words((area.left + area.right) / 2.0, area.bottom + 38.0, "middle", "quiet", html! { (axis.label) }))
        @for (y, heading) in &headings {
            (words(4.0, *y, "start", "quiet", html! { tspan font-weight="600" { (heading) } }))
        }
        @for (index, (row, top)) in rows.iter().zip(&tops).enumerate() {
            (name(sheet, &plan, row, *top))
            (mark(index, top + plan.mark, &laid))
        }
    };
    sheet.finish(caption, area.bottom + 48.0, &content)
}

fn plan(sheet: Sheet, rows: &[Row<'_>]) -> Plan {
    let widest = |text: fn(&Row<'_>) -> f64| rows.iter().map(text).fold(0.0, f64::max);
    if sheet.is_wide() {
        let names = widest(|row| width(row.name)).clamp(80.0, 250.0);
        let texts = widest(|row| width(row.text)).min(200.0);
        Plan { left: names + 24.0, right: sheet.width - texts - 24.0, row: 26.0, mark: 13.0 }
    } else {
        Plan { left: 14.0, right: sheet.width - 14.0, row: 44.0, mark: 31.0 }
    }
}

fn name(sheet: Sheet, plan: &Plan, row: &Row<'_>, top: f64) -> Markup {
    if sheet.is_wide() {
        let name = cut(row.name, 250.0);
        html! {
            (words_over(plan.left - 14.0, top + plan.mark + 4.5, "end", "name", &name))
            (words_over(sheet.width - 8.0, top + plan.mark + 4.5, "end", "quiet", row.text))
        }
    } else {
        let name = cut(row.name, sheet.width - 20.0 - width(row.text));
        html! {
            (words_over(4.0, top + 16.0, "start", "name", &name))
            (words_over(sheet.width - 4.0, top + 16.0, "end", "quiet", row.text))
        }
    }
}
