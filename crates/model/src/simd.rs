//! Run-time choice of the instruction set for element-wise kernels: one body, compiled for AVX-512, AVX2 and the
//! baseline. The bodies use no fused multiply-add and no reordering, so all three give the same bits.

/// Defines `$name` as the body `$body` (an `#[inline(always)]` function of the same arguments), compiled once per
/// instruction set and chosen at run time.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $body:expr;) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "calls a function compiled for an instruction set checked just before")]
        $vis fn $name($($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
                fn avx512($($arg: $ty),*) {
                    $body($($arg),*);
                }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) {
                    $body($($arg),*);
                }
                if std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512vl")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the processor has the features, as just asked.
                    return unsafe { avx512($($arg),*) };
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has the feature, as just asked.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $body($($arg),*);
        }
    };
}

pub(crate) use dispatch;
