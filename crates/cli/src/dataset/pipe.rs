//! A stream of large reads or writes to one place. Several are in flight while the next is being
//! prepared.
//!
//! ```text
//!   make 5 ── write 4 ── write 3 ── write 2 ──►      at most DEPTH on their way; the oldest must end before the next begins
//! ```
//! So wherever writing ends, all but the last DEPTH pieces are complete.

use super::Place;
use anyhow::{Result, bail};
use block::{Actor, Bytes, Driver as _, Fault, ObjectId, Op, Request, Submitted, Target, Time, Wait, Wakeup, drive};
use ramp::BLOCK;
use std::cell::Cell;
use std::collections::VecDeque;
use storage::{How, Intent, Opened, Permit};
use uring::disk::Create;
use uring::{Io, IoSettings};

/// Maximum number of pieces in flight.
pub const DEPTH: usize = 8;
/// Maximum size of a piece in bytes.
pub const PIECE: u64 = 1 << 20;

/// The stream.
pub struct Pipe {
    io: Io,
    target: Box<dyn Target>,
    size: u64,
    /// Bytes of a piece: the largest request of the place, at most [`PIECE`].
    piece: u64,
    flushes: bool,
    /// The pieces in flight, in order, and whether each has ended.
    flying: VecDeque<(u64, bool)>,
    failed: Option<Fault>,
}

impl Pipe {
    /// Opens a place for reading.
    ///
    /// # Errors
    /// It does not exist, or blocks of 8 KiB cannot be read from it.
    pub fn reading(place: &Place) -> Result<Pipe> {
        Pipe::open(&Permit::ask(place, Intent::Read)?)
    }

    /// Opens the place of a permit.
    ///
    /// # Errors
    /// Blocks of 8 KiB cannot be written to it, or it cannot be opened.
    pub fn open(permit: &Permit) -> Result<Pipe> {
        Pipe::open_or_make(permit, Create::Never)
    }

    /// [`Pipe::open`], optionally creating a file. Files are opened with direct I/O, or through the
    /// page cache if the file system does not support that.
    pub fn open_or_make(permit: &Permit, create: Create) -> Result<Pipe> {
        let permit = permit.clone().over_one_connection();
        // The parts of a split request have memory of their own, and each export receives into its
        // own.
        let copies = if permit.splits() { 2 } else { 1 };
        let received = u64::from(permit.connections().saturating_sub(1)) * storage::NbdTarget::MEMORY.0 * 2;
        let slab = Bytes(PIECE * (DEPTH as u64 + 2) * copies + (1 << 20) + received);
        let io = Io::open(&IoSettings {
            slab,
            in_flight: 64,
            entries: 64,
            files: 8 + permit.files() + permit.connections(),
            ..IoSettings::default()
        })?;
        // The pieces are sent one after the other, so more connections would not be faster.
        let how = How { create, fallback: Some(BLOCK as u32), ..How::default() };
        let Opened { target, sizes, align, flushes, .. } = permit.open(&io, how)?;
        let (place, longest) = (permit.place(), target.traits().longest);
        if u64::from(align) > BLOCK {
            bail!("{place}: it takes pieces of {align} bytes, the database writes 8 KiB");
        }
        let piece = u64::from(longest).min(PIECE) / BLOCK * BLOCK;
        if piece == 0 {
            bail!("{place}: it takes {longest} bytes at once, the database writes 8 KiB");
        }
        Ok(Pipe { io, target, size: sizes[0].0, piece, flushes, flying: VecDeque::new(), failed: None })
    }

    /// Its size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Maximum size of one write in bytes.
    pub fn piece(&self) -> u64 {
        self.piece
    }

    /// Writes `len` bytes, produced by `fill`, at `at`. The write may still be in flight
    /// afterwards.
    ///
    /// # Errors
    /// This or an earlier write failed.
    pub fn write(&mut self, at: u64, len: u64, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut buf = loop {
            match self.io.take(len as u32) {
                Some(buf) => break buf,
                None => self.wait(Until::Event, &mut |_, _| ())?,
            }
        };
        self.io.with_mut(&mut buf, fill);
        self.submit(at, len, Op::Write(buf), &mut |_, _| ())
    }

    /// Waits until all writes have ended.
    ///
    /// # Errors
    /// One failed.
    pub fn finish(&mut self) -> Result<(), Fault> {
        self.wait(Until::Flying(0), &mut |_, _| ())
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The sync or an earlier write failed.
    pub fn sync(&mut self) -> Result<(), Fault> {
        self.finish()?;
        if self.flushes {
            self.submit(0, 0, Op::Flush, &mut |_, _| ())?;
        }
        self.finish()
    }

    /// Reads `from..to` in pieces. `each` is called with the start of a piece and its bytes, in any
    /// order, and ends the reading by returning false.
    ///
    /// # Errors
    /// A read failed.
    pub fn read(&mut self, from: u64, to: u64, mut each: impl FnMut(u64, &[u8]) -> bool) -> Result<(), Fault> {
        let (mut at, wanted) = (from, Cell::new(true));
        let mut see = |at: u64, bytes: &[u8]| wanted.set(wanted.get() && each(at, bytes));
        while at < to && wanted.get() {
            let len = self.piece.min(to - at);
            self.submit(at, len, Op::Read, &mut see)?;
            at += len;
        }
        self.wait(Until::Flying(0), &mut see)
    }

    /// The `len` bytes at `at`.
    ///
    /// # Errors
    /// A read failed.
    pub fn bytes(&mut self, at: u64, len: u64) -> Result<Vec<u8>, Fault> {
        let mut found = vec![0; len as usize];
        self.read(at, at + len, |place, bytes| {
            let from = (place - at) as usize;
            found[from..from + bytes.len()].copy_from_slice(bytes);
            true
        })?;
        Ok(found)
    }

    /// Submits a request, and waits until there is room for another.
    fn submit(&mut self, at: u64, len: u64, op: Op, see: &mut dyn FnMut(u64, &[u8])) -> Result<(), Fault> {
        let now = self.io.now();
        // A completion has its tag but not its position, so the position is the tag.
        let mut request = Request { tag: at, object: ObjectId(0), at, len, op, fua: false, due: now };
        loop {
            match self.target.submit(now, request) {
                Submitted::Taken(_) => break,
                Submitted::Full(back) => {
                    request = back;
                    self.wait(Until::Event, see)?;
                }
            }
        }
        self.flying.push_back((at, false));
        self.reap(now, see);
        self.io.turn(Some(now));
        self.wait(Until::Flying(DEPTH - 1), see)
    }

    fn wait(&mut self, until: Until, see: &mut dyn FnMut(u64, &[u8])) -> Result<(), Fault> {
        let mut driver = self.io.clone();
        let mut waiting = Waiting { pipe: self, until, see, passes: 0 };
        drive(&mut driver, std::slice::from_mut(&mut waiting), |_, _| Wait::Unbounded);
        self.failed.map_or(Ok(()), Err)
    }

    /// Processes completions.
    fn reap(&mut self, now: Time, see: &mut dyn FnMut(u64, &[u8])) {
        let mut ended = Vec::new();
        self.target.poll(now, &mut ended);
        for completion in ended {
            if let Err(fault) = completion.result {
                self.failed.get_or_insert(fault);
            }
            if let Some(buf) = completion.buf {
                if completion.kind == block::OpKind::Read && completion.result.is_ok() {
                    self.io.with(&buf, |bytes| see(completion.tag, bytes));
                }
                self.io.give(buf);
            }
            if let Some(place) = self.flying.iter_mut().find(|(tag, done)| *tag == completion.tag && !done) {
                place.1 = true;
            }
        }
        while self.flying.front().is_some_and(|(_, done)| *done) {
            self.flying.pop_front();
        }
    }
}

/// The condition that a pipe waits for.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    /// At most this many pieces are in flight.
    Flying(usize),
    /// An event: a piece ended, or a lost connection was restored.
    Event,
}

/// A waiting pipe.
struct Waiting<'a> {
    pipe: &'a mut Pipe,
    until: Until,
    see: &'a mut dyn FnMut(u64, &[u8]),
    passes: u32,
}

impl Actor for Waiting<'_> {
    fn pass(&mut self, now: Time) {
        self.pipe.reap(now, self.see);
        self.passes += 1;
    }

    fn next_wakeup(&self, _now: Time) -> Wakeup {
        self.pipe.target.next_wakeup()
    }

    fn is_over(&self, _now: Time) -> bool {
        match self.until {
            // A failure is returned at once; pieces in flight end with the pipe.
            _ if self.pipe.failed.is_some() => true,
            Until::Flying(most) => self.pipe.flying.len() <= most,
            Until::Event => self.passes > 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read back across pieces, and buffers never run out.
    #[test]
    fn a_file_is_written_and_read_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let place = Place::Path(path);
        let permit = Permit::ask(&place, Intent::Write(&Default::default())).unwrap();
        let mut pipe = Pipe::open_or_make(&permit, Create::New).unwrap();
        for piece in 0..20u64 {
            pipe.write(piece * PIECE, PIECE, |bytes| bytes.fill(piece as u8)).unwrap();
            assert!(pipe.flying.len() < DEPTH);
        }
        pipe.sync().unwrap();
        let mut pipe = Pipe::reading(&place).unwrap();
        assert_eq!(pipe.size(), 20 * PIECE);
        let mut seen = 0;
        pipe.read(PIECE / 2, 20 * PIECE, |at, bytes| {
            let right = |(i, byte): (usize, &u8)| u64::from(*byte) == (at + i as u64) / PIECE;
            assert!(bytes.iter().enumerate().all(right), "{at}");
            seen += bytes.len() as u64;
            true
        })
        .unwrap();
        assert_eq!(seen, 20 * PIECE - PIECE / 2);
    }

    /// Reading beyond the end fails and does not hang.
    #[test]
    fn failures_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![0; 8192]).unwrap();
        let mut pipe = Pipe::reading(&Place::Path(path)).unwrap();
        assert!(pipe.read(0, 4 * PIECE, |_, _| true).is_err());
        assert!(Pipe::reading(&Place::Path("/nowhere".into())).is_err());
    }
}
