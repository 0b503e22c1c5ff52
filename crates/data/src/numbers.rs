//! Numbers in text, and what becomes of them.

use gearshift_types::Key;

use crate::hash::{EMPTY_KEY, NumberKeys};
use crate::options::NumericTransform;

/// A whole number that is the entire text: an optional sign and up to 18 digits.
#[inline]
pub(crate) fn parse_whole(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// A finite number in decimal notation, white space around it allowed.
pub(crate) fn parse_number(text: &[u8]) -> Option<f64> {
    let text = text.trim_ascii();
    if let Some(whole) = parse_whole(text) {
        return Some(whole as f64);
    }
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// ln(1 + max(x, 0)) with the values of small whole numbers held ready.
#[derive(Clone, Debug)]
pub(crate) struct Logs(Vec<f32>);

impl Logs {
    pub(crate) fn new() -> Self {
        Self((0..4096).map(|x| f64::from(x).ln_1p() as f32).collect())
    }

    #[inline]
    pub(crate) fn of_whole(&self, x: i64) -> f32 {
        if x <= 0 {
            return 0.0;
        }
        match self.0.get(x as usize) {
            Some(&log) => log,
            None => (x as f64).ln_1p() as f32,
        }
    }
}

/// What becomes of a number, by the job's transform.
#[derive(Clone, Debug)]
pub(crate) enum NumberRule {
    Log1p(Logs),
    Raw,
    Bucket(NumberKeys),
}

/// A number transformed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Dense(f32),
    Categorical(Key),
}

impl NumberRule {
    pub(crate) fn new(transform: NumericTransform) -> Self {
        match transform {
            NumericTransform::Log1p => Self::Log1p(Logs::new()),
            NumericTransform::Raw => Self::Raw,
            NumericTransform::Bucket => Self::Bucket(NumberKeys::new()),
        }
    }

    /// The transformed number; `None` when `text` is neither empty nor a finite number.
    #[inline]
    pub(crate) fn apply(&self, text: &[u8]) -> Option<Number> {
        if let Some(whole) = parse_whole(text) {
            return Some(match self {
                Self::Log1p(logs) => Number::Dense(logs.of_whole(whole)),
                Self::Raw => Number::Dense(whole as f32),
                Self::Bucket(keys) => Number::Categorical(keys.of_whole(whole)),
            });
        }
        if text.is_empty() {
            return Some(match self {
                Self::Bucket(_) => Number::Categorical(EMPTY_KEY),
                _ => Number::Dense(0.0),
            });
        }
        let x = parse_number(text)?;
        if matches!(self, Self::Raw) && !(x as f32).is_finite() {
            return None;
        }
        Some(match self {
            Self::Log1p(_) => Number::Dense(x.max(0.0).ln_1p() as f32),
            Self::Raw => Number::Dense(x as f32),
            Self::Bucket(keys) => Number::Categorical(keys.of(x)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::key_of;

    #[test]
    fn whole_numbers() {
        let good = [("0", 0), ("-1", -1), ("007", 7), ("999999999999999999", 999_999_999_999_999_999)];
        for (text, value) in good {
            assert_eq!(parse_whole(text.as_bytes()), Some(value));
        }
        for text in ["", "-", "1a", "+1", " 1", "1.0", "1234567890123456789"] {
            assert_eq!(parse_whole(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn other_numbers() {
        for (text, value) in
            [(" 1.5 ", 1.5), ("-2e3", -2000.0), ("12345678901234567890", 12345678901234567890.0)]
        {
            assert_eq!(parse_number(text.as_bytes()), Some(value));
        }
        for text in ["", "nan", "inf", "-infinity", "1e999", "1,5", "0x10", "\u{663}"] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn transforms() {
        let apply = |transform, text: &str| NumberRule::new(transform).apply(text.as_bytes());
        let dense = |x: f64| Some(Number::Dense(x as f32));
        assert_eq!(apply(NumericTransform::Log1p, "10"), dense(11.0_f64.ln()));
        assert_eq!(apply(NumericTransform::Log1p, "100000"), dense(100_001.0_f64.ln()));
        assert_eq!(apply(NumericTransform::Log1p, "0.5"), dense(1.5_f64.ln()));
        assert_eq!(apply(NumericTransform::Log1p, "-3"), dense(0.0));
        assert_eq!(apply(NumericTransform::Log1p, ""), dense(0.0));
        assert_eq!(apply(NumericTransform::Raw, "-3.25"), dense(-3.25));
        assert_eq!(apply(NumericTransform::Bucket, ""), Some(Number::Categorical(EMPTY_KEY)));
        assert_eq!(apply(NumericTransform::Bucket, "2"), Some(Number::Categorical(key_of(b"2"))));
        assert_eq!(apply(NumericTransform::Bucket, "20"), Some(Number::Categorical(key_of(b"b8"))));
        assert_eq!(apply(NumericTransform::Raw, "x"), None);
    }
}
