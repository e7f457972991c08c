//! The kernel's counters for this program and machine: bytes read from storage, and processor time.

use stats::kernel;
use stats::run::CpuTimes;
use std::fs;

/// The counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Bytes that this program has read from storage.
    fetched: Option<u64>,
    /// Time of all processors.
    cpu: Option<CpuTimes>,
}

impl Counters {
    /// The current counters.
    pub fn now() -> Counters {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Counters { fetched: fetched(&read("/proc/self/io")), cpu: kernel::cpu_times(&read("/proc/stat")) }
    }

    /// Bytes that this program has read from storage since `before`.
    pub fn fetched_since(&self, before: &Counters) -> Option<u64> {
        Some(self.fetched?.saturating_sub(before.fetched?))
    }

    /// The share of all processors' time that was used since `before`.
    pub fn cpu_busy_since(&self, before: &Counters) -> Option<f64> {
        let cpu = self.cpu?.since(&before.cpu?);
        let (idle, passed) = ((cpu.idle + cpu.iowait).as_secs_f64(), cpu.total().as_secs_f64());
        (passed > 0.0).then(|| 1.0 - idle / passed)
    }
}

/// `read_bytes` of `/proc/self/io`: bytes read from below the page cache.
fn fetched(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 ticks later, 25 of them idle: 75 % busy.
    #[test]
    fn the_kernels_lines_are_read() {
        assert_eq!(fetched("rchar: 7\nread_bytes: 4096\nwrite_bytes: 0\n"), Some(4096));
        let before = Counters { fetched: Some(96), cpu: kernel::cpu_times("cpu  10 0 10 70 10 0 0 0 0 0\ncpu0 1") };
        let after = Counters { fetched: Some(4096), cpu: kernel::cpu_times("cpu  60 0 35 90 15 0 0 0 0 0") };
        assert_eq!(after.fetched_since(&before), Some(4000));
        assert_eq!(after.cpu_busy_since(&before), Some(0.75));
        assert_eq!((fetched(""), before.cpu_busy_since(&before)), (None, None));
    }
}
