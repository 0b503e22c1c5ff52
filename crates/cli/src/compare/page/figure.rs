//! Pictures in the page: each drawn for wide screens and again for phones, and panels that go side by side.

use maud::{Markup, PreEscaped, html};

use crate::picture::Look;

/// A picture with its caption; `draw` draws it for a look.
pub(super) fn figure(title: &str, note: &Markup, draw: impl Fn(Look) -> String) -> Markup {
    html! {
        figure {
            figcaption { h3 { (title) } p { (note) } }
            div.wide { (PreEscaped(draw(Look::Wide))) }
            div.narrow { (PreEscaped(draw(Look::Narrow))) }
        }
    }
}

/// One of several small pictures.
pub(super) fn panel(title: &Markup, note: &str, picture: String) -> Markup {
    html! {
        figure.panel {
            figcaption { h4 { (title) } @if !note.is_empty() { p { (note) } } }
            (PreEscaped(picture))
        }
    }
}
