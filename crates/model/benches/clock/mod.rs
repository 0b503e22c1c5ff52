//! CPU time of the calling thread; wall time where the system has no such clock.

use std::time::Duration;

/// Time since some start.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "std has no CPU clock")]
pub(crate) fn now() -> Duration {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    }
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the struct is laid out as 64-bit Linux defines it and outlives the call.
    let status = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "clock_gettime");
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}

/// Time since some start.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
