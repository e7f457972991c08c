//! Host statistics during a run, about second by second, from kernel counters.

use crate::job::DiskUse;
use block::{Bytes, Span};

/// Statistics of a host over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRecord {
    /// Rows of the host itself, in order of time.
    pub rows: Vec<HostRow>,
    /// Devices under the storage that was loaded.
    pub devices: Vec<DeviceSeries>,
}

/// Statistics of a host over about a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostRow {
    /// Its start, from the start of the first point.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Processor times.
    pub cpu: Option<CpuTimes>,
    /// How long work was stalled for lack of processors, I/O and memory.
    pub pressure: Pressure,
    /// Memory usage at its end.
    pub memory: Option<MemoryUse>,
}

/// Processor times, each summed over all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User programs, including virtual machines on this host.
    pub user: Span,
    /// User programs of low priority.
    pub nice: Span,
    /// The kernel, on behalf of programs.
    pub system: Span,
    /// Idle.
    pub idle: Span,
    /// Idle while I/O was in flight.
    pub iowait: Span,
    /// Hardware interrupts.
    pub irq: Span,
    /// Software interrupts.
    pub softirq: Span,
    /// Taken by the hypervisor for others.
    pub steal: Span,
}

/// Pressure stall information; `None` where the kernel does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Processors. For a whole host `full` is not defined and stays zero.
    pub cpu: Option<Stall>,
    /// I/O.
    pub io: Option<Stall>,
    /// Memory.
    pub memory: Option<Stall>,
}

/// How long tasks were stalled by a lack of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stall {
    /// At least one task was stalled.
    pub some: Span,
    /// All tasks were stalled; zero for processors.
    pub full: Span,
}

/// Memory usage of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// What programs could still allocate without swapping.
    pub available: Bytes,
    /// The page cache.
    pub cached: Bytes,
    /// Modified pages that are not being written back yet.
    pub dirty: Bytes,
    /// Pages being written back.
    pub writeback: Bytes,
}

/// A block device over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSeries {
    /// Its name in the kernel.
    pub name: String,
    /// Rows in order of time.
    pub rows: Vec<DeviceRow>,
}

/// Statistics of a block device over about a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceRow {
    /// Its start.
    pub start: Span,
    /// Its length.
    pub length: Span,
    /// Time with requests in flight.
    pub busy: Span,
    /// Integral over time of the requests in flight; divided by the length it is the mean queue
    /// depth.
    pub in_queue: Span,
    /// Completed reads.
    pub reads: Moved,
    /// Completed writes.
    pub writes: Moved,
}

/// Completed requests of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of requests.
    pub count: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Sum of their times.
    pub took: Span,
}

/// Size of a sector in the kernel's counters, whatever the device's own.
const SECTOR: u64 = 512;

impl HostRecord {
    /// The rows that begin from `start` to `end`.
    #[must_use]
    pub fn between(&self, start: Span, end: Span) -> HostRecord {
        let within = |at: Span| at >= start && at < end;
        HostRecord {
            rows: self.rows.iter().filter(|row| within(row.start)).copied().collect(),
            devices: self
                .devices
                .iter()
                .map(|device| DeviceSeries {
                    name: device.name.clone(),
                    rows: device.rows.iter().filter(|row| within(row.start)).copied().collect(),
                })
                .collect(),
        }
    }
}

impl DeviceSeries {
    /// The activity from `start` to `end`, joined; `None` if nothing is known of it. A row that is
    /// only partly within counts with that part of its time.
    pub fn between(&self, start: Span, end: Span) -> Option<DeviceRow> {
        let parts: Vec<DeviceRow> = self.rows.iter().filter_map(|row| row.between(start, end)).collect();
        DeviceRow::sum(&parts)
    }
}

impl HostRow {
    /// Joins rows: times are added; of memory the smallest available and the largest unwritten
    /// amounts count. A field that is unknown in one row is unknown in the sum. `None` without
    /// rows.
    pub fn sum(rows: &[HostRow]) -> Option<HostRow> {
        rows.iter().copied().reduce(|sum, row| HostRow {
            start: sum.start,
            length: sum.length + row.length,
            cpu: Option::zip(sum.cpu, row.cpu).map(|(a, b)| a.plus(b)),
            pressure: Pressure {
                cpu: Option::zip(sum.pressure.cpu, row.pressure.cpu).map(|(a, b)| a.plus(b)),
                io: Option::zip(sum.pressure.io, row.pressure.io).map(|(a, b)| a.plus(b)),
                memory: Option::zip(sum.pressure.memory, row.pressure.memory).map(|(a, b)| a.plus(b)),
            },
            memory: Option::zip(sum.memory, row.memory).map(|(a, b)| MemoryUse {
                available: a.available.min(b.available),
                cached: a.cached.min(b.cached),
                dirty: a.dirty.max(b.dirty),
                writeback: a.writeback.max(b.writeback),
            }),
        })
    }
}

impl CpuTimes {
    /// Times by kind, with idle kinds last.
    pub const fn kinds(&self) -> [(&'static str, Span); 8] {
        [
            ("user", self.user),
            ("nice", self.nice),
            ("system", self.system),
            ("irq", self.irq),
            ("softirq", self.softirq),
            ("steal", self.steal),
            ("iowait", self.iowait),
            ("idle", self.idle),
        ]
    }

    /// The sum of all kinds: length times number of processors.
    pub fn total(&self) -> Span {
        self.kinds().into_iter().fold(Span::ZERO, |sum, (_, time)| sum + time)
    }

    /// The difference to `before`.
    #[must_use]
    pub fn since(&self, before: &CpuTimes) -> CpuTimes {
        self.each(before, Span::saturating_sub)
    }

    fn plus(self, other: CpuTimes) -> CpuTimes {
        self.each(&other, |a, b| a + b)
    }

    fn each(&self, other: &CpuTimes, join: impl Fn(Span, Span) -> Span) -> CpuTimes {
        CpuTimes {
            user: join(self.user, other.user),
            nice: join(self.nice, other.nice),
            system: join(self.system, other.system),
            idle: join(self.idle, other.idle),
            iowait: join(self.iowait, other.iowait),
            irq: join(self.irq, other.irq),
            softirq: join(self.softirq, other.softirq),
            steal: join(self.steal, other.steal),
        }
    }
}

impl Pressure {
    /// The difference to `before`.
    #[must_use]
    pub fn since(&self, before: &Pressure) -> Pressure {
        let since = |after: Option<Stall>, before: Option<Stall>| {
            after.zip(before).map(|(after, before)| Stall {
                some: after.some.saturating_sub(before.some),
                full: after.full.saturating_sub(before.full),
            })
        };
        Pressure {
            cpu: since(self.cpu, before.cpu),
            io: since(self.io, before.io),
            memory: since(self.memory, before.memory),
        }
    }
}

impl Stall {
    fn plus(self, other: Stall) -> Stall {
        Stall { some: self.some + other.some, full: self.full + other.full }
    }
}

impl DeviceRow {
    /// The activity of a device over an interval from `start` on.
    pub fn of(start: Span, disk: &DiskUse) -> DeviceRow {
        let moved = |direction: usize| Moved {
            count: disk.ios[direction],
            bytes: Bytes(disk.sectors[direction].saturating_mul(SECTOR)),
            took: disk.ticks[direction],
        };
        let DiskUse { over: length, busy, in_queue, .. } = *disk;
        DeviceRow { start, length, busy, in_queue, reads: moved(0), writes: moved(1) }
    }

    /// Its part from `start` to `end`, as if its activity was even; `None` if nothing of it is
    /// within.
    fn between(&self, start: Span, end: Span) -> Option<DeviceRow> {
        let from = self.start.max(start);
        let length = (self.start + self.length).min(end).saturating_sub(from);
        if length == Span::ZERO {
            return None;
        }
        let (part, whole) = (u128::from(length.as_nanos()), u128::from(self.length.as_nanos()));
        // No more than the whole figure, so that it fits.
        let of = |figure: u64| ((u128::from(figure) * part + whole / 2) / whole) as u64;
        let span = |span: Span| Span::from_nanos(of(span.as_nanos()));
        let moved =
            |moved: &Moved| Moved { count: of(moved.count), bytes: Bytes(of(moved.bytes.0)), took: span(moved.took) };
        Some(DeviceRow {
            start: from,
            length,
            busy: span(self.busy),
            in_queue: span(self.in_queue),
            reads: moved(&self.reads),
            writes: moved(&self.writes),
        })
    }

    /// Joins rows; `None` without rows.
    pub fn sum(rows: &[DeviceRow]) -> Option<DeviceRow> {
        rows.iter().copied().reduce(|sum, row| DeviceRow {
            start: sum.start,
            length: sum.length + row.length,
            busy: sum.busy + row.busy,
            in_queue: sum.in_queue + row.in_queue,
            reads: sum.reads.plus(row.reads),
            writes: sum.writes.plus(row.writes),
        })
    }

    /// Utilisation: the fraction of time with requests in flight, from 0 to 1; `None` if the length
    /// is zero.
    pub fn busy_part(&self) -> Option<f64> {
        part(self.busy, self.length).map(|part| part.min(1.0))
    }

    /// Mean queue depth over the time.
    pub fn queue(&self) -> Option<f64> {
        part(self.in_queue, self.length)
    }
}

impl Moved {
    /// Mean time of a request from entering the device's queue to its completion; `None` without
    /// requests.
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| self.took / self.count)
    }

    fn plus(self, other: Moved) -> Moved {
        Moved {
            count: self.count.saturating_add(other.count),
            bytes: Bytes(self.bytes.0.saturating_add(other.bytes.0)),
            took: self.took + other.took,
        }
    }
}

/// The fraction of `whole`; `None` if that is zero.
fn part(time: Span, whole: Span) -> Option<f64> {
    (whole > Span::ZERO).then(|| time.as_nanos() as f64 / whole.as_nanos() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 reads of 4 KiB in a second that took 2 ms each, half of the time busy: the mean queue
    /// depth is 16 ms / 1 s.
    #[test]
    fn a_devices_figures_follow_from_its_counters() {
        let disk = DiskUse {
            name: "vda".into(),
            ios: [8, 0],
            sectors: [64, 0],
            ticks: [Span::from_millis(16), Span::ZERO],
            in_queue: Span::from_millis(16),
            busy: Span::from_millis(500),
            over: Span::SECOND,
            ..DiskUse::default()
        };
        let row = DeviceRow::of(Span::ZERO, &disk);
        assert_eq!((row.busy_part(), row.queue()), (Some(0.5), Some(0.016)));
        assert_eq!(
            (row.reads.bytes, row.reads.mean(), row.writes.mean()),
            (Bytes::kib(32), Some(Span::from_millis(2)), None)
        );
        let minute = DeviceRow::sum(&[row; 60]).unwrap();
        assert_eq!((minute.busy_part(), minute.queue(), minute.reads.count), (Some(0.5), Some(0.016), 480));
        assert_eq!(DeviceRow::sum(&[]), None);
        assert_eq!(DeviceRow::default().busy_part(), None);
    }

    #[test]
    fn what_one_row_does_not_know_the_sum_does_not_know() {
        let memory = |available| {
            Some(MemoryUse { available: Bytes(available), dirty: Bytes(available), ..MemoryUse::default() })
        };
        let cpu = Some(CpuTimes { user: Span::from_millis(10), idle: Span::from_millis(90), ..CpuTimes::default() });
        let stall = Some(Stall { some: Span::from_millis(1), full: Span::ZERO });
        let known = HostRow {
            length: Span::SECOND,
            cpu,
            pressure: Pressure { io: stall, ..Pressure::default() },
            memory: memory(7),
            ..HostRow::default()
        };
        let sum = HostRow::sum(&[known, HostRow { memory: memory(9), ..known }]).unwrap();
        assert_eq!(sum.cpu.map(|cpu| (cpu.user, cpu.total())), Some((Span::from_millis(20), Span::from_millis(200))));
        assert_eq!((sum.pressure.io.map(|io| io.some), sum.pressure.cpu), (Some(Span::from_millis(2)), None));
        assert_eq!(sum.memory.map(|memory| (memory.available, memory.dirty)), Some((Bytes(7), Bytes(9))));
        let unknown = HostRow { cpu: None, ..known };
        assert_eq!(HostRow::sum(&[known, unknown]).and_then(|row| row.cpu), None);
    }

    #[test]
    fn a_stretch_has_the_rows_that_begin_in_it() {
        let row = |second| HostRow { start: Span::from_secs(second), ..HostRow::default() };
        let host = HostRecord { rows: vec![row(0), row(1), row(2)], devices: Vec::new() };
        assert_eq!(host.between(Span::from_secs(1), Span::from_secs(2)).rows, [row(1)]);
    }

    /// Seconds from 0.5 s on with 10, 20 and 40 reads. From 1 to 3 s are half of the first, all of
    /// the second and half of the third: 5 + 20 + 20 reads in 2 s.
    #[test]
    fn a_row_counts_with_what_is_within() {
        let row = |start, count| DeviceRow {
            start: Span::from_millis(start),
            length: Span::SECOND,
            reads: Moved { count, took: Span::from_millis(2 * count), ..Moved::default() },
            ..DeviceRow::default()
        };
        let rows = vec![row(500, 10), row(1500, 20), row(2500, 40)];
        let device = DeviceSeries { name: "vda".into(), rows: rows.clone() };
        let found = device.between(Span::SECOND, Span::from_secs(3)).unwrap();
        assert_eq!((found.start, found.length, found.reads.count), (Span::SECOND, Span::from_secs(2), 45));
        assert_eq!(found.reads.mean(), Some(Span::from_millis(2)));
        assert_eq!(device.between(Span::ZERO, Span::from_secs(9)), DeviceRow::sum(&rows));
        assert_eq!(device.between(Span::from_secs(4), Span::from_secs(9)), None);
    }
}
