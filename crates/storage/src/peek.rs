//! Reads the beginning and the end of a server's export or file once, to see what it contains.

use crate::error::OpenError;
use block::{
    Actor, Bytes, Completion, Driver as _, Fault, ObjectId, Op, Request, Submitted, Target, Time, Wait, Wakeup, drive,
};
use uring::{Io, IoSettings};

/// Bytes in one request.
const PIECE: u64 = 128 << 10;

/// An offset and the bytes from there.
pub(crate) type Edge = (u64, Vec<u8>);

/// The first and last `edge` bytes of what `open` opens, each from a multiple of the server's
/// alignment, and the size.
pub(crate) fn edges<T: Target>(
    uri: &str,
    edge: u64,
    open: impl FnOnce(&Io) -> Result<T, OpenError>,
) -> Result<(Edge, Edge, u64), OpenError> {
    let settings = IoSettings { slab: Bytes::mib(2), in_flight: 16, entries: 8, files: 2, ..IoSettings::default() };
    let mut io = Io::open(&settings).map_err(|error| OpenError::Ring(std::io::Error::other(error.to_string())))?;
    let mut target = open(&io)?;
    let traits = target.traits();
    let align = u64::from(traits.align.max(1));
    let size = traits.size.0 / align * align;
    let edge = edge.next_multiple_of(align).min(size);
    let mut read = |at: u64| -> Result<Edge, OpenError> {
        let mut bytes = Vec::with_capacity(edge as usize);
        let piece = PIECE.min(u64::from(traits.longest)) / align * align;
        while (bytes.len() as u64) < edge {
            let from = at + bytes.len() as u64;
            let len = piece.max(align).min(at + edge - from);
            let got = read_once(&mut io, &mut target, from, len);
            bytes.extend(got.map_err(|fault| OpenError::Unread { place: uri.into(), fault })?);
        }
        Ok((at, bytes))
    };
    let (head, tail) = (read(0)?, read(size - edge)?);
    Ok((head, tail, traits.size.0))
}

fn read_once(io: &mut Io, target: &mut impl Target, at: u64, len: u64) -> Result<Vec<u8>, Fault> {
    let now = io.now();
    let request = Request { tag: 0, object: ObjectId(0), at, len, op: Op::Read, fua: false, due: now };
    if let Submitted::Full(_) = target.submit(now, request) {
        return Err(Fault::NoMemory);
    }
    let mut reading = Reading { target, ended: Vec::new() };
    drive(io, std::slice::from_mut(&mut reading), |_, _| Wait::Unbounded);
    let completion = reading.ended.pop().ok_or(Fault::Gone)?;
    let bytes = completion.buf.map(|buf| {
        let bytes = io.with(&buf, <[u8]>::to_vec);
        io.give(buf);
        bytes
    });
    completion.result.map(|()| bytes.unwrap_or_default())
}

/// A synchronous request.
struct Reading<'a, T> {
    target: &'a mut T,
    ended: Vec<Completion>,
}

impl<T: Target> Actor for Reading<'_, T> {
    fn pass(&mut self, now: Time) {
        self.target.poll(now, &mut self.ended);
    }

    fn next_wakeup(&self, _now: Time) -> Wakeup {
        self.target.next_wakeup()
    }

    fn is_over(&self, _now: Time) -> bool {
        !self.ended.is_empty()
    }
}
