//! Axes: ranges, ticks and how figures are written beside them.

/// One axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Axis {
    /// What it measures, with the unit.
    pub(crate) label: String,
    /// Even steps or even factors.
    pub(crate) scale: Scale,
    /// How figures are written.
    pub(crate) format: Format,
    /// Places with words of their own instead of round figures; empty: round figures.
    pub(crate) ticks: Vec<(f64, String)>,
    /// Values that must be on the axis whatever the data, such as 0.
    pub(crate) include: Vec<f64>,
}

/// Distances on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Even steps.
    #[default]
    Linear,
    /// Even factors; figures of 0 and below are left out.
    Log,
}

/// How figures of an axis are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// As they are; thousands as k, M, G.
    #[default]
    Plain,
    /// With a sign.
    Signed,
    /// As a share of a hundred.
    Percent,
    /// As a factor: `2x`.
    Factor,
}

impl Axis {
    /// An axis with a label, even steps and plain figures.
    pub(crate) fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// With even factors.
    pub(crate) fn log(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// With another way to write figures.
    pub(crate) fn format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// With words at these places instead of round figures.
    pub(crate) fn ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { ticks, ..self }
    }

    /// With these values on it whatever the data.
    pub(crate) fn include(mut self, values: impl IntoIterator<Item = f64>) -> Self {
        self.include.extend(values);
        self
    }

    /// Lays the axis between two places in pixels, wide enough for all `values`, with about `wanted` ticks.
    pub(super) fn lay(&self, values: impl Iterator<Item = f64>, from: f64, to: f64, wanted: usize) -> Laid {
        let all = values.chain(self.include.iter().copied()).filter(|value| self.shows(*value));
        let (low, high) = all
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = self.room(low, high);
        let mut laid = Laid { scale: self.scale, low, high, from, to, ticks: Vec::new() };
        laid.ticks = self.places(&laid, wanted);
        laid
    }

    /// The ends of an axis: a little beyond the data, but an axis that begins or ends at 0 stops there.
    fn room(&self, low: f64, high: f64) -> (f64, f64) {
        // Without data any range will do; a single value still needs room around it.
        let (low, high) = match self.scale {
            _ if low > high => return (1.0, 10.0),
            Scale::Linear if low == 0.0 && high == 0.0 => return (-1.0, 1.0),
            Scale::Linear if low == high => return (low - low.abs() * 0.1, high + high.abs() * 0.1),
            Scale::Log if low == high => return (low / 2.0, high * 2.0),
            _ => (low, high),
        };
        match self.scale {
            Scale::Linear => {
                let beyond = |end: f64| if end == 0.0 { 0.0 } else { (high - low) * 0.04 };
                (low - beyond(low), high + beyond(high))
            }
            Scale::Log => {
                let beyond = ((high.ln() - low.ln()) * 0.03).exp();
                ((low / beyond).max(f64::MIN_POSITIVE), (high * beyond).min(f64::MAX))
            }
        }
    }

    fn shows(&self, value: f64) -> bool {
        // Differences of larger figures are not finite.
        value.abs() <= 1e300 && (self.scale == Scale::Linear || value > 0.0)
    }

    fn places(&self, laid: &Laid, wanted: usize) -> Vec<(f64, String)> {
        if !self.ticks.is_empty() {
            let shown = self.ticks.iter().filter(|(value, _)| self.shows(*value));
            return shown.filter(|(value, _)| *value >= laid.low && *value <= laid.high).cloned().collect();
        }
        let (values, step) = match self.scale {
            Scale::Linear => even(laid, wanted),
            Scale::Log => (factors(laid, wanted), laid.low),
        };
        let step = if self.scale == Scale::Log { None } else { Some(step) };
        values.into_iter().map(|value| (value, self.format.write(value, step))).collect()
    }
}

/// An axis on its place in the picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Laid {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Values with their words.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Laid {
    /// Where a value lies, in pixels; `None` when the axis cannot show it.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log if value > 0.0 => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
            Scale::Log => return None,
        };
        let place = self.from + share * (self.to - self.from);
        place.is_finite().then_some(place)
    }
}

/// Round figures in even steps, and the step.
fn even(laid: &Laid, wanted: usize) -> (Vec<f64>, f64) {
    let rough = (laid.high - laid.low) / wanted.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let factor =
        [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= rough * 0.9).unwrap_or(10.0);
    let step = factor * power;
    let first = (laid.low / step - 1e-6).ceil();
    let last = (laid.high / step + 1e-6).floor();
    let count = (last - first).clamp(0.0, 50.0) as usize;
    ((0..=count).map(|place| (first + place as f64) * step).collect(), step)
}

/// Powers of ten, with 2 and 5 between them while few.
fn factors(laid: &Laid, wanted: usize) -> Vec<f64> {
    let decades = laid.low.log10().floor() as i32..=laid.high.log10().ceil() as i32;
    let inside = |value: &f64| *value >= laid.low * 0.999 && *value <= laid.high * 1.001;
    let of = |digits: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
        all.filter(inside).collect()
    };
    let sets = [of(&[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]), of(&[1.0, 2.0, 5.0]), of(&[1.0, 3.0]), of(&[1.0])];
    if let Some(fit) = sets.iter().find(|set| set.len() <= wanted.max(2)) {
        return fit.clone();
    }
    let tens = of(&[1.0]);
    let every = tens.len().div_ceil(wanted.max(1));
    tens.into_iter().step_by(every).collect()
}

impl Format {
    /// A figure as text. `step` is the distance to the next tick; without it the figure stands alone.
    fn write(self, value: f64, step: Option<f64>) -> String {
        let scaled = if self == Self::Percent { value * 100.0 } else { value };
        let step = step.map(|step| if self == Self::Percent { step * 100.0 } else { step });
        self.sign(scaled, plain(scaled.abs(), step))
    }

    /// A figure as text with about four digits, as it stands beside a mark.
    pub(super) fn exact(self, value: f64) -> String {
        let scaled = if self == Self::Percent { value * 100.0 } else { value };
        let figure = scaled.abs();
        let text = match figure {
            1e4.. => plain(figure, Some(10f64.powf(figure.log10().floor() - 3.0))),
            100.0.. => format!("{figure:.0}"),
            10.0.. => format!("{figure:.1}"),
            1.0.. => format!("{figure:.2}"),
            _ if figure != 0.0 && figure < 5e-5 => format!("{figure:.1e}"),
            _ if self == Self::Percent => format!("{figure:.2}"),
            _ => format!("{figure:.4}"),
        };
        self.sign(scaled, text)
    }

    fn sign(self, scaled: f64, text: String) -> String {
        let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
        let sign = match self {
            _ if is_zero => "",
            _ if scaled < 0.0 => "\u{2212}",
            Self::Signed => "+",
            _ => "",
        };
        match self {
            Self::Plain | Self::Signed => format!("{sign}{text}"),
            Self::Percent => format!("{sign}{text} %"),
            Self::Factor => format!("{sign}{text}\u{d7}"),
        }
    }
}

fn plain(value: f64, step: Option<f64>) -> String {
    let (unit, suffix) = match value.max(step.unwrap_or(0.0)) {
        1e9.. => (1e9, "G"),
        1e6.. => (1e6, "M"),
        1e4.. => (1e3, "k"),
        _ => (1.0, ""),
    };
    let digits = match step {
        Some(step) => decimals(step / unit),
        None => decimals(value / unit),
    };
    if value != 0.0 && value / unit < 1e-4 && step.is_none() {
        return format!("{value:.0e}");
    }
    format!("{:.digits$}{}", value / unit, if value == 0.0 { "" } else { suffix })
}

/// Decimals that show a round figure exactly, 6 at most.
fn decimals(figure: f64) -> usize {
    (0..6)
        .find(|digits| {
            let scaled = figure * 10f64.powi(*digits as i32);
            (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1e-9)
        })
        .unwrap_or(6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(axis: &Axis, values: &[f64], wanted: usize) -> Vec<String> {
        axis.lay(values.iter().copied(), 0.0, 100.0, wanted).ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn round_figures_around_the_data() {
        let axis = Axis::new("AUC");
        // A little beyond the data: 0.7401 to 0.7700.
        assert_eq!(words(&axis, &[0.7412, 0.7689], 4), ["0.75", "0.76", "0.77"]);
        assert_eq!(words(&axis, &[0.7412, 0.7689], 6)[..2], ["0.745", "0.750"]);
        assert_eq!(words(&axis.clone().include([0.0]), &[30_000.0], 3), ["0", "10k", "20k", "30k"]);
        let signed = Axis::new("delta").format(Format::Signed);
        assert_eq!(words(&signed, &[-0.011, 0.009], 3), ["\u{2212}0.01", "0.00"]);
        assert_eq!(
            words(&signed, &[-0.011, 0.009], 4),
            ["\u{2212}0.010", "\u{2212}0.005", "0.000", "+0.005"]
        );
        assert_eq!(words(&Axis::new("share").format(Format::Percent), &[0.0, 0.5], 5)[1], "10 %");
    }

    #[test]
    fn even_factors() {
        let axis = Axis::new("straggler").log().format(Format::Factor);
        assert_eq!(
            words(&axis, &[1.0, 10.0], 7),
            ["1\u{d7}", "2\u{d7}", "3\u{d7}", "4\u{d7}", "5\u{d7}", "7\u{d7}", "10\u{d7}"]
        );
        assert_eq!(words(&axis, &[1.0, 10.0], 4), ["1\u{d7}", "2\u{d7}", "5\u{d7}", "10\u{d7}"]);
        assert_eq!(words(&Axis::new("").log(), &[1e-9, 1e9], 5), ["1e-9", "1e-5", "0.1", "1000", "10M"]);
        let laid = axis.lay([1.0, 100.0, -3.0, 0.0].into_iter(), 0.0, 100.0, 4);
        assert_eq!(laid.place(10.0).map(f64::round), Some(50.0));
        assert_eq!(laid.place(0.0), None);
    }

    #[test]
    fn no_data_one_value_and_no_number() {
        for axis in [Axis::new(""), Axis::new("").log()] {
            for values in [vec![], vec![f64::NAN, f64::INFINITY], vec![3.0], vec![0.0], vec![-1e300, 1e300]] {
                let laid = axis.lay(values.into_iter(), 0.0, 100.0, 5);
                assert!(laid.ticks.len() < 60);
                assert!(laid.place(3.0).is_none_or(f64::is_finite));
            }
        }
    }
}
