//! Reads and the cache: pages in memory are answered at once, pages in the second level are read
//! from there, and what a stream will need next is read ahead.

use super::cached::{Filling, SecondWay};
use super::flight::Flight;
use super::second::SecondRun;
use super::{MappedVolumes, Queued};
use block::{Buf, Op, OpKind, Request, Ticket, Time};
use uring::Job;

/// Limit on concurrent read-aheads: two streams, each with one window in flight and one to come.
const AHEADS_MAX: usize = 4;

const OURS: &str = "a second level stays until all is closed";
const LEFT: &str = "a read that is under way has a run";

/// A read from the second level in progress.
pub(super) struct SecondReading {
    queued: Queued,
    filling: Filling,
    /// Where its buffer begins in the tree.
    from: u64,
    /// What is still to be read, the next last. The last one is being read.
    runs: Vec<SecondRun>,
    whole: u32,
    is_ahead: bool,
}

impl MappedVolumes {
    /// Read-ahead requests in flight.
    pub fn reads_ahead(&self) -> usize {
        self.aheads
    }

    /// Answers a read from memory if all of it is there; otherwise hands it back.
    pub(super) fn read_cached(&mut self, now: Time, queued: Queued) -> Option<Queued> {
        if self.cached.is_none() || queued.request.op != Op::Read {
            return Some(queued);
        }
        let (object, at, len) = (queued.request.object, queued.request.at, queued.request.len);
        let found = self.cached.as_mut()?.read(&self.io, (object.0, at, len));
        let most = self.cached.as_mut()?.ahead_most(object.0);
        let ahead = self.ahead.read((object.0.into(), at, len), most);
        let missed = match found {
            Some(buf) => {
                let mut completion = queued.end(now, Ok(()));
                completion.buf = Some(buf);
                self.ready.push(completion);
                None
            }
            None => Some(queued),
        };
        if let Some(ahead) = ahead {
            self.read_ahead(now, object, ahead.at, ahead.len);
        }
        missed
    }

    /// Reads ahead for a stream, if there is room.
    fn read_ahead(&mut self, now: Time, object: block::ObjectId, at: u64, len: u64) {
        let Some((size, _)) = self.core.tree(object.0) else { return };
        let len = len.min(size.saturating_sub(at));
        let is_there = self.cached.as_mut().is_none_or(|cached| cached.has_all(object.0, at, len));
        if len == 0 || is_there || self.aheads == AHEADS_MAX || !self.has_room() {
            return;
        }
        let request = Request { tag: 0, object, at, len, op: Op::Read, fua: false, due: now };
        let queued = Queued { ticket: Ticket(0), taken: now, lun: object.0, request };
        let began = self.ready.len();
        self.aheads += 1;
        if self.start_read(now, queued, true).is_err() {
            self.aheads -= 1;
        }
        debug_assert!(self.ready.len() == began, "nobody hears of it");
    }

    /// Starts a read whose pages are all in memory or in the second level; otherwise hands it back.
    pub(super) fn start_second(&mut self, queued: Queued, is_ahead: bool) -> Option<Queued> {
        let part = (queued.request.object.0, queued.request.at, queued.request.len);
        let Some(way) = self.cached.as_mut().and_then(|cached| cached.read_second(&self.io, part, is_ahead)) else {
            return Some(queued);
        };
        let SecondWay { filling, from, runs, buf } = way;
        self.reads += 1;
        let reading = SecondReading { queued, filling, from, runs, whole: buf.len(), is_ahead };
        self.second_on(reading, buf);
        None
    }

    /// Reads the next run.
    fn second_on(&mut self, reading: SecondReading, buf: Buf) {
        let cached = self.cached.as_ref().expect(OURS);
        let (run, second) = (reading.runs.last().expect(LEFT), cached.second.as_ref().expect(OURS));
        let (file, at) = (second.file, second.at(run.slot));
        let part = buf.window(run.into, run.pages * cached.page as u32);
        let flight = self.flights.add(Flight::SecondRead(reading));
        self.push_as_it_is(flight, Job::Read { file, at, buf: part });
    }

    /// A run was read, successfully or not. Continues or ends the read, or reads the disk instead.
    pub(super) fn second_read(&mut self, now: Time, mut reading: SecondReading, result: Result<(), String>, part: Buf) {
        let second = self.cached.as_mut().and_then(|cached| cached.second.as_mut()).expect(OURS);
        let run = reading.runs.pop().expect(LEFT);
        let right = result.and_then(|()| match self.io.with(&part, |bytes| second.are_right(run.slot, bytes)) {
            true => Ok(()),
            false => Err("bytes that are not those that were written".into()),
        });
        second.release(run.slots());
        let buf = part.window(0, reading.whole);
        if let Err(why) = right {
            second.release(reading.runs.iter().flat_map(SecondRun::slots));
            second.fail(&self.io, &format!("read: {why}"));
            return self.read_the_disk(now, reading, buf);
        }
        if !reading.runs.is_empty() {
            return self.second_on(reading, buf);
        }
        let SecondReading { queued, filling, from, is_ahead, .. } = reading;
        self.reads -= 1;
        self.fill_cached(now, queued.request.object.0, Some((filling, from)), &buf);
        let (skip, len) = ((queued.request.at - from) as u32, queued.request.len as u32);
        let mut completion = queued.end(now, Ok(()));
        completion.buf = Some(buf.window(skip, len));
        self.answer(is_ahead, completion);
    }

    /// The second level failed a read: it starts again from the disk.
    fn read_the_disk(&mut self, now: Time, reading: SecondReading, buf: Buf) {
        let SecondReading { queued, is_ahead, .. } = reading;
        self.io.give(buf);
        self.reads -= 1;
        if let Err(queued) = self.start_read(now, queued, is_ahead) {
            match is_ahead {
                true => self.aheads -= 1,
                false => self.line.push_front(queued),
            }
        }
    }

    /// Submits full segments of the second level.
    pub(super) fn write_second(&mut self) {
        while let Some(second) = self.cached.as_mut().and_then(|cached| cached.second.as_mut()) {
            let file = second.file;
            let Some((segment, at, buf)) = second.take_sealed() else { return };
            let flight = self.flights.add(Flight::SecondWrite { segment });
            self.push_as_it_is(flight, Job::Write { file, at, buf, durable: false });
        }
    }

    /// The write of a segment ended, successfully or not.
    pub(super) fn second_written(&mut self, segment: u32, result: Result<(), String>, buf: Buf) {
        if let Some(second) = self.cached.as_mut().and_then(|cached| cached.second.as_mut()) {
            second.written(&self.io, segment, buf, result);
        }
    }

    /// A read completed: the cache keeps its whole pages, unless the bytes are still in the file.
    pub(super) fn fill_cached(&mut self, now: Time, tree: u32, filling: Option<(Filling, u64)>, buf: &Buf) {
        let (Some((filling, from)), Some(cached)) = (filling, &mut self.cached) else { return };
        let Some((size, _)) = self.core.tree(tree) else { return };
        if self.io.view(buf).is_none() {
            self.io.with(buf, |bytes| cached.fill((&self.io, now), (tree, filling), (from, size), bytes));
        }
    }

    /// A change ended: its cached pages are updated with its data, or dropped.
    pub(super) fn update_cached(&mut self, request: &Request, data: Option<&Buf>) {
        let Some(cached) = &mut self.cached else { return };
        let (tree, part) = (request.object.0, (request.at, request.len));
        match (request.op.kind(), data) {
            (OpKind::Write, Some(data)) => self.io.with(data, |bytes| cached.end_change(tree, part, Some(bytes))),
            (OpKind::Write | OpKind::Trim | OpKind::Zero, _) => cached.end_change(tree, part, None),
            _ => {}
        }
    }
}
