//! Counter-based random numbers: pure functions of their arguments, so that every block can be made or shuffled
//! by itself.
//!
//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) with the
//! finaliser constants of David Stafford's variant 13.

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijective mix of 64 bits.
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A hash of `a` and `b`, in order.
#[inline]
pub(crate) fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a.wrapping_add(GOLDEN)).wrapping_add(b.wrapping_mul(GOLDEN)))
}

/// A stream of random numbers that starts at a seed.
#[derive(Clone, Debug)]
pub(crate) struct Stream(u64);

impl Stream {
    #[inline]
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// Uniform in 0..1, 53 bits.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in `0..below`, without bias worth mentioning for `below` under 2^32 (multiply-shift).
    #[inline]
    pub(crate) fn below(&mut self, below: u32) -> u32 {
        (((self.next() >> 32) * u64::from(below)) >> 32) as u32
    }
}
