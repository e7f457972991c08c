//! Read-ahead: detects sequential streams and fetches what they will ask for next.

/// Streams that are watched. A new one replaces the least recently used.
const STREAMS: usize = 32;
/// Consecutive reads that make a stream.
const IN_ROW: u32 = 3;
/// The first window in bytes; it doubles each time the stream gets close to its end.
const FIRST: u64 = 128 << 10;
/// The largest window: what an ordinary disk needs to be busy.
const MOST: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    object: u64,
    /// Where the next read is expected.
    next: u64,
    in_row: u32,
    /// Everything before this was requested.
    fetched: u64,
    window: u64,
    used: u64,
}

/// What to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// The object.
    pub object: u64,
    /// The first byte.
    pub at: u64,
    /// The length in bytes.
    pub len: u64,
}

/// The streams.
#[derive(Default)]
pub struct ReadAhead {
    streams: [Stream; STREAMS],
    reads: u64,
}

impl ReadAhead {
    /// A client reads `len` bytes at `at`, and of its stream at most `most` bytes may be read ahead
    /// at once. Returns what to read ahead, which may exceed the object's end.
    pub fn read(&mut self, (object, at, len): (u64, u64, u64), most: u64) -> Option<Ahead> {
        self.reads += 1;
        let reads = self.reads;
        let ours = |stream: &Stream| stream.used > 0 && stream.object == object;
        let Some(stream) = self.streams.iter_mut().find(|stream| ours(stream) && stream.next == at) else {
            // What was just read is read again: that is no stream of its own.
            if self.streams.iter().any(|stream| ours(stream) && stream.next == at + len) {
                return None;
            }
            let oldest = self.streams.iter_mut().min_by_key(|stream| stream.used)?;
            *oldest = Stream { object, next: at + len, in_row: 1, fetched: 0, window: FIRST, used: reads };
            return None;
        };
        (stream.next, stream.used, stream.in_row) = (at + len, reads, stream.in_row + 1);
        stream.window = stream.window.min(most);
        // Half of the last window is left: fetch the next one, so that it is there in time.
        if stream.window == 0 || stream.in_row < IN_ROW || stream.next + stream.window / 2 < stream.fetched {
            return None;
        }
        let from = stream.fetched.max(stream.next);
        let ahead = Ahead { object, at: from, len: stream.window };
        stream.fetched = from + stream.window;
        stream.window = (stream.window * 2).min(MOST).min(most);
        Some(ahead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reads each piece twice has one stream, not two that both fetch what comes next.
    #[test]
    fn what_is_read_again_is_no_other_stream() {
        let (mut once, mut twice) = (ReadAhead::default(), ReadAhead::default());
        for at in (0..1 << 20).step_by(4096) {
            let expected = once.read((1, at, 4096), MOST);
            assert_eq!(twice.read((1, at, 4096), MOST), expected);
            assert_eq!(twice.read((1, at, 4096), MOST), None);
        }
    }

    /// Where little can be kept, no more than that is fetched at once and before it is needed, and
    /// nothing where nothing can.
    #[test]
    fn a_window_is_bounded_by_what_can_be_kept() {
        let mut ahead = ReadAhead::default();
        let mut end = 0;
        for read in 0..1000u64 {
            let most = if read < 900 { 64 << 10 } else { 0 };
            let found = ahead.read((7, read * 4096, 4096), most);
            assert!(found.is_none_or(|found| found.len <= most), "{read}: {found:?}");
            end = found.map_or(end, |found| found.at + found.len);
            assert!(end <= (read + 1) * 4096 + (96 << 10), "{read}: {end}");
        }
        assert!(end >= 899 * 4096, "{end}");
    }

    #[test]
    fn a_stream_is_fetched_ahead_once_and_nothing_else_is() {
        let mut ahead = ReadAhead::default();
        let (mut fetched, mut last) = (0, 0);
        for read in 0..1000u64 {
            if let Some(found) = ahead.read((7, read * 4096, 4096), MOST) {
                assert!(read >= 2 && found.at >= (read + 1) * 4096, "never what was read");
                assert!(last == 0 || found.at == last, "one after the other");
                (fetched, last) = (fetched + found.len, found.at + found.len);
            }
            // Another client reads at random.
            assert_eq!(ahead.read((8, (read * 7919 % 1000) * 8192, 4096), MOST), None);
        }
        // Everything from the fourth read on, and at most 1.5 windows too much.
        assert!((997 * 4096..1000 * 4096 + (3 << 19)).contains(&fetched), "{fetched}");
    }
}
