//! Statistics of the host and its devices: minutes as rows of the database, seconds as blocks.
//!
//! ```text
//!   host     start, length, times of processors by kind (8), pressure (5), memory (4)
//!   device   start, length, busy, in queue, then count, bytes and time of reads and of writes
//! ```

use super::block::{Packer, Unpacker};
use super::column::Column;
use block::{Bytes, Span};
use stats::run::{CpuTimes, DeviceRow, HostRow, MemoryUse, Moved, Pressure, Stall};

/// A row as a list of figures, in the order of the database's columns; `None` if not known.
pub(super) trait Figures: Sized {
    /// Number of figures.
    const COUNT: usize;

    /// The figures; the first two are start and length.
    fn figures(&self) -> Vec<Option<u64>>;

    /// Restores a row; `None` if a figure is missing that is always known.
    fn from_figures(figures: &[Option<u64>]) -> Option<Self>;
}

impl Figures for HostRow {
    const COUNT: usize = 19;

    fn figures(&self) -> Vec<Option<u64>> {
        let HostRow { start, length, cpu, pressure, memory } = self;
        let cpu = |of: fn(&CpuTimes) -> Span| cpu.as_ref().map(of);
        let some = |stall: Option<Stall>| stall.map(|stall| stall.some);
        let full = |stall: Option<Stall>| stall.map(|stall| stall.full);
        let spans = [
            Some(*start),
            Some(*length),
            cpu(|cpu| cpu.user),
            cpu(|cpu| cpu.nice),
            cpu(|cpu| cpu.system),
            cpu(|cpu| cpu.irq),
            cpu(|cpu| cpu.softirq),
            cpu(|cpu| cpu.steal),
            cpu(|cpu| cpu.iowait),
            cpu(|cpu| cpu.idle),
            some(pressure.cpu),
            some(pressure.io),
            full(pressure.io),
            some(pressure.memory),
            full(pressure.memory),
        ];
        let bytes = |of: fn(&MemoryUse) -> Bytes| memory.as_ref().map(|memory| of(memory).0);
        let memory = [bytes(|m| m.available), bytes(|m| m.cached), bytes(|m| m.dirty), bytes(|m| m.writeback)];
        spans.into_iter().map(|span| span.map(Span::as_nanos)).chain(memory).collect()
    }

    fn from_figures(figures: &[Option<u64>]) -> Option<HostRow> {
        let span = |at: usize| figures[at].map(Span::from_nanos);
        let bytes = |at: usize| figures[at].map(Bytes);
        let cpu = || {
            Some(CpuTimes {
                user: span(2)?,
                nice: span(3)?,
                system: span(4)?,
                irq: span(5)?,
                softirq: span(6)?,
                steal: span(7)?,
                iowait: span(8)?,
                idle: span(9)?,
            })
        };
        let memory =
            || Some(MemoryUse { available: bytes(15)?, cached: bytes(16)?, dirty: bytes(17)?, writeback: bytes(18)? });
        let stall = |some: usize, full| Some(Stall { some: span(some)?, full: full? });
        let pressure =
            Pressure { cpu: stall(10, Some(Span::ZERO)), io: stall(11, span(12)), memory: stall(13, span(14)) };
        Some(HostRow { start: span(0)?, length: span(1)?, cpu: cpu(), pressure, memory: memory() })
    }
}

impl Figures for DeviceRow {
    const COUNT: usize = 10;

    fn figures(&self) -> Vec<Option<u64>> {
        let DeviceRow { start, length, busy, in_queue, reads, writes } = self;
        let moved = |moved: &Moved| [moved.count, moved.bytes.0, moved.took.as_nanos()];
        let spans = [start, length, busy, in_queue].map(|span| span.as_nanos());
        spans.into_iter().chain(moved(reads)).chain(moved(writes)).map(Some).collect()
    }

    fn from_figures(figures: &[Option<u64>]) -> Option<DeviceRow> {
        let span = |at: usize| figures[at].map(Span::from_nanos);
        let moved =
            |at: usize| Some(Moved { count: figures[at]?, bytes: Bytes(figures[at + 1]?), took: span(at + 2)? });
        let (start, length, busy, in_queue) = (span(0)?, span(1)?, span(2)?, span(3)?);
        Some(DeviceRow { start, length, busy, in_queue, reads: moved(4)?, writes: moved(7)? })
    }
}

/// Packs rows into a block.
pub(super) fn pack<R: Figures>(rows: &[R]) -> Vec<u8> {
    let rows: Vec<Vec<Option<u64>>> = rows.iter().map(Figures::figures).collect();
    let column = |at: usize| -> Column { rows.iter().map(|row| row[at]).collect() };
    let mut out = Packer::of(rows.len());
    out.starts(&column(0), &column(1));
    (2..R::COUNT).for_each(|at| out.column(&column(at)));
    out.finish()
}

/// Reverses [`pack`]; `None` if the bytes are invalid.
pub(super) fn unpack<R: Figures>(bytes: &[u8]) -> Option<Vec<R>> {
    let mut from = Unpacker::of(bytes)?;
    let (start, length) = from.starts()?;
    let rest = (2..R::COUNT).map(|_| from.column());
    let columns: Vec<Column> = [start, length].into_iter().map(Some).chain(rest).collect::<Option<_>>()?;
    (0..from.rows).map(|row| R::from_figures(&columns.iter().map(|column| column[row]).collect::<Vec<_>>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn figures(count: usize) -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(any::<u64>(), count..=count)
    }

    proptest! {
        /// Rows survive packing, whichever figures are known.
        #[test]
        fn rows_come_back_as_they_were(
            rows in prop::collection::vec((figures(HostRow::COUNT), any::<[bool; 5]>()), 0..70),
            devices in prop::collection::vec(figures(DeviceRow::COUNT), 0..70),
        ) {
            let host = |(figures, known): &(Vec<u64>, [bool; 5])| {
                let [cpu, cpu_pressure, io, memory_pressure, memory] = *known;
                let of = |at: usize| match at {
                    0..2 => true,
                    2..10 => cpu,
                    10 => cpu_pressure,
                    11 | 12 => io,
                    13 | 14 => memory_pressure,
                    _ => memory,
                };
                HostRow::from_figures(&figures.iter().enumerate().map(|(at, figure)| of(at).then_some(*figure)).collect::<Vec<_>>())
            };
            let rows: Vec<HostRow> = rows.iter().map(|row| host(row).unwrap()).collect();
            prop_assert_eq!(unpack(&pack(&rows)), Some(rows));
            let device = |figures: &Vec<u64>| DeviceRow::from_figures(&figures.iter().copied().map(Some).collect::<Vec<_>>());
            let rows: Vec<DeviceRow> = devices.iter().map(|row| device(row).unwrap()).collect();
            prop_assert_eq!(unpack(&pack(&rows)), Some(rows));
        }

        /// Reading arbitrary bytes, as from a damaged file, never panics.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (unpack::<HostRow>(&bytes), unpack::<DeviceRow>(&bytes));
            let ours = [Packer::of(3).finish(), bytes].concat();
            let _ = (unpack::<HostRow>(&ours), unpack::<DeviceRow>(&ours));
        }
    }
}
