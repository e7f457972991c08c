//! A stream of large reads or writes to one place, several on their way while the next is being made.
//!
//! ```text
//!   make 5 ── write 4 ── write 3 ── write 2 ──►      at most DEPTH on their way; the oldest must end before the next begins
//! ```
//! So when writing ends anywhere, everything but the last DEPTH pieces is there.

use super::place::Place;
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Driver as _, Fault, ObjectId, Op, Request, Submitted, Target, Wakeup};
use engine::local::{LocalFile, NullTarget, RingTarget};
use engine::{Export, NbdTarget};
use ramp::BLOCK;
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use uring::disk::{Cache, Create, OpenError, Opening};
use uring::{Io, IoSettings};

/// Pieces on their way at most.
pub const DEPTH: usize = 4;
/// Bytes of a piece at most.
pub const PIECE: u64 = 1 << 20;

/// The stream.
pub struct Pipe {
    io: Io,
    target: Box<dyn Target>,
    size: u64,
    /// Bytes of a piece: what the place takes at once, at most [`PIECE`].
    piece: u64,
    flushes: bool,
    /// What is on its way, in order, and whether it has ended.
    flying: VecDeque<(u64, bool)>,
    failed: Option<Fault>,
}

impl Pipe {
    /// Opens a place, for writing too with `write`.
    ///
    /// # Errors
    /// It is not there, or is none that blocks of 8 KiB can be written to.
    pub fn open(place: &Place, write: bool) -> Result<Pipe> {
        match place {
            Place::Path(path) => Pipe::of_file(path, write, Create::Never),
            Place::Nbd { export, .. } => {
                // The pieces go one after the other: more connections would not make them faster.
                let export = Export { connections: 1, ..(**export).clone() };
                let io = worker()?;
                let target = NbdTarget::open(&io, &export, true)?;
                let (flushes, traits) = (target.flushes(), target.traits());
                if write && traits.read_only {
                    bail!("{place}: is exported read-only; make it writable at its server");
                }
                Pipe::on(io, Box::new(target), traits.size.0, traits.align, flushes).with_context(|| place.to_string())
            }
            Place::Nothing(size) => Pipe::on(worker()?, Box::new(NullTarget::new(*size)), size.0, 1, true),
        }
    }

    /// Opens a file or a device past the page cache, or through it where the file system has no other way.
    pub fn of_file(path: &Path, write: bool, create: Create) -> Result<Pipe> {
        let opening = |cache| Opening { cache, write, create, mode: 0o644 };
        let disk = match uring::disk::open(path, opening(Cache::Direct)) {
            Err(OpenError::NoDirect(_)) => uring::disk::open(path, opening(Cache::Page)),
            Ok(disk) if u64::from(disk.align) > BLOCK && !disk.is_device => {
                uring::disk::open(path, opening(Cache::Page))
            }
            opened => opened,
        }?;
        let io = worker()?;
        let (size, align) = (disk.size, disk.align);
        let target = RingTarget::new(&io, vec![LocalFile { file: disk.file, size, align }]);
        Pipe::on(io, Box::new(target), size.0, align, true).with_context(|| path.display().to_string())
    }

    fn on(io: Io, target: Box<dyn Target>, size: u64, align: u32, flushes: bool) -> Result<Pipe> {
        if u64::from(align) > BLOCK {
            bail!("it takes pieces of {align} bytes, the database writes 8 KiB");
        }
        let piece = u64::from(target.traits().longest).min(PIECE) / BLOCK * BLOCK;
        if piece == 0 {
            bail!("it takes {} bytes at once, the database writes 8 KiB", target.traits().longest);
        }
        Ok(Pipe { io, target, size, piece, flushes, flying: VecDeque::new(), failed: None })
    }

    /// Its size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of one write at most.
    pub fn piece(&self) -> u64 {
        self.piece
    }

    /// Writes `len` bytes at `at`, which `fill` makes. It may still be on its way afterwards.
    ///
    /// # Errors
    /// This or an earlier write failed.
    pub fn write(&mut self, at: u64, len: u64, fill: impl FnOnce(&mut [u8])) -> Result<(), Fault> {
        let mut buf = loop {
            match self.io.take(len as u32) {
                Some(buf) => break buf,
                None => self.turn(&mut |_, _| ())?,
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
        while !self.flying.is_empty() {
            self.turn(&mut |_, _| ())?;
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// That, or a write before it, failed.
    pub fn sync(&mut self) -> Result<(), Fault> {
        self.finish()?;
        if self.flushes {
            self.submit(0, 0, Op::Flush, &mut |_, _| ())?;
        }
        self.finish()
    }

    /// Reads `from..to` in pieces; `each` is shown where a piece begins and its bytes, in any order, and ends it early by
    /// returning false.
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
        while !self.flying.is_empty() {
            self.turn(&mut see)?;
        }
        self.failed.map_or(Ok(()), Err)
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

    /// Hands a request over, and waits until there is room for another.
    fn submit(&mut self, at: u64, len: u64, op: Op, see: &mut dyn FnMut(u64, &[u8])) -> Result<(), Fault> {
        let now = self.io.now();
        // A completion tells its tag and not its place, so the place is the tag.
        let mut request = Request { tag: at, object: ObjectId(0), at, len, op, fua: false, due: now };
        loop {
            match self.target.submit(now, request) {
                Submitted::Taken(_) => break,
                Submitted::Full(back) => {
                    request = back;
                    self.turn(see)?;
                }
            }
        }
        self.flying.push_back((at, false));
        self.reap(see);
        self.io.turn(Some(now));
        while self.flying.len() >= DEPTH {
            self.turn(see)?;
        }
        Ok(())
    }

    /// Waits for something to end.
    fn turn(&mut self, see: &mut dyn FnMut(u64, &[u8])) -> Result<(), Fault> {
        if !self.reap(see) {
            let until = match self.target.next_wakeup() {
                Wakeup::Now => Some(self.io.now()),
                Wakeup::At(at) => Some(at),
                Wakeup::External | Wakeup::Idle => None,
            };
            if until.is_some() || !self.flying.is_empty() {
                self.io.turn(until);
            }
            self.reap(see);
        }
        self.failed.map_or(Ok(()), Err)
    }

    /// Takes in what has ended; whether anything had.
    fn reap(&mut self, see: &mut dyn FnMut(u64, &[u8])) -> bool {
        let mut ended = Vec::new();
        self.target.poll(self.io.now(), &mut ended);
        let any = !ended.is_empty();
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
        any
    }
}

fn worker() -> Result<Io> {
    let slab = Bytes(PIECE * (DEPTH as u64 + 2) + (1 << 20));
    Ok(Io::open(&IoSettings { slab, in_flight: 64, entries: 64, files: 8, ..IoSettings::default() })?)
}

/// A fault in words.
pub fn words(fault: Fault) -> &'static str {
    match fault {
        Fault::Invalid => "the request was not valid there",
        Fault::ReadOnly => "it may not be written",
        Fault::NoSpace => "no space is left",
        Fault::Io => "the storage failed (I/O error)",
        Fault::Unsupported => "it cannot do that",
        Fault::NoMemory => "there is no memory for it",
        Fault::Gone => "it went away",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written is read back, whatever comes in pieces, and the room for pieces never runs out.
    #[test]
    fn a_file_is_written_and_read_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut pipe = Pipe::of_file(&path, true, Create::New).unwrap();
        for piece in 0..20u64 {
            pipe.write(piece * PIECE, PIECE, |bytes| bytes.fill(piece as u8)).unwrap();
            assert!(pipe.flying.len() < DEPTH);
        }
        pipe.sync().unwrap();
        let mut pipe = Pipe::open(&Place::Path(path), false).unwrap();
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

    /// Reading beyond the end is a fault and not a hang.
    #[test]
    fn what_fails_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![0; 8192]).unwrap();
        let mut pipe = Pipe::open(&Place::Path(path), false).unwrap();
        assert!(pipe.read(0, 4 * PIECE, |_, _| true).is_err());
        assert!(Pipe::open(&Place::Path("/nowhere".into()), false).is_err());
    }
}
