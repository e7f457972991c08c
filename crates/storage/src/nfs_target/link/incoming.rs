//! Receiving: bytes are parsed as replies.

use super::{DISCARD, Link, RECEIVE_TOKEN, SLOTS};
use crate::connections::Carrier as _;
use crate::inbox::RECEIVE;
use block::{Fault, Op, Time};
use nfs::limits::HEAD_BYTES_MAX;
use nfs::record::{MARK_BYTES, Mark, RecordError};
use nfs::rpc::{self, CallOutcome};
use nfs::xdr::filling;
use nfs::{Procedure, Reader, Reply, Stable, Status, Verifier, XdrError};
use std::sync::Arc;
use uring::Job;

/// How a call failed, and why, where the fault alone does not say it.
pub(super) type Failed = (Fault, Option<Arc<str>>);

/// The reply to a call.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// `len` bytes were read; with `eof` the file ends after them.
    Read { len: u32, eof: bool },
    /// `count` bytes were written.
    Wrote { count: u32, stable: Stable, verifier: Verifier },
    /// What was written is durable, if this instance of the server wrote all of it.
    Committed(Verifier),
    /// It failed.
    Failed(Fault, Option<Arc<str>>),
    /// The server wants to be asked again later.
    Later,
}

/// The next `left` bytes of the stream belong at byte `to` of a request's buffer; then the call in
/// `slot` gets this reply.
pub(super) struct Data {
    slot: u32,
    to: u32,
    left: u32,
    answer: Answer,
}

impl Data {
    /// `got` of its bytes were received.
    pub(super) fn came(&mut self, got: u32) {
        self.to += got;
        self.left -= got;
    }
}

/// Unwanted data of at least this many bytes is discarded without a copy; less is received with
/// what follows it.
const DISCARD_LEAST: u32 = 32 << 10;

/// How a server broke the protocol. The stream is out of step from there on.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Xdr(#[from] XdrError),
    #[error("a reply has the number {0:#010x}, which no call has")]
    Stray(u32),
    #[error("a {call} of {asked} bytes was answered with {got}")]
    More { call: &'static str, asked: u32, got: u32 },
    #[error("a READ's reply says that it has {count} bytes, and has {len}")]
    Count { count: u32, len: u32 },
    #[error("a READ's reply is longer than its record")]
    RecordEnd,
}

/// A parsed reply, without references to the buffer: its call, its meaning, the length of its head,
/// and that of its data.
struct Head {
    slot: u32,
    answer: Answer,
    taken: u32,
    data: u32,
}

impl Link {
    /// Parses the bytes that are here, as far as possible.
    pub(super) fn read_replies(&mut self, now: Time) {
        loop {
            let step = if let Some(data) = self.data.take() {
                Ok(self.take_data(now, data))
            } else if self.skip > 0 {
                let here = self.skip.min(self.inbox.len());
                self.inbox.consume(here);
                self.skip -= here;
                Ok(here > 0)
            } else if self.joiner.has_begun() {
                self.join(now)
            } else {
                self.read_reply(now)
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(broken) => return self.lose(format!("the server broke the protocol: {broken}")),
            }
        }
    }

    /// Reads the head of a reply in place; false if it is incomplete.
    fn read_reply(&mut self, now: Time) -> Result<bool, Broken> {
        enum Found {
            More,
            Fragments,
            Whole(Head, u32),
        }
        let found = self.inbox.show(|bytes| -> Result<Found, Broken> {
            let Some(mark) = Mark::read(bytes)? else { return Ok(Found::More) };
            if !mark.last {
                return Ok(Found::Fragments);
            }
            let record = &bytes[MARK_BYTES as usize..];
            let record = &record[..record.len().min(mark.len as usize)];
            match self.parse(record) {
                Err(Broken::Xdr(XdrError::Short))
                    if record.len() < mark.len as usize && record.len() < HEAD_BYTES_MAX as usize / 2 =>
                {
                    Ok(Found::More)
                }
                head => Ok(Found::Whole(head?, mark.len)),
            }
        })?;
        let (head, len) = match found {
            Found::More => return Ok(false),
            Found::Fragments => return self.join(now),
            Found::Whole(head, len) => (head, len),
        };
        self.skip = len.checked_sub(head.taken + head.data).ok_or(Broken::RecordEnd)?;
        self.inbox.consume(MARK_BYTES + head.taken);
        if head.data > 0 {
            let to = self.in_flight[head.slot as usize].asked.done;
            self.data = Some(Data { slot: head.slot, to, left: head.data, answer: head.answer });
        } else {
            self.answer(now, head.slot, head.answer);
        }
        Ok(true)
    }

    /// Parses the head of a reply, as far as it matters.
    fn parse(&self, record: &[u8]) -> Result<Head, Broken> {
        let mut reader = Reader::new(record);
        let (xid, outcome) = rpc::read_reply(&mut reader)?;
        let slot = xid as usize % SLOTS;
        let known = self.in_flight.get(slot).filter(|in_flight| in_flight.xid == xid && in_flight.sent);
        let in_flight = known.ok_or(Broken::Stray(xid))?;
        let procedure = match &in_flight.asked.pending.request.op {
            Op::Read => Procedure::Read,
            Op::Write(_) => Procedure::Write,
            _ => Procedure::Commit,
        };
        let (answer, data) = match outcome {
            CallOutcome::Success => Link::parse_results(procedure, in_flight.step, &mut reader)?,
            CallOutcome::AuthError(_) => (Answer::Failed(Fault::Denied, None), 0),
            other => (Answer::Failed(Fault::Io, Some(format!("the call failed: {other}").into())), 0),
        };
        Ok(Head { slot: slot as u32, answer, taken: reader.taken() as u32, data })
    }

    /// Parses the results of a call that asked for `step` bytes: the answer, and how many bytes of
    /// data follow.
    fn parse_results(procedure: Procedure, step: u32, reader: &mut Reader<'_>) -> Result<(Answer, u32), Broken> {
        let answer = match Reply::read(procedure, reader) {
            // The rest of the record is skipped.
            Err(error @ XdrError::Status(_)) => {
                Answer::Failed(Fault::Io, Some(format!("the server failed: {error}").into()))
            }
            Err(error) => return Err(error.into()),
            Ok(Reply::Read(_, Ok(done))) => {
                if done.count != done.len {
                    return Err(Broken::Count { count: done.count, len: done.len });
                }
                if done.len > step {
                    return Err(Broken::More { call: "READ", asked: step, got: done.len });
                }
                return Ok((Answer::Read { len: done.len, eof: done.eof }, done.len));
            }
            Ok(Reply::Write(_, Ok(written))) => {
                if written.count > step {
                    return Err(Broken::More { call: "WRITE", asked: step, got: written.count });
                }
                Answer::Wrote { count: written.count, stable: written.stable, verifier: written.verifier }
            }
            Ok(Reply::Commit(_, Ok(verifier))) => Answer::Committed(verifier),
            Ok(Reply::Read(_, Err(status)) | Reply::Write(_, Err(status)) | Reply::Commit(_, Err(status))) => {
                failed(status)
            }
            Ok(_) => Answer::Failed(Fault::Io, None),
        };
        Ok((answer, 0))
    }

    /// Reassembles a reply of several fragments; false if it is incomplete.
    fn join(&mut self, now: Time) -> Result<bool, Broken> {
        let mut joiner = std::mem::take(&mut self.joiner);
        let (fed, taken) = self.inbox.show(|bytes| {
            let mut input = bytes;
            let fed = joiner.feed(&mut input).map(|record| record.map(<[u8]>::to_vec));
            (fed, bytes.len() - input.len())
        });
        self.inbox.consume(taken as u32);
        let record = fed?;
        if record.is_some() {
            joiner.clear();
        }
        self.joiner = joiner;
        let Some(record) = record else { return Ok(false) };
        let Head { slot, answer, taken, data } = self.parse(&record)?;
        let data = record.get(taken as usize..(taken + data) as usize).ok_or(Broken::RecordEnd)?;
        let in_flight = &mut self.in_flight[slot as usize];
        let to = in_flight.asked.done as usize;
        if let Some(buf) = &mut in_flight.asked.buf {
            self.io.with_mut(buf, |bytes| bytes[to..to + data.len()].copy_from_slice(data));
        }
        self.answer(now, slot, answer);
        Ok(true)
    }

    /// Moves data of a READ to its buffer; false if more must arrive first.
    fn take_data(&mut self, now: Time, mut data: Data) -> bool {
        let here = data.left.min(self.inbox.len());
        let mut buf = self.in_flight.get_mut(data.slot as usize).and_then(|in_flight| in_flight.asked.buf.take());
        if let Some(buf) = &mut buf {
            let (to, len) = (data.to as usize, here as usize);
            self.inbox
                .show(|source| self.io.with_mut(buf, |bytes| bytes[to..to + len].copy_from_slice(&source[..len])));
        }
        if let Some(in_flight) = self.in_flight.get_mut(data.slot as usize) {
            in_flight.asked.buf = buf;
        }
        self.inbox.consume(here);
        data.came(here);
        if data.left > 0 {
            self.data = Some(data);
            return false;
        }
        self.answer(now, data.slot, data.answer);
        true
    }

    pub(super) fn receive(&mut self) {
        if self.is_lost() || self.outstanding() == 0 || self.discarding {
            return;
        }
        if let Some(len) = self.unwanted() {
            let pushed = self.port.push(DISCARD, Job::Discard { socket: self.socket, len });
            self.discarding = pushed.is_ok();
        } else {
            self.inbox.receive(&self.port, RECEIVE_TOKEN, self.socket);
        }
    }

    /// How many unwanted bytes come next, if they are many.
    fn unwanted(&self) -> Option<u32> {
        let data = self.data.as_ref().filter(|data| data.left >= DISCARD_LEAST && self.inbox.is_idle())?;
        let is_kept = self.in_flight.get(data.slot as usize).is_none_or(|in_flight| in_flight.asked.buf.is_some());
        (!is_kept && self.inbox.len() == 0).then_some(data.left)
    }
}

fn failed(status: Status) -> Answer {
    let fault = match status {
        Status::Jukebox => return Answer::Later,
        Status::NoSpace | Status::Quota | Status::TooBig => Fault::NoSpace,
        Status::ReadOnly => Fault::ReadOnly,
        Status::Access | Status::NotOwner => Fault::Denied,
        Status::Stale | Status::BadHandle | Status::NoEntry => Fault::Gone,
        Status::Invalid | Status::IsDirectory => Fault::Invalid,
        Status::NotSupported => Fault::Unsupported,
        _ => Fault::Io,
    };
    let is_told = matches!(
        status,
        Status::NoSpace | Status::ReadOnly | Status::Access | Status::NotOwner | Status::NotSupported | Status::Io
    );
    // What the fault does not say already.
    let why = (!is_told).then(|| format!("the server refused: {status} (NFS status {})", status.number()).into());
    Answer::Failed(fault, why)
}

const _: () = {
    // The padding after a READ's data belongs to the rest of its record, which is skipped.
    assert!(filling(1) == 3);
    // A reply's head, with the largest verifier and attributes, is far smaller than a receive.
    assert!(HEAD_BYTES_MAX / 2 < RECEIVE);
};
