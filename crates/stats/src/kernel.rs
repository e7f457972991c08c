//! Parsers for the statistics in the Linux kernel's `/proc`. Others read the files.

use crate::job::DiskUse;
use crate::run::{CpuTimes, MemoryUse, Stall};
use block::{Bytes, Span};

/// The counters of all processors together, from `/proc/stat`.
pub fn cpu_times(stat: &str) -> Option<CpuTimes> {
    // User space sees ticks of a hundredth of a second (USER_HZ), whatever the kernel uses.
    let tick = Span::from_millis(10);
    let figures = stat.lines().next()?.strip_prefix("cpu ")?;
    let mut times = figures.split_whitespace().map(|word| Some(tick * word.parse::<u64>().ok()?));
    let mut next = || times.next().flatten();
    let (user, nice, system, idle) = (next()?, next()?, next()?, next()?);
    // Later kernels have more fields.
    let mut later = || next().unwrap_or_default();
    Some(CpuTimes { user, nice, system, idle, iowait: later(), irq: later(), softirq: later(), steal: later() })
}

/// The totals in a file of `/proc/pressure` (the kernel's `Documentation/accounting/psi.rst`).
pub fn stall(pressure: &str) -> Option<Stall> {
    let total = |kind: &str| {
        let line = pressure.lines().find_map(|line| line.strip_prefix(kind))?;
        line.split_once("total=")?.1.trim().parse().ok().map(Span::from_micros)
    };
    Some(Stall { some: total("some ")?, full: total("full ").unwrap_or_default() })
}

/// Memory usage from `/proc/meminfo`.
pub fn memory(meminfo: &str) -> Option<MemoryUse> {
    let kib = |name: &str| {
        let rest = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.trim().strip_suffix("kB")?.trim().parse().ok().map(Bytes::kib)
    };
    Some(MemoryUse {
        available: kib("MemAvailable")?,
        cached: kib("Cached")?,
        dirty: kib("Dirty")?,
        writeback: kib("Writeback")?,
    })
}

/// A line of `/proc/diskstats` (the kernel's `Documentation/admin-guide/iostats.rst`): the device
/// number and the totals since boot; the length of that time is not known.
pub fn disk(line: &str) -> Option<((u64, u64), DiskUse)> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse::<u64>().ok();
    let device = (number()?, number()?);
    let name = words.next()?.to_owned();
    let mut figures = [0; 11];
    for figure in &mut figures {
        *figure = words.next()?.parse().ok()?;
    }
    let [
        reads,
        reads_merged,
        sectors_read,
        reading,
        writes,
        writes_merged,
        sectors_written,
        writing,
        _,
        busy,
        in_queue,
    ] = figures;
    let used = DiskUse {
        name,
        ios: [reads, writes],
        merges: [reads_merged, writes_merged],
        sectors: [sectors_read, sectors_written],
        ticks: [Span::from_millis(reading), Span::from_millis(writing)],
        busy: Span::from_millis(busy),
        in_queue: Span::from_millis(in_queue),
        over: Span::ZERO,
    };
    Some((device, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_read_by_kind() {
        let stat = "cpu  10 1 5 70 8 2 3 4 6 0\ncpu0 10 1 5 70 8 2 3 4 6 0\nintr 1 2";
        let times = cpu_times(stat).unwrap();
        assert_eq!(times.kinds().map(|(_, time)| time.as_nanos() / 10_000_000), [10, 1, 5, 2, 3, 4, 8, 70]);
        // 103 ticks; time of guests is included in that of user programs.
        assert_eq!(times.total(), Span::from_millis(1030));
        let before = cpu_times("cpu  4 1 5 60").unwrap();
        let since = times.since(&before);
        assert_eq!((since.user, since.idle), (Span::from_millis(60), Span::from_millis(100)));
        assert_eq!((cpu_times(""), cpu_times("cpu  1 2"), cpu_times("cpu0 1 2 3 4")), (None, None, None));
    }

    #[test]
    fn stalls_are_read_in_microseconds() {
        let io = "some avg10=1.50 avg60=0.00 avg300=0.00 total=2500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40\n";
        assert_eq!(stall(io), Some(Stall { some: Span::from_micros(2500), full: Span::from_micros(40) }));
        // Kernels before 5.13 have only one line for processors.
        let cpu = stall("some avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
        assert_eq!(cpu, Some(Stall { some: Span::from_micros(7), full: Span::ZERO }));
        assert_eq!((stall(""), stall("some total=x")), (None, None));
    }

    #[test]
    fn memory_is_read_by_name() {
        let meminfo = "MemTotal: 24000 kB\nMemAvailable:   8000 kB\nCached:  300 kB\nSwapCached: 9 kB\nDirty:  20 kB\n\
            Writeback:  1 kB\nWritebackTmp: 5 kB\n";
        let used = MemoryUse {
            available: Bytes::kib(8000),
            cached: Bytes::kib(300),
            dirty: Bytes::kib(20),
            writeback: Bytes::kib(1),
        };
        assert_eq!(memory(meminfo), Some(used));
        assert_eq!(memory("MemAvailable: 1 kB"), None);
    }

    #[test]
    fn a_devices_line_is_read() {
        let line = " 254       0 vda 100 1 800 50 200 2 1600 70 0 90 120 0 0 0 0 0 0";
        let (numbers, disk) = disk(line).unwrap();
        assert_eq!((numbers, disk.name.as_str()), ((254, 0), "vda"));
        assert_eq!((disk.ios, disk.merges, disk.sectors), ([100, 200], [1, 2], [800, 1600]));
        assert_eq!(disk.ticks, [Span::from_millis(50), Span::from_millis(70)]);
        assert_eq!((disk.busy, disk.in_queue), (Span::from_millis(90), Span::from_millis(120)));
        assert_eq!((super::disk("254 0 vda 1 2"), super::disk("")), (None, None));
    }
}
