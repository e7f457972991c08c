//! The binary dump of a blktrace recording, as written by `blkparse -d`: records of 48 bytes in the
//! byte order of the machine that recorded it.
//!
//! ```text
//!    0 magic 0x65617407   4 sequence    8 time, ns         16 sector (512 bytes)
//!   24 bytes             28 action     32 process  36 device  40 cpu  44 error, 2 bytes  46 length of what follows, 2 bytes
//! ```
//! The layout is that of `struct blk_io_trace` in the kernel's `include/uapi/linux/blktrace_api.h`.
//! Only the arrival (`Q`) of a request is used, as in fio; later stages depend on the recorded
//! device. The lower half of `action` is what happened, the upper half is the kind of request as
//! bits.

use super::{Action, Event, TraceError};
use block::Time;

const RECORD_BYTES: usize = 48;
/// The last byte is the version of the format.
const MAGIC: u32 = 0x6561_7407;
const QUEUE: u32 = 1;
const SECTOR_BYTES: u64 = 512;

const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PC: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;

/// Reads a dump event by event.
#[derive(Clone, Debug)]
pub struct Blktrace<'b> {
    bytes: &'b [u8],
    at: usize,
    big_endian: bool,
    start: Option<u64>,
    devices: Vec<u32>,
    failed: bool,
}

impl<'b> Blktrace<'b> {
    /// A reader for a whole dump; `None` if it does not begin like one.
    pub fn new(bytes: &'b [u8]) -> Option<Blktrace<'b>> {
        let magic: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
        let big_endian = match magic {
            _ if u32::from_le_bytes(magic) == MAGIC => false,
            _ if u32::from_be_bytes(magic) == MAGIC => true,
            _ => return None,
        };
        Some(Blktrace { bytes, at: 0, big_endian, start: None, devices: Vec::new(), failed: false })
    }

    /// The devices found so far, as `major:minor`.
    pub fn into_files(self) -> Vec<String> {
        // The kernel's encoding of a device number: twelve bits and twenty bits.
        self.devices.iter().map(|device| format!("{}:{}", device >> 20, device & 0xf_ffff)).collect()
    }

    /// The next record; `None` at the end.
    fn record(&mut self) -> Result<Option<Record<'b>>, TraceError> {
        let wrong = |rule| TraceError::Record { at: self.at as u64, rule };
        let rest = &self.bytes[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let bytes = rest.get(..RECORD_BYTES).ok_or_else(|| wrong("the last record is cut off"))?;
        let record = Record { bytes, big_endian: self.big_endian };
        if record.u32(0) != MAGIC {
            return Err(wrong("no record begins here; the dump is damaged"));
        }
        let whole = RECORD_BYTES + usize::from(record.u16(46));
        if rest.len() < whole {
            return Err(wrong("what belongs to the last record is cut off"));
        }
        self.at += whole;
        Ok(Some(record))
    }

    /// The meaning of a record; `None` if it is not the arrival of a request.
    fn event(&mut self, record: &Record<'_>) -> Option<Event> {
        let action = record.u32(28);
        let (what, kind) = (action & 0xffff, action >> 16);
        if what != QUEUE || kind & (NOTIFY | PC) != 0 {
            return None;
        }
        let len = record.u32(24);
        let action = match kind {
            kind if kind & DISCARD != 0 => Action::Trim,
            kind if kind & WRITE != 0 && len > 0 => Action::Write,
            kind if kind & FLUSH != 0 => Action::Flush { data_only: false },
            _ => Action::Read,
        };
        let is_flush = matches!(action, Action::Flush { .. });
        if len == 0 && !is_flush {
            return None;
        }
        let at = if is_flush { 0 } else { record.u64(16).saturating_mul(SECTOR_BYTES) };
        let len = if is_flush { 0 } else { len };
        let time = record.u64(8);
        let start = *self.start.get_or_insert(time);
        let due = Time::from_nanos(time.saturating_sub(start));
        Some(Event { due, file: self.index_of(record.u32(36)), action, at, len })
    }

    fn index_of(&mut self, device: u32) -> u32 {
        let known = self.devices.iter().position(|known| *known == device);
        let index = known.unwrap_or_else(|| {
            self.devices.push(device);
            self.devices.len() - 1
        });
        index as u32
    }
}

impl Iterator for Blktrace<'_> {
    type Item = Result<Event, TraceError>;

    /// The next request. There is none after an error.
    fn next(&mut self) -> Option<Result<Event, TraceError>> {
        while !self.failed {
            match self.record() {
                Ok(None) => return None,
                Ok(Some(record)) => {
                    if let Some(event) = self.event(&record) {
                        return Some(Ok(event));
                    }
                }
                Err(error) => {
                    self.failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// The fixed part of a record.
#[derive(Clone, Copy)]
struct Record<'b> {
    bytes: &'b [u8],
    big_endian: bool,
}

impl Record<'_> {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.bytes[at..at + N]);
        if self.big_endian {
            field.reverse();
        }
        field
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.field(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.field(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.field(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Trace;
    use super::*;

    struct Made {
        time: u64,
        sector: u64,
        len: u32,
        action: u32,
        extra: &'static [u8],
    }

    /// A record in the kernel's layout, of device 8:16.
    fn bytes(made: &Made, big_endian: bool) -> Vec<u8> {
        let device: u32 = 8 << 20 | 16;
        let mut bytes = Vec::new();
        let mut put = |little: &[u8]| {
            let mut field = little.to_vec();
            if big_endian {
                field.reverse();
            }
            bytes.extend(field);
        };
        put(&MAGIC.to_le_bytes());
        put(&7u32.to_le_bytes());
        put(&made.time.to_le_bytes());
        put(&made.sector.to_le_bytes());
        put(&made.len.to_le_bytes());
        put(&made.action.to_le_bytes());
        put(&42u32.to_le_bytes());
        put(&device.to_le_bytes());
        put(&0u32.to_le_bytes());
        put(&0u16.to_le_bytes());
        put(&(made.extra.len() as u16).to_le_bytes());
        bytes.extend(made.extra);
        bytes
    }

    fn recording(big_endian: bool) -> Vec<u8> {
        let (read, complete, issue) = (1, 8, 7);
        let queue = |kind: u32| kind << 16 | QUEUE;
        let record = |time, sector, len, action, extra| Made { time, sector, len, action, extra };
        [
            // Most recordings begin with a note of the process's name.
            record(900, 0, 0, NOTIFY << 16, b"fio\0"),
            record(1_000, 8, 4096, queue(read), b""),
            record(1_500, 8, 4096, read << 16 | issue, b""),
            record(2_000, 16, 8192, queue(WRITE), b"xyz"),
            record(2_500, 8, 4096, read << 16 | complete, b""),
            record(3_000, 0, 0, queue(WRITE | FLUSH), b""),
            record(4_000, 32, 65_536, queue(WRITE | DISCARD), b""),
            record(5_000, 0, 96, queue(PC | read), b""),
        ]
        .iter()
        .flat_map(|made| bytes(made, big_endian))
        .collect()
    }

    #[test]
    fn arrivals_are_taken_in_either_byte_order() {
        for big_endian in [false, true] {
            let trace = Trace::read(&recording(big_endian)).unwrap();
            assert_eq!(trace.files, ["8:16"]);
            let events: Vec<_> = trace.events.iter().map(|e| (e.due.as_nanos(), e.action, e.at, e.len)).collect();
            let expected = [
                (0, Action::Read, 8 * 512, 4096),
                (1_000, Action::Write, 16 * 512, 8192),
                (2_000, Action::Flush { data_only: false }, 0, 0),
                (3_000, Action::Trim, 32 * 512, 65_536),
            ];
            assert_eq!(events, expected);
        }
    }

    #[test]
    fn a_dump_that_is_cut_or_damaged_says_where() {
        let whole = recording(false);
        let cut = Trace::read(&whole[..whole.len() - 1]).unwrap_err();
        // The last of eight records begins 48 bytes before the end.
        assert_eq!(cut, TraceError::Record { at: whole.len() as u64 - 48, rule: "the last record is cut off" });
        let mut damaged = whole;
        damaged[52] = 0;
        assert!(matches!(Trace::read(&damaged), Err(TraceError::Record { at: 52, .. })));
        assert_eq!(Trace::read(b"ELF"), Err(TraceError::Unknown));
    }
}
