//! The sheet that a picture is drawn on: size, title, grid, figures along the axes.
//!
//! Every mark carries its colour on white as an attribute, which any viewer of SVG understands, and a class, by which
//! a page's style sheet ([`super::style`]) puts its own colours over it.

use maud::{Markup, html};

use super::axis::Laid;
use super::{Caption, Look};

/// Letters' height in pixels.
pub(super) const LETTER: f64 = 13.0;

/// A sheet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sheet {
    /// What it is for.
    pub(super) look: Look,
    /// Pixels.
    pub(super) width: f64,
    /// Pixels at the top that the title takes.
    pub(super) top: f64,
}

/// A rectangle of the sheet, in pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Sheet {
    /// The sheet of a look.
    pub(super) fn new(look: Look) -> Self {
        let (width, top) = match look {
            Look::File => (880.0, 40.0),
            Look::Wide => (940.0, 0.0),
            Look::Narrow => (380.0, 0.0),
            Look::Panel => (360.0, 0.0),
        };
        Self { look, width, top }
    }

    /// Whether names stand beside what they name; else above or below.
    pub(super) fn is_wide(self) -> bool {
        matches!(self.look, Look::File | Look::Wide)
    }

    /// The SVG, with its title and description for readers of any kind.
    pub(super) fn finish(self, caption: &Caption, height: f64, content: &Markup) -> String {
        let size = format!("0 0 {:.0} {height:.0}", self.width);
        let file = self.look == Look::File;
        let drawn = html! {
            title { (caption.title) }
            desc { (caption.description) }
            @if file {
                rect width="100%" height="100%" fill="#ffffff" {}
                (words(4.0, 22.0, "start", "title", html! { tspan font-weight="600" font-size="16" { (caption.title) } }))
            }
            (content)
        };
        let markup = if file {
            html! {
                svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox=(size) width=(self.width) height=(format!("{height:.0}"))
                    font-family="system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif" font-size=(LETTER) { (drawn) }
            }
        } else {
            html! { svg.picture role="img" viewBox=(size) { (drawn) } }
        };
        markup.into_string()
    }

    /// What stands in place of a picture without figures.
    pub(super) fn nothing(self, caption: &Caption) -> String {
        let text = words(self.width / 2.0, self.top + 40.0, "middle", "quiet", html! { "no figures" });
        self.finish(caption, self.top + 80.0, &text)
    }
}

/// A line of text; `anchor` is start, middle or end.
pub(super) fn words(x: f64, y: f64, anchor: &str, class: &str, text: Markup) -> Markup {
    let fill = if class == "quiet" { "#5b6270" } else { "#1c2129" };
    html! { text class=(class) x=(place(x)) y=(place(y)) text-anchor=(anchor) fill=(fill) { (text) } }
}

/// The same, readable over lines of the grid.
pub(super) fn words_over(x: f64, y: f64, anchor: &str, class: &str, text: &str) -> Markup {
    let fill = if class == "quiet" { "#5b6270" } else { "#1c2129" };
    html! {
        text class={ (class) " halo" } x=(place(x)) y=(place(y)) text-anchor=(anchor) fill=(fill) stroke="#ffffff" stroke-width="4"
            stroke-linejoin="round" paint-order="stroke" { (text) }
    }
}

/// A straight line of the frame: class `grid` or `edge`.
pub(super) fn rule(class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Markup {
    let stroke = if class == "grid" { "#e1e4e9" } else { "#8b919c" };
    html! { line class=(class) x1=(place(x1)) y1=(place(y1)) x2=(place(x2)) y2=(place(y2)) stroke=(stroke) {} }
}

/// Horizontal lines with their figures at the left.
pub(super) fn figures_left(laid: &Laid, area: Area) -> Markup {
    html! {
        @for (value, text) in &laid.ticks {
            @if let Some(y) = laid.place(*value) {
                (rule("grid", (area.left, y), (area.right, y)))
                (words(area.left - 8.0, y + 4.5, "end", "quiet", html! { (text) }))
            }
        }
    }
}

/// Vertical lines (or short ticks) with their figures below; figures that would touch the last one are left out.
pub(super) fn figures_below(laid: &Laid, area: Area, whole: bool) -> Markup {
    let mut free_from = f64::NEG_INFINITY;
    html! {
        @for (value, text) in &laid.ticks {
            @if let Some(x) = laid.place(*value) {
                @if whole { (rule("grid", (x, area.top), (x, area.bottom))) }
                @else { (rule("edge", (x, area.bottom), (x, area.bottom + 4.0))) }
                @let half = width(text) / 2.0;
                @if x - half > free_from {
                    // Inside the sheet, even at its edge.
                    @let middle = x.min(area.right + 12.0 - half).max(half + 1.0);
                    ({ free_from = middle + half + 5.0; words(middle, area.bottom + 18.0, "middle", "quiet", html! { (text) }) })
                }
            }
        }
    }
}

/// Room that figures at the left need.
pub(super) fn room_left(laid: &Laid) -> f64 {
    laid.ticks.iter().map(|(_, text)| width(text)).fold(20.0, f64::max) + 10.0
}

/// About how wide a text is; fonts differ, so a little more than most need.
pub(super) fn width(text: &str) -> f64 {
    text.chars()
        .map(|letter| match letter {
            'i' | 'l' | 'j' | '.' | ',' | ' ' | '\'' | '|' => 4.2,
            'm' | 'w' | 'M' | 'W' | '%' => 11.0,
            'A'..='Z' => 8.8,
            _ => 7.4,
        })
        .sum()
}

/// A text cut to a width, with an ellipsis.
pub(super) fn cut(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        kept.push(letter);
        if width(&kept) + 8.0 > room {
            kept.pop();
            break;
        }
    }
    kept.push('\u{2026}');
    kept
}

/// Pixels with one decimal.
pub(super) fn place(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}
