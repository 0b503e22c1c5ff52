//! Runs arithmetic compiled for the widest vectors of this CPU. The result is the same bit for bit on every
//! level: the same source is compiled several times, and the compiler neither contracts a multiply and an add
//! into one rounding nor changes the order of float additions.

/// Instruction sets that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// What the target guarantees (SSE2 on x86-64).
    Baseline,
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit registers and masks.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The widest level of this CPU.
    #[inline]
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f")
                && std::arch::is_x86_feature_detected!("avx512vl")
            {
                return Self::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    /// Every level this CPU can run, for the tests of bit-equality.
    #[cfg(test)]
    pub(crate) fn available() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        match Self::detect() {
            Self::Avx512 => return vec![Self::Baseline, Self::Avx2, Self::Avx512],
            Self::Avx2 => return vec![Self::Baseline, Self::Avx2],
            Self::Baseline => {}
        }
        vec![Self::Baseline]
    }
}

/// A loop of arithmetic. `run` must be `#[inline(always)]`, so that it is compiled anew for each level.
pub(crate) trait Kernel {
    /// What it computes.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `kernel` at the widest level of this CPU.
#[inline]
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    run_at(Level::detect(), kernel)
}

/// Runs `kernel` at `level`, which must come from [`Level::detect`] or [`Level::available`].
#[inline]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "calling a function compiled for more features than the target's")
)]
pub(crate) fn run_at<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        Level::Baseline => kernel.run(),
        // SAFETY: a level is made only after its features have been detected.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(kernel) },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,avx512f,avx512vl")]
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run()
}

/// Asks for the cache line of `slice[at]`; an index past the end asks for a line that is never read.
#[inline(always)]
#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the prefetch instruction takes a raw pointer")
)]
pub(crate) fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and faults on no address; SSE belongs to every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, at);
}
