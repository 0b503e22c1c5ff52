//! A branch in a few words.

use super::{Moments, PointKey, Summary};

/// Differences of AUC up to this count as none: first the strict bound, then the loose one.
const BOUNDS: [f64; 2] = [0.0005, 0.001];

/// A mean delta counts as a difference from so many standard errors on.
const ERRORS: f64 = 2.0;

/// A dip before the end of the first part is told from this on.
const DIP: f64 = 0.002;

/// With a larger share of failed samples a branch has diverged: its parameters hardly move any more.
const FAILED_SHARE: f64 = 0.01;

/// What a branch comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is what others are compared to.
    Stays,
    /// Nothing can be said: evaluations are missing.
    Unknown,
    /// Nothing can be said: this share of the samples had gradients that are not finite.
    Diverged(f64),
    /// As good as staying, within this bound, at the ends of parts.
    Within(f64),
    /// The mean is off by this, but seeds differ more.
    Unclear(Moments),
    /// Lower than staying.
    Falls(Moments),
    /// Higher than staying.
    Gains(Moments),
}

impl Verdict {
    /// Of a branch's summary.
    pub(crate) fn new(summary: &Summary, is_reference: bool) -> Self {
        if is_reference {
            return Self::Stays;
        }
        let failed = summary.samples.failed as f64 / summary.samples.resolved().max(1) as f64;
        if failed > FAILED_SHARE {
            return Self::Diverged(failed);
        }
        let Some(delta) = summary.mean_delta else { return Self::Unknown };
        let error = delta.error().unwrap_or(0.0) * ERRORS;
        match BOUNDS.into_iter().find(|bound| delta.mean.abs() <= *bound) {
            // Seeds that differ by more than the bound do not show that it holds.
            Some(bound) if error <= BOUNDS[1].max(bound) => Self::Within(bound),
            Some(_) => Self::Unclear(delta),
            None if error >= delta.mean.abs() => Self::Unclear(delta),
            None if delta.mean < 0.0 => Self::Falls(delta),
            None => Self::Gains(delta),
        }
    }

    /// Its kind, as a heading; see [`Self::KINDS`]. What stays has none.
    pub(crate) fn kind(self) -> Option<&'static str> {
        let place = match self {
            Self::Stays => return None,
            Self::Within(bound) if bound <= BOUNDS[0] => 0,
            Self::Within(_) => 1,
            Self::Unclear(_) => 2,
            Self::Falls(_) => 3,
            Self::Gains(_) => 4,
            Self::Unknown | Self::Diverged(_) => 5,
        };
        Some(Self::KINDS[place])
    }

    /// All kinds of branches that shift.
    pub(crate) const KINDS: [&str; 6] =
        ["Within 0.0005", "Within 0.001", "No clear difference", "Falls", "Gains", "Unknown"];

    /// In words.
    pub(crate) fn words(self, summary: &Summary) -> String {
        let spread = |of: Moments| of.std.map_or_else(String::new, |std| format!(" +- {std:.4}"));
        let text = match self {
            Self::Stays => return "stays in the base's gear: what others are compared to".to_owned(),
            Self::Diverged(failed) => {
                return format!(
                    "unknown: {:.1} % of the samples had gradients that are not finite; lower the rates",
                    failed * 100.0
                );
            }
            Self::Unknown => return "unknown: evaluations are missing".to_owned(),
            Self::Within(bound) => format!("within {bound} of staying"),
            Self::Unclear(of) => format!("no clear difference: {}{}", super::signed(of.mean), spread(of)),
            Self::Falls(of) => format!("falls by {:.4}{}", -of.mean, spread(of)),
            Self::Gains(of) => format!("gains {:.4}{}", of.mean, spread(of)),
        };
        match self.dip(summary) {
            Some((key, dip)) => format!("{text}; {dip:.4} lower at {}", key.name()),
            None => text,
        }
    }

    /// An early dip that the mean over the ends of parts does not show.
    fn dip(self, summary: &Summary) -> Option<(PointKey, f64)> {
        let (key, delta) = summary.worst_early?;
        let mean = summary.mean_delta.map_or(0.0, |of| of.mean);
        (delta <= -DIP && delta < 2.0 * mean.min(0.0)).then_some((key, -delta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(deltas: &[f64], early: f64) -> Summary {
        let mut summary = Summary::new(&super::super::fixture::branch("a", &[]), None, 0);
        summary.mean_delta = Moments::of(deltas.iter().copied());
        summary.worst_early = Some((PointKey::new(0, 0.1), early));
        summary
    }

    #[test]
    fn in_a_few_words() {
        let words = |deltas: &[f64], early: f64| {
            let summary = summary(deltas, early);
            Verdict::new(&summary, false).words(&summary)
        };
        assert_eq!(words(&[0.0001, -0.0003], -0.0004), "within 0.0005 of staying");
        assert_eq!(words(&[0.0008], -0.001), "within 0.001 of staying");
        assert_eq!(words(&[-0.0001, 0.0001], -0.0042), "within 0.0005 of staying; 0.0042 lower at 10 %");
        assert_eq!(words(&[-0.0147, -0.0149], -0.02), "falls by 0.0148 +- 0.0001");
        assert_eq!(words(&[-0.0148], -0.06), "falls by 0.0148; 0.0600 lower at 10 %");
        assert_eq!(words(&[0.004], 0.0), "gains 0.0040");
        let mut diverged = summary(&[0.0], 0.0);
        (diverged.samples.applied, diverged.samples.failed) = (900, 100);
        let verdict = Verdict::new(&diverged, false);
        assert_eq!(verdict, Verdict::Diverged(0.1));
        assert!(verdict.words(&diverged).contains("10.0 % of the samples"), "{}", verdict.words(&diverged));
        assert_eq!(words(&[-0.01, 0.008], 0.0), "no clear difference: -0.0010 +- 0.0127");
        assert_eq!(words(&[-0.01, 0.004], 0.0), "no clear difference: -0.0030 +- 0.0099");
        assert_eq!(words(&[], 0.0), "unknown: evaluations are missing");
        assert!(Verdict::new(&summary(&[], 0.0), true).words(&summary(&[], 0.0)).starts_with("stays"));
    }
}
