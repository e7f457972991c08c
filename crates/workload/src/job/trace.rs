//! Requests that were recorded elsewhere: fio's iolog (versions 2 and 3) and the kernel's blktrace.
//!
//! ```text
//!   fio version 2 iolog          fio version 3 iolog            blktrace: records of 48 bytes
//!   FILE add                     13 FILE add                    magic 0x65617407, time in ns, sector of 512 bytes,
//!   FILE write 4096 8192         152 FILE read 0 4096           bytes, action; then as many bytes of text as it says
//!   FILE wait 500 0              (time from the start, in µs)   (linux/blktrace_api.h; only `queue` is a request)
//! ```
//! Times of version 2 are pauses between requests, in microseconds from the pause before.

use super::Direction;
use block::Span;

/// Requests in the order of their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Names of the files or devices, as recorded.
    pub files: Vec<String>,
    /// The requests.
    pub rows: Vec<TraceRow>,
}

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRow {
    /// When it was made, from the start of the recording.
    pub at: Span,
    /// What it asked.
    pub ask: TraceAsk,
    /// Which of [`Trace::files`].
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a flush.
    pub len: u32,
}

/// What a recorded request asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceAsk {
    /// To move data, or to give space back.
    Move(Direction),
    /// To make writes durable, with all that describes the file or without.
    Flush {
        /// As `fsync`; otherwise as `fdatasync`.
        whole: bool,
    },
}

/// A recording to be run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// What was recorded; shared, because it may be large and jobs have clones.
    pub trace: std::sync::Arc<Trace>,
    /// Requests are due at this percentage of their recorded times: 100 as recorded, 50 twice as fast.
    pub time_percent: u32,
    /// Times are left aside: each request is made as soon as there is room.
    pub at_once: bool,
    /// All requests go to the first file.
    pub one_file: bool,
}

/// Why a recording cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// The first line or number is none that is known.
    #[error("neither an iolog of version 2 or 3 nor a blktrace: it begins with {0:?}")]
    Kind(String),
    /// A line cannot be understood.
    #[error("line {line}: must be {rule}, got {given:?}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What it must be.
        rule: &'static str,
        /// What it is.
        given: String,
    },
    /// A record is not one, or the file ends within it.
    #[error("byte {at}: {rule}")]
    Record {
        /// Where it begins.
        at: usize,
        /// What is wrong with it.
        rule: &'static str,
    },
    /// Nothing is asked.
    #[error("it has no requests")]
    Empty,
}

/// The longest request that is run again: what a job may ask.
const LEN_MOST: u64 = 64 << 20;

impl Trace {
    /// Reads a recording of any kind.
    ///
    /// # Errors
    /// See [`TraceError`].
    pub fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
        let first = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let mut trace = match first.trim_ascii_end() {
            b"fio version 2 iolog" => of_lines(bytes, false)?,
            b"fio version 3 iolog" => of_lines(bytes, true)?,
            _ if is_record(bytes) => of_records(bytes)?,
            other => {
                let start = &other[..other.len().min(40)];
                return Err(TraceError::Kind(String::from_utf8_lossy(start).into_owned()));
            }
        };
        if trace.rows.is_empty() {
            return Err(TraceError::Empty);
        }
        // The processors' buffers of a blktrace come one after the other, each in its own order.
        trace.rows.sort_by_key(|row| row.at);
        let start = trace.rows[0].at;
        trace.rows.iter_mut().for_each(|row| row.at = row.at.saturating_sub(start));
        Ok(trace)
    }

    /// How long a file must be for all requests on it.
    pub fn extent(&self, file: u32) -> u64 {
        let ends = self.rows.iter().filter(|row| row.file == file).map(|row| row.offset + u64::from(row.len));
        ends.max().unwrap_or(0)
    }

    /// The longest request, in bytes.
    pub fn longest(&self) -> u32 {
        self.rows.iter().map(|row| row.len).max().unwrap_or(0)
    }

    /// How many requests move data in this direction.
    pub fn count(&self, direction: Direction) -> u64 {
        self.rows.iter().filter(|row| row.ask == TraceAsk::Move(direction)).count() as u64
    }

    fn file(&mut self, name: &str) -> u32 {
        let known = self.files.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.files.push(name.to_owned());
            self.files.len() - 1
        }) as u32
    }
}

fn of_lines(bytes: &[u8], timed: bool) -> Result<Trace, TraceError> {
    let text = String::from_utf8_lossy(bytes);
    let (mut trace, mut now) = (Trace::default(), Span::ZERO);
    for (index, line) in text.lines().enumerate().skip(1) {
        let wrong = |rule| TraceError::Line { line: index + 1, rule, given: line.to_owned() };
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let words = match (timed, &words[..]) {
            (_, []) => continue,
            (true, [time, rest @ ..]) => {
                let rule = "a time in microseconds, a file, an action, and for a request its offset and length";
                now = Span::from_micros(time.parse().map_err(|_| wrong(rule))?);
                rest
            }
            (false, words) => words,
        };
        let (name, action, numbers) = match words {
            [name, action] => (*name, *action, None),
            [name, action, offset, len] => (*name, *action, Some((*offset, *len))),
            _ => return Err(wrong("a file, an action, and for a request its offset and length")),
        };
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong("whole numbers behind the action"));
        let (offset, len) = match numbers {
            Some((offset, len)) => (number(offset)?, number(len)?),
            None => (0, 0),
        };
        let ask = match action {
            "add" | "open" | "close" => continue,
            "wait" => {
                now += Span::from_micros(offset);
                continue;
            }
            "read" => TraceAsk::Move(Direction::Read),
            "write" => TraceAsk::Move(Direction::Write),
            "trim" => TraceAsk::Move(Direction::Trim),
            "sync" => TraceAsk::Flush { whole: true },
            "datasync" => TraceAsk::Flush { whole: false },
            _ => return Err(wrong("one of the actions add, open, close, read, write, trim, sync, datasync, wait")),
        };
        if matches!(ask, TraceAsk::Move(_)) && !(1..=LEN_MOST).contains(&len) {
            return Err(wrong("a length from 1 byte to 64 MiB"));
        }
        let file = trace.file(name);
        trace.rows.push(TraceRow { at: now, ask, file, offset, len: len as u32 });
    }
    Ok(trace)
}

/// `BLK_IO_TRACE_MAGIC` with version 7, in either byte order.
const MAGIC: u32 = 0x6561_7407;
/// Length of `struct blk_io_trace`.
const RECORD: usize = 48;
/// `__BLK_TA_QUEUE`: a request was queued; the other actions tell how it went on.
const QUEUED: u32 = 1;
/// Categories in the upper half of the action.
const WRITES: u32 = 1 << 1;
const FLUSHES: u32 = 1 << 2;
const NOTIFIES: u32 = 1 << 10;
const DISCARDS: u32 = 1 << 13;

fn is_record(bytes: &[u8]) -> bool {
    let magic = bytes.first_chunk::<4>().copied().unwrap_or_default();
    [u32::from_le_bytes(magic), u32::from_be_bytes(magic)].contains(&MAGIC)
}

fn of_records(bytes: &[u8]) -> Result<Trace, TraceError> {
    let swapped = bytes.first_chunk::<4>().copied().map(u32::from_be_bytes) == Some(MAGIC);
    let mut trace = Trace::default();
    let mut at = 0;
    while at < bytes.len() {
        let broken = |rule| TraceError::Record { at, rule };
        let record = bytes.get(at..at + RECORD).ok_or(broken("the file ends within a record"))?;
        // A field of up to eight bytes, in the writer's order.
        let field = |start: usize, len: usize| {
            let bytes = record[start..start + len].iter();
            let join = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
            if swapped { bytes.fold(0, join) } else { bytes.rev().fold(0, join) }
        };
        if field(0, 4) != u64::from(MAGIC) {
            return Err(broken("no record begins here: its magic number is not 0x65617407"));
        }
        let (time, sector, len, action) = (field(8, 8), field(16, 8), field(24, 4), field(28, 4) as u32);
        let category = action >> 16;
        if action & 0xffff == QUEUED && category & NOTIFIES == 0 {
            let ask = match category {
                category if category & DISCARDS != 0 => TraceAsk::Move(Direction::Trim),
                category if len == 0 && category & FLUSHES != 0 => TraceAsk::Flush { whole: false },
                category if category & WRITES != 0 => TraceAsk::Move(Direction::Write),
                _ => TraceAsk::Move(Direction::Read),
            };
            if matches!(ask, TraceAsk::Flush { .. }) || (1..=LEN_MOST).contains(&len) {
                let device = field(36, 4);
                // Major and minor, as the kernel's `MKDEV` packs them inside.
                let file = trace.file(&format!("{}:{}", device >> 20, device & 0xf_ffff));
                let offset = sector.saturating_mul(512);
                trace.rows.push(TraceRow { at: Span::from_nanos(time), ask, file, offset, len: len as u32 });
            }
        }
        at += RECORD + field(46, 2) as usize;
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moved(at_us: u64, direction: Direction, offset: u64, len: u32) -> TraceRow {
        TraceRow { at: Span::from_micros(at_us), ask: TraceAsk::Move(direction), file: 0, offset, len }
    }

    #[test]
    fn both_versions_of_the_iolog_are_read() {
        let three = "fio version 3 iolog\n22 f16 add\n145 f16 open\n152 f16 read 1011712 4096\n\
                     308123 f16 write 7884800 8192\n308200 f16 sync\n408213 f16 close\n";
        let trace = Trace::read(three.as_bytes()).unwrap();
        assert_eq!(trace.files, ["f16"]);
        // Times count from the first request.
        assert_eq!(trace.rows[0], moved(0, Direction::Read, 1_011_712, 4096));
        assert_eq!(trace.rows[1], moved(307_971, Direction::Write, 7_884_800, 8192));
        assert_eq!(trace.rows[2].ask, TraceAsk::Flush { whole: true });
        assert_eq!((trace.extent(0), trace.longest(), trace.count(Direction::Write)), (7_892_992, 8192, 1));
        let two = "fio version 2 iolog\na add\na open\na write 0 4096\na wait 500 0\nb trim 4096 4096\na datasync\n";
        let trace = Trace::read(two.as_bytes()).unwrap();
        assert_eq!(trace.files, ["a", "b"]);
        assert_eq!(trace.rows[1], TraceRow { file: 1, ..moved(500, Direction::Trim, 4096, 4096) });
        assert_eq!(trace.rows[2].ask, TraceAsk::Flush { whole: false });
    }

    /// A record of `struct blk_io_trace` with `text` behind it.
    fn record(time: u64, sector: u64, bytes: u32, action: u32, text: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(MAGIC.to_le_bytes());
        record.extend(1u32.to_le_bytes());
        record.extend(time.to_le_bytes());
        record.extend(sector.to_le_bytes());
        for field in [bytes, action, 77, 8 << 20 | 1, 0] {
            record.extend(field.to_le_bytes());
        }
        record.extend(0u16.to_le_bytes());
        record.extend((text.len() as u16).to_le_bytes());
        record.extend(text);
        record
    }

    #[test]
    fn a_blktrace_is_read_in_the_order_of_its_times() {
        let write = QUEUED | WRITES << 16;
        let dump = [
            record(3000, 16, 8192, write, b""),
            record(1000, 8, 4096, QUEUED | 1 << 16, b"some text"),
            // An issue of the same request, and a note: neither is a request of its own.
            record(1500, 8, 4096, 7 | 1 << 16, b""),
            record(1600, 0, 0, NOTIFIES << 16, b"fio"),
            record(4000, 0, 0, QUEUED | FLUSHES << 16, b""),
        ]
        .concat();
        let trace = Trace::read(&dump).unwrap();
        assert_eq!(trace.files, ["8:1"]);
        assert_eq!(trace.rows[0], moved(0, Direction::Read, 4096, 4096));
        assert_eq!(trace.rows[1], moved(2, Direction::Write, 8192, 8192));
        assert_eq!(trace.rows[2].ask, TraceAsk::Flush { whole: false });
        let cut = Trace::read(&dump[..dump.len() - 1]).unwrap_err();
        assert_eq!(cut.to_string(), format!("byte {}: the file ends within a record", 4 * RECORD + 12));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Trace::read(text.as_bytes()).unwrap_err().to_string();
        assert!(error("fio version 4 iolog\n").starts_with("neither an iolog of version 2 or 3"));
        let line = error("fio version 2 iolog\nf add\nf raed 0 4096\n");
        assert!(line.starts_with("line 3: must be one of the actions"), "{line}");
        assert!(error("fio version 3 iolog\nf read 0 4096\n").contains("a time in microseconds"));
        assert!(error("fio version 2 iolog\nf read 0 0\n").contains("from 1 byte to 64 MiB"));
        assert_eq!(error("fio version 2 iolog\nf add\n"), "it has no requests");
    }

    proptest! {
        /// Whatever the bytes are, reading them ends with an answer.
        #[test]
        fn any_bytes_are_read_or_refused(kind in 0usize..4, rest: Vec<u8>) {
            let magic = MAGIC.to_le_bytes();
            let start: &[u8] = [&b"fio version 2 iolog\n"[..], b"fio version 3 iolog\n", &magic, b""][kind];
            let _ = Trace::read(&[start, &rest].concat());
        }
    }
}
