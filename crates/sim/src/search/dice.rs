//! A seeded stream of numbers (SplitMix64), from which a scenario is drawn.

/// The state.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// 0 to `end` - 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// `first` to `last`.
    pub(crate) fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.below((last - first + 1) as usize) as u32
    }

    /// Uniform in `first..last`.
    pub(crate) fn float(&mut self, first: f64, last: f64) -> f64 {
        first + (last - first) * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
