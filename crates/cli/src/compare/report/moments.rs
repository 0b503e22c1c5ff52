//! Mean and spread of a figure over seeds.

/// Mean and standard deviation of figures, one per seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moments {
    /// Mean.
    pub(crate) mean: f64,
    /// Standard deviation of one seed (divisor n - 1); `None` with one seed.
    pub(crate) std: Option<f64>,
    /// Seeds.
    pub(crate) count: usize,
}

impl Moments {
    /// Of finite figures; `None` without any.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let figures: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        let count = figures.len();
        if count == 0 {
            return None;
        }
        let mean = figures.iter().sum::<f64>() / count as f64;
        let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
        let std = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        Some(Self { mean, std, count })
    }

    /// Standard error of the mean; `None` with one seed.
    pub(crate) fn error(self) -> Option<f64> {
        self.std.map(|std| std / (self.count as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_spread() {
        let of = Moments::of([1.0, 2.0, 3.0, f64::NAN]).unwrap();
        assert_eq!((of.mean, of.std, of.count), (2.0, Some(1.0), 3));
        assert!((of.error().unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(Moments::of([4.0]), Some(Moments { mean: 4.0, std: None, count: 1 }));
        assert_eq!(Moments::of([f64::INFINITY]), None);
    }
}
