//! Names of series: beside the ends of their lines, or in rows below the picture.

use maud::{Markup, html};

use super::frame::{cut, place, rule, width, words};
use super::ink::{Ink, mark};

/// Pixels from one name to the next below it.
pub(super) const ROW: f64 = 20.0;

/// A name and how its series is drawn.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    pub(super) ink: Ink,
    /// Where the line ends.
    pub(super) end: f64,
}

/// Room that names beside the lines need.
pub(super) fn room_right(entries: &[Entry<'_>]) -> f64 {
    entries.iter().map(|entry| width(entry.name)).fold(0.0, f64::max).min(240.0) + 30.0
}

/// Names at the right of `x`, each as near to its line's end as the others allow.
pub(super) fn beside(entries: &[Entry<'_>], x: f64, top: f64, bottom: f64) -> Markup {
    let mut order: Vec<&Entry<'_>> = entries.iter().collect();
    order.sort_by(|a, b| a.end.total_cmp(&b.end));
    let spots = apart(&order.iter().map(|entry| entry.end).collect::<Vec<_>>(), 17.0, top, bottom);
    html! {
        @for (entry, y) in order.iter().zip(spots) {
            @if (y - entry.end).abs() > 3.0 { (rule("edge", (x + 3.0, entry.end), (x + 11.0, y))) }
            (mark(entry.ink, x + 18.0, y, 4.0))
            (words(x + 28.0, y + 4.5, "start", "name", html! { (cut(entry.name, 240.0)) }))
        }
    }
}

/// Ascending places at least `gap` apart, near the wanted ones, between `top` and `bottom` while they fit.
fn apart(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    // Groups of touching names settle at their mean, until no two groups touch.
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &place in wanted {
        groups.push((place, 1));
        while let [.., above, below] = groups[..] {
            let reach = gap * (above.1 + below.1) as f64 / 2.0;
            if below.0 - above.0 >= reach {
                break;
            }
            let count = above.1 + below.1;
            let middle = (above.0 * above.1 as f64 + below.0 * below.1 as f64) / count as f64;
            groups.truncate(groups.len() - 2);
            groups.push((middle, count));
        }
    }
    let first = |&(middle, count): &(f64, usize)| middle - gap * (count as f64 - 1.0) / 2.0;
    let mut places: Vec<f64> = groups
        .iter()
        .flat_map(|group| (0..group.1).map(move |row| first(group) + gap * row as f64))
        .collect();
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
    let mut limit = top;
    for place in &mut places {
        *place = place.max(limit);
        limit = *place + gap;
    }
    places
}

/// Rows of names: each with its column and row, and how many rows there are.
fn rows(names: &[&str], room: f64) -> (Vec<(f64, usize)>, usize) {
    let (mut x, mut row) = (0.0, 0);
    let mut places = Vec::new();
    for name in names {
        let wide = width(name) + 40.0;
        if x > 0.0 && x + wide > room {
            (x, row) = (0.0, row + 1);
        }
        places.push((x, row));
        x += wide;
    }
    let count = if names.is_empty() { 0 } else { row + 1 };
    (places, count)
}

/// Height of the rows below.
pub(super) fn height_below(entries: &[Entry<'_>], room: f64) -> f64 {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    rows(&names, room).1 as f64 * ROW
}

/// Names in rows from (`left`, `top`) on; `sample` draws the series' mark around a point.
pub(super) fn below(
    entries: &[Entry<'_>],
    (left, top): (f64, f64),
    room: f64,
    sample: impl Fn(Ink, f64, f64) -> Markup,
) -> Markup {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
    let (places, _) = rows(&names, room);
    html! {
        @for (entry, (x, row)) in entries.iter().zip(places) {
            @let (x, y) = (left + x, top + row as f64 * ROW + 10.0);
            (sample(entry.ink, x + 10.0, y))
            (words(x + 26.0, y + 4.5, "start", "name", html! { (cut(entry.name, room - 26.0)) }))
        }
    }
}

/// A short line with the marker on it.
pub(super) fn line_sample(ink: Ink, x: f64, y: f64) -> Markup {
    html! {
        path class={ "stroke " (ink.class()) } d=(format!("M{} {}h20", place(x - 10.0), place(y))) stroke=(ink.light())
            stroke-width="2" stroke-dasharray=[ink.dashes()] {}
        (mark(ink, x, y, 4.0))
    }
}

/// A small filled or hollow square.
pub(super) fn square_sample(ink: Ink, x: f64, y: f64) -> Markup {
    let (class, fill) = if ink.is_hollow() { ("hollow", "#ffffff") } else { ("fill stroke", ink.light()) };
    html! {
        rect class={ (class) " " (ink.class()) } x=(place(x - 5.0)) y=(place(y - 5.0)) width="10" height="10" fill=(fill)
            stroke=(ink.light()) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_touch_and_stay_inside_while_they_fit() {
        assert_eq!(apart(&[10.0, 50.0], 17.0, 0.0, 100.0), [10.0, 50.0]);
        assert_eq!(apart(&[50.0, 50.0], 20.0, 0.0, 100.0), [40.0, 60.0]);
        assert_eq!(apart(&[95.0, 99.0, 100.0], 20.0, 0.0, 100.0), [60.0, 80.0, 100.0]);
        assert_eq!(apart(&[0.0, 0.0], 20.0, 0.0, 100.0), [0.0, 20.0]);
        let crowd = apart(&[1.0; 9], 20.0, 0.0, 100.0);
        assert!(crowd.windows(2).all(|pair| pair[1] - pair[0] >= 20.0 - 1e-9));
    }

    #[test]
    fn long_names_begin_a_row() {
        let long = "a name that is rather long";
        assert_eq!(rows(&["a", "b"], 300.0).1, 1);
        assert_eq!(rows(&[long, long], 300.0).1, 2);
        assert_eq!(rows(&[], 300.0).1, 0);
    }
}
