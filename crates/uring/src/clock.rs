//! The one reader of the wall clock. Everything else in Seawall takes the time as an argument.

use std::sync::OnceLock;

use block::Time;

/// Reads the monotonic clock as nanoseconds since the first use in this process.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The epoch on the kernel's monotonic clock, in nanoseconds.
    epoch: u64,
}

impl Clock {
    /// The process's clock. All copies have the same epoch.
    pub fn new() -> Clock {
        static EPOCH: OnceLock<u64> = OnceLock::new();
        Clock { epoch: *EPOCH.get_or_init(|| read(libc::CLOCK_MONOTONIC)) }
    }

    /// The current time. About 25 ns where the kernel maps its clock into the process.
    pub fn now(&self) -> Time {
        Time::from_nanos(read(libc::CLOCK_MONOTONIC).saturating_sub(self.epoch))
    }

    /// Converts `time` to the kernel's own monotonic clock.
    pub(crate) fn kernel_nanos(&self, time: Time) -> u64 {
        self.epoch.saturating_add(time.as_nanos())
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

/// Reads one of the kernel's clocks, in nanoseconds. std's `Instant` hides its number, which
/// absolute time-outs of the kernel need.
pub(crate) fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the kernel to write a timespec to, for the length of the
    // call.
    let outcome = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(outcome, 0, "clock {clock} cannot be read: {}", std::io::Error::last_os_error());
    // A monotonic clock counts from boot, so it is never negative, and 64 bits of nanoseconds last
    // 584 years.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// By default the kernel may end a wait 50 µs late to save power, which is longer than an I/O.
pub(crate) fn tighten_timers() {
    // SAFETY: no memory is passed; it concerns this thread's timers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back_and_all_copies_agree() {
        let (a, b) = (Clock::new(), Clock::new());
        let first = a.now();
        let second = b.now();
        assert!(second >= first);
        assert_eq!(a.kernel_nanos(first), b.kernel_nanos(first));
    }
}
