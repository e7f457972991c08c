//! Receiving: bytes are decrypted if necessary, and parsed as replies.

use super::super::tls::TlsError;
use super::{Link, RECEIVE_TOKEN, fault_of};
use crate::connections::Carrier as _;
use crate::pending::end;
use block::{Completion, Detail, Op, OpKind, Time};
use nbd::{Body, Framing, NbdErrno, Parsed, StreamError};

/// The next `left` bytes of the stream belong at byte `to` of a request's buffer.
pub(super) struct Data {
    slot: u32,
    to: u32,
    left: u32,
    done: bool,
}

impl Link {
    /// Parses the bytes that are here, as far as possible.
    pub(super) fn read_replies(&mut self, now: Time) {
        loop {
            let result = match self.data.take() {
                Some(data) => self.take_data(now, data),
                None => self.read_reply(now),
            };
            match result {
                Ok(true) => {}
                Ok(false) => break,
                // The stream is out of step from here on.
                Err(broken) => return self.lose(format!("the server broke the protocol: {broken}")),
            }
        }
        if self.tls.as_ref().is_some_and(|tls| tls.closed) {
            self.lose("the server closed the TLS session".into());
        }
    }

    /// Calls `look` with the unread bytes.
    fn input<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        match &self.tls {
            Some(tls) => look(tls.clear()),
            None => self.inbox.show(look),
        }
    }

    fn consume(&mut self, count: u32) {
        match &mut self.tls {
            Some(tls) => tls.consume(count as usize),
            None => self.inbox.consume(count),
        }
    }

    /// Reads the head of one reply; false if it is incomplete.
    fn read_reply(&mut self, now: Time) -> Result<bool, Broken> {
        let parser = self.parser;
        let head = self.input(|bytes| -> Result<_, StreamError> {
            Ok(match parser.parse(bytes)? {
                Parsed::NeedMore(_) => None,
                Parsed::Message(reply, taken) => {
                    let body = match reply.body {
                        Body::Success => Seen::Success,
                        Body::Error { errno, at, .. } => Seen::Error(errno, at),
                        Body::Data { offset, len } => Seen::Data { offset, len },
                        Body::Hole { offset, len } => Seen::Hole { offset, len },
                        Body::Status { .. } => Seen::Unexpected,
                    };
                    Some((reply.cookie, reply.offset, reply.done, body, taken as u32))
                }
            })
        })?;
        let Some((cookie, offset, done, body, taken)) = head else { return Ok(false) };
        self.consume(taken);
        let slot = cookie as u32;
        let is_simple = self.rules.framing == Framing::Simple;
        let known = self.in_flight.get_mut(slot as usize);
        let known = known.filter(|in_flight| in_flight.cookie == cookie && in_flight.sent);
        let in_flight = known.ok_or(Broken::Stray(cookie))?;
        let request = &in_flight.pending.request;
        // Extension text: a client SHOULD treat a reply whose offset is not that of the request as
        // a violation of the protocol.
        let at = if in_flight.flushing { 0 } else { request.at };
        if let Some(got) = offset.filter(|offset| *offset != at) {
            return Err(Broken::Offset { got, at });
        }
        let is_read = matches!(request.op, Op::Read);
        match body {
            // With simple framing, the data of a read follows its reply.
            Seen::Success if is_read && is_simple => {
                let (at, len) = (request.at, request.len as u32);
                in_flight.assembly.place(at, len)?;
                self.data = Some(Data { slot, to: 0, left: len, done: true });
                return Ok(true);
            }
            Seen::Data { offset, len } if is_read => {
                let range = in_flight.assembly.place(offset, len)?;
                self.data = Some(Data { slot, to: range.start as u32, left: len, done });
                return Ok(true);
            }
            Seen::Hole { offset, len } if is_read => {
                let range = in_flight.assembly.place(offset, len)?;
                if let Some(buf) = &mut in_flight.buf {
                    self.io.with_mut(buf, |bytes| bytes[range].fill(0));
                }
            }
            Seen::Success => {}
            Seen::Error(errno, at) => in_flight.assembly.fail(errno, at),
            Seen::Data { .. } | Seen::Hole { .. } | Seen::Unexpected => return Err(Broken::Unasked),
        }
        if done {
            self.finish(now, slot)?;
        }
        Ok(true)
    }

    /// Moves read data to its buffer; false if more must arrive first.
    fn take_data(&mut self, now: Time, mut data: Data) -> Result<bool, Broken> {
        let here = self.input(|bytes| bytes.len().min(data.left as usize) as u32);
        let mut buf = self.in_flight.get_mut(data.slot as usize).and_then(|in_flight| in_flight.buf.take());
        if let Some(buf) = &mut buf {
            let (to, len) = (data.to as usize, here as usize);
            self.input(|source| self.io.with_mut(buf, |bytes| bytes[to..to + len].copy_from_slice(&source[..len])));
        }
        if let Some(in_flight) = self.in_flight.get_mut(data.slot as usize) {
            in_flight.buf = buf;
        }
        self.consume(here);
        data.to += here;
        data.left -= here;
        if data.left > 0 {
            self.data = Some(data);
            return Ok(false);
        }
        if data.done {
            self.finish(now, data.slot)?;
        }
        Ok(true)
    }

    /// Ends a request whose last reply came. A read that lacks some of its bytes is a violation.
    fn finish(&mut self, now: Time, slot: u32) -> Result<(), Broken> {
        // If it violates the protocol, the request stays in its place and ends with the connection.
        let asked = &self.in_flight[slot as usize];
        let result = asked.assembly.finish()?.map_err(fault_of);
        if result.is_ok() && !asked.flushing && self.needs_flush(&asked.pending.request) {
            return Ok(self.follow_with_flush(slot)?);
        }
        let in_flight = self.in_flight.remove(slot as usize);
        if result.is_ok() {
            match in_flight.pending.request.op.kind() {
                _ if in_flight.flushing => self.covered = self.covered.max(in_flight.covers),
                OpKind::Write | OpKind::Trim | OpKind::Zero if !in_flight.pending.request.fua => self.written += 1,
                OpKind::Flush => self.covered = self.covered.max(in_flight.covers),
                _ => {}
            }
        }
        let (at, good) = (in_flight.pending.request.at, in_flight.assembly.good());
        let (buf, mut failed_at) = (in_flight.buf, None);
        let buf = match result {
            Err(_) if good > 0 => {
                failed_at = Some(at + u64::from(good));
                buf.map(|buf| {
                    let start = buf.start();
                    buf.window(start, good)
                })
            }
            _ => buf,
        };
        self.ready
            .push(Completion { detail: Detail::known(None, failed_at), ..end(in_flight.pending, buf, now, result) });
        Ok(())
    }

    /// Over TLS, decrypts all received bytes.
    pub(super) fn open_records(&mut self) -> Result<(), TlsError> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let opened = self.inbox.show(|bytes| tls.open(bytes));
        self.inbox.consume(self.inbox.len());
        opened
    }

    pub(super) fn receive(&mut self) {
        if !self.is_lost() && self.outstanding() > 0 {
            self.inbox.receive(&self.port, RECEIVE_TOKEN, self.socket);
        }
    }
}

/// A reply's body, without references to the buffer that it was read from.
enum Seen {
    Success,
    Error(NbdErrno, Option<u64>),
    Data { offset: u64, len: u32 },
    Hole { offset: u64, len: u32 },
    Unexpected,
}

/// How a server broke the protocol. The stream is out of step from there on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("a reply has the cookie {0:#018x}, which no request has")]
    Stray(u64),
    #[error("a reply has the offset {got}, its request {at}")]
    Offset { got: u64, at: u64 },
    #[error("a reply has contents that its request did not ask for")]
    Unasked,
}
