//! Pictures: plain figures in, SVG text out. No script, no font, nothing from elsewhere.
//!
//! [`lines()`] draws curves, [`bars()`] horizontal bars with error whiskers, [`intervals()`] a median with its range by
//! row, [`histogram()`] counts by whole numbers. Each takes a [`Look`]: a file of its own, or a part of a page that
//! brings [`style`] and may be dark. Every gear has one colour and one marker everywhere ([`Ink`]).
//!
//! Nothing here fails: figures that are not finite are left out, and a picture without figures says so.

mod axis;
mod bars;
mod frame;
mod histogram;
mod ink;
mod intervals;
mod legend;
mod lines;
mod rows;
#[cfg(test)]
mod tests;

pub(crate) use axis::{Axis, Format};
pub(crate) use bars::{Bar, Bars, bars};
pub(crate) use histogram::{Counts, Histogram, histogram};
pub(crate) use ink::{Ink, marker, style};
pub(crate) use intervals::{Interval, Intervals, intervals};
pub(crate) use lines::{LinePoint, Lines, Series, lines};

/// What the picture is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A file of its own: white, with the title written above.
    File,
    /// Part of a page, for screens of 800 px and more.
    Wide,
    /// Part of a page, for phones: the same letters on half the width.
    Narrow,
    /// One of several small pictures side by side in a page, about 360 px wide.
    Panel,
}

/// What the picture shows, in words: the title, and a sentence for those who do not see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Caption {
    /// A few words.
    pub(crate) title: String,
    /// What can be seen, with the figures that matter.
    pub(crate) description: String,
}

impl Caption {
    /// Both texts.
    pub(crate) fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Self { title: title.into(), description: description.into() }
    }
}
