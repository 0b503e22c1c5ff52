//! Colours, dashes and markers: one colour per gear everywhere.
//!
//! The six colours are told apart with any of the three colour blindnesses: the smallest difference between two of
//! them (CIE76, simulated after Machado, Oliveira and Fernandes 2009) is 23 on white and 20 on the dark page. Each
//! gear has a marker of its own too, and branches that share a gear differ in dashes.

use gearshift_coordination::Gear;
use maud::{Markup, html};

/// How a line or bar is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ink {
    tone: Tone,
    variant: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Gear(Gear),
    Neutral,
    Pale,
}

impl Ink {
    /// The colour and marker of a gear.
    pub(crate) fn gear(gear: Gear) -> Self {
        Self { tone: Tone::Gear(gear), variant: 0 }
    }

    /// What is no gear.
    pub(crate) fn neutral() -> Self {
        Self { tone: Tone::Neutral, variant: 0 }
    }

    /// Grey without a marker: what others are compared to.
    pub(crate) fn pale() -> Self {
        Self { tone: Tone::Pale, variant: 0 }
    }

    /// The same colour, told apart by dashes and by a hollow marker: 0 is solid.
    pub(crate) fn variant(self, variant: usize) -> Self {
        Self { variant, ..self }
    }

    /// The class that carries the colour.
    pub(super) fn class(self) -> &'static str {
        match self.tone {
            Tone::Gear(gear) => &tone(gear).class[1..],
            Tone::Neutral => &NEUTRAL.class[1..],
            Tone::Pale => &PALE.class[1..],
        }
    }

    /// The colour on white.
    pub(super) fn light(self) -> &'static str {
        match self.tone {
            Tone::Gear(gear) => tone(gear).light,
            Tone::Neutral => NEUTRAL.light,
            Tone::Pale => PALE.light,
        }
    }

    /// `stroke-dasharray`.
    pub(super) fn dashes(self) -> Option<&'static str> {
        ["", "7 3", "2 3", "9 3 2 3", "4 2"]
            .get(self.variant % 5)
            .copied()
            .filter(|dashes| !dashes.is_empty())
    }

    /// Whether its markers and bars are hollow.
    pub(super) fn is_hollow(self) -> bool {
        self.variant % 2 == 1
    }
}

/// A colour: its class, on white, on the dark page.
struct Colour {
    class: &'static str,
    light: &'static str,
    dark: &'static str,
}

const NEUTRAL: Colour = Colour { class: ".c-neutral", light: "#4b5a75", dark: "#a9b9d6" };
const PALE: Colour = Colour { class: ".c-pale", light: "#8b919c", dark: "#8b93a1" };

fn tone(gear: Gear) -> Colour {
    let (class, light, dark) = match gear {
        Gear::Synchronous => (".c-synchronous", "#2b303b", "#ffffff"),
        Gear::Gba => (".c-gba", "#1f5fd0", "#3d94f6"),
        Gear::Asynchronous => (".c-asynchronous", "#c03a00", "#ff8552"),
        Gear::BoundedStaleness => (".c-bounded_staleness", "#009e73", "#35c99b"),
        Gear::BackupWorkers => (".c-backup_workers", "#b5438f", "#ec8fd0"),
        Gear::KBatch => (".c-k_batch", "#c79a00", "#ffe066"),
    };
    Colour { class, light, dark }
}

/// The style sheet of pictures in a page. Uses the page's variables `--text`, `--quiet`, `--rule`, `--paper`.
pub(crate) fn style() -> String {
    let colours = |dark: bool| -> String {
        let all = Gear::ALL.map(tone).into_iter().chain([NEUTRAL, PALE]);
        all.map(|colour| {
            format!("{}{{--ink:{}}}", colour.class, if dark { colour.dark } else { colour.light })
        })
        .collect()
    };
    format!("{}\n@media (prefers-color-scheme: dark){{{}}}\n{SHAPES}", colours(false), colours(true))
}

const SHAPES: &str = "\
.picture{display:block;width:100%;height:auto}
.picture text{fill:var(--text);font:13px/1 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;\
font-variant-numeric:tabular-nums}
.picture .quiet{fill:var(--quiet)}
.picture .grid{stroke:var(--rule)}
.picture .edge{stroke:var(--quiet)}
.picture .halo{stroke:var(--paper)}
.picture .whisker{stroke:var(--text)}
.picture .stroke{stroke:var(--ink)}
.picture .fill{fill:var(--ink)}
.picture .hollow{fill:var(--paper);stroke:var(--ink)}
";

/// A gear's marker around a point.
pub(super) fn mark(ink: Ink, x: f64, y: f64, radius: f64) -> Markup {
    let corners = |corners: &[(f64, f64)]| -> String {
        let corner = |&(dx, dy): &(f64, f64)| format!("{:.1} {:.1}", x + dx * radius, y + dy * radius);
        format!("M{}Z", corners.iter().map(corner).collect::<Vec<_>>().join("L"))
    };
    let gear = match ink.tone {
        Tone::Gear(gear) => gear,
        // Round, as there are no gears beside it.
        Tone::Neutral => Gear::Gba,
        Tone::Pale => return Markup::default(),
    };
    let path = match gear {
        Gear::Synchronous => corners(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        Gear::Gba => format!(
            "M{:.1} {y:.1}a{radius:.1} {radius:.1} 0 1 0 {:.1} 0a{radius:.1} {radius:.1} 0 1 0 {:.1} 0Z",
            x - radius,
            2.0 * radius,
            -2.0 * radius
        ),
        Gear::Asynchronous => corners(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        Gear::BoundedStaleness => corners(&[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]),
        Gear::BackupWorkers => corners(&[(-1.1, -0.9), (1.1, -0.9), (0.0, 1.2)]),
        Gear::KBatch => {
            let (long, short) = (1.2, 0.4);
            corners(&[
                (-short, -long),
                (short, -long),
                (short, -short),
                (long, -short),
                (long, short),
                (short, short),
                (short, long),
                (-short, long),
                (-short, short),
                (-long, short),
                (-long, -short),
                (-short, -short),
            ])
        }
    };
    let (class, fill) = if ink.is_hollow() { ("hollow", "#ffffff") } else { ("fill stroke", ink.light()) };
    html! { path class={ (class) " " (ink.class()) } d=(path) fill=(fill) stroke=(ink.light()) stroke-width="1.4" {} }
}

/// A marker alone, to stand before a name in a table of the page.
pub(crate) fn marker(ink: Ink) -> Markup {
    html! {
        svg class="marker" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" { (mark(ink, 7.0, 7.0, 4.5)) }
    }
}
