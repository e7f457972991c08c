//! Requests at the kernel: clients' reads, clients' data being written, blocks that are put
//! together, and the maps' own writes.
//!
//! ```text
//!   read     one run: straight into the client's buffer, or not at all (see `views.rs`); several: one after the other
//!            into its parts
//!   write    a part of the client's buffer, as it is; while the kernel has a part nobody else has the buffer
//!   patch    a buffer of our own: read ─► clear ─► add the client's bytes ─► write
//!   store    a buffer of our own, a piece of 64 KiB at a time
//! ```

use super::cached::Filling;
use super::extents::extents;
use super::reading::SecondReading;
use super::{BOUNCE, Changing, MappedVolumes, Queued, RESERVED};
use crate::mapped::files::{REGIONS, index_of};
use block::{Buf, Completion, Extent, Fault, Time};
use map::{Command, Patch, Pin, Region, Run, Token};
use uring::{Done, Failure, FileId, Job};

pub(super) enum Flight {
    Read(Reading),
    /// Writes a part of a client's data; `len` bytes in all.
    Write {
        token: Token,
        op: u32,
        start: u32,
        len: u32,
    },
    /// The first half of a patch: reading the block's old bytes.
    PatchRead {
        token: Token,
        op: u32,
        patch: Patch,
    },
    /// The second half: writing the block.
    PatchWrite {
        token: Token,
    },
    Flush {
        token: Token,
    },
    /// One member's part of a flush of the data.
    Sync(u32),
    Discard {
        token: Token,
        len: u64,
    },
    Store(Storing),
    SecondRead(SecondReading),
    SecondWrite {
        segment: u32,
    },
}

/// A flush of data that has several members.
pub(super) struct Syncing {
    token: Token,
    left: usize,
    result: Result<(), Fault>,
}

/// A read in progress.
pub(super) struct Reading {
    queued: Queued,
    pin: Pin,
    /// Runs still to be read, the next last. Empty if there is only one run.
    runs: Vec<Run>,
    /// Bytes of the buffer that were read, or are being read.
    filled: u32,
    /// Where the request's bytes begin in the buffer.
    skip: u32,
    /// All of it is data and nothing was read yet, so its buffer may be a view.
    may_stand: bool,
    /// Which of the request's bytes were never written, if there are any: see [`extents`].
    /// Otherwise it is empty.
    extents: Vec<Extent>,
    /// The cache may keep its bytes, which begin at this byte of the tree.
    filling: Option<(Filling, u64)>,
    /// It is a read-ahead: no client has asked for it yet.
    is_ahead: bool,
}

/// A write of the maps' own in progress.
pub(super) struct Storing {
    token: Token,
    region: Region,
    at: u64,
    bytes: Vec<u8>,
    /// Bytes that were written, or are being written.
    done: usize,
    durable: bool,
}

/// What waits for a client's data to come back from the kernel.
pub(super) enum NeedsData {
    Write {
        token: Token,
        from: u32,
        to: u64,
        len: u32,
        durable: bool,
    },
    /// The block was read; `bounce` has its bytes.
    Patch {
        token: Token,
        patch: Patch,
        bounce: Buf,
    },
}

impl MappedVolumes {
    /// Starts a read, or hands it back if there is no memory for it.
    pub(super) fn start_read(&mut self, now: Time, queued: Queued, is_ahead: bool) -> Result<(), Queued> {
        let Some(queued) = self.start_second(queued, is_ahead) else { return Ok(()) };
        let (tree, at, len) = (queued.request.object.0, queued.request.at, queued.request.len);
        let filling = self.cached.as_mut().and_then(|cached| Some((cached.begin_fill(tree, is_ahead)?, cached.page)));
        let grain = filling.map_or(self.align, |(_, page)| page.max(self.align));
        // The last page may be read whole, but nothing beyond it.
        let last = self.core.tree(tree).map_or(u64::MAX, |(size, _)| size.next_multiple_of(map::PAGE));
        let from = at & !(grain - 1);
        let whole = (at + len).next_multiple_of(grain).min(last.max(at + len)) - from;
        let filling = filling.map(|(filling, _)| (filling, from));
        let Some(buf) = self.io.take(whole as u32) else { return Err(queued) };
        self.runs.clear();
        let pin = match self.core.read(tree, from, whole, &mut self.runs) {
            Ok(pin) => pin,
            Err(refusal) => {
                self.io.give(buf);
                let completion = queued.end(now, Err(refusal.fault()));
                self.answer(is_ahead, completion);
                return Ok(());
            }
        };
        let skip = (at - from) as u32;
        self.reads += 1;
        // What the cache keeps must be in memory.
        let may_stand = filling.is_none();
        if let [Run { at: Some(at), .. }] = self.runs[..] {
            let (runs, extents) = (Vec::new(), Vec::new());
            let reading =
                Reading { queued, pin, runs, filled: whole as u32, skip, may_stand, extents, filling, is_ahead };
            let flight = self.flights.add(Flight::Read(reading));
            let (file, at) = self.data_at(at);
            self.push(flight, if may_stand { Job::View { file, at, buf } } else { Job::Read { file, at, buf } });
            return Ok(());
        }
        let runs: Vec<Run> = self.runs.iter().rev().copied().collect();
        let may_stand = may_stand && runs.iter().all(|run| run.at.is_some());
        let extents = extents(&self.runs, u64::from(skip), len);
        self.read_on(now, Reading { queued, pin, runs, filled: 0, skip, may_stand, extents, filling, is_ahead }, buf);
        Ok(())
    }

    /// Continues a read with its next run, or ends it.
    fn read_on(&mut self, now: Time, mut reading: Reading, buf: Buf) {
        let mut buf = buf;
        while let Some(run) = reading.runs.pop() {
            let part = buf.window(reading.filled, run.len as u32);
            reading.filled += run.len as u32;
            match run.at {
                Some(at) => {
                    let (file, at) = self.data_at(at);
                    if reading.may_stand && self.stand(file, at, &part, reading.queued.request.len) {
                        buf = part;
                        continue;
                    }
                    // One part is read, so all must be: either the whole buffer is a view or none
                    // of it.
                    reading.may_stand = false;
                    if let Err(failure) = self.io.fetch_buf(&part) {
                        return self.give_up(now, reading, failure.fault(), part);
                    }
                    let flight = self.flights.add(Flight::Read(reading));
                    self.push(flight, Job::Read { file, at, buf: part });
                    return;
                }
                None => {
                    buf = part;
                    self.io.with_mut(&mut buf, |bytes| bytes.fill(0));
                }
            }
        }
        self.end_read(now, reading, buf);
    }

    /// Ends a read that returns no bytes.
    fn give_up(&mut self, now: Time, reading: Reading, fault: Fault, buf: Buf) {
        self.io.give(buf);
        self.reads -= 1;
        self.core.unpin(reading.pin);
        let completion = reading.queued.end(now, Err(fault));
        self.answer(reading.is_ahead, completion);
    }

    /// Makes a part of a read's buffer a view, if its bytes are in the page cache.
    fn stand(&self, file: FileId, at: u64, part: &Buf, whole: u64) -> bool {
        let region = self.files.iter().position(|found| *found == file).unwrap_or(0);
        self.io.stand(file, at + self.bases[region], part, whole as u32)
    }

    fn end_read(&mut self, now: Time, reading: Reading, buf: Buf) {
        let Reading { queued, pin, skip, filled, extents, filling, is_ahead, .. } = reading;
        self.reads -= 1;
        let buf = buf.window(0, filled);
        self.fill_cached(now, queued.request.object.0, filling, &buf);
        match self.io.view(&buf) {
            Some(view) => self.views.show(now, (view, filled), pin),
            None => self.core.unpin(pin),
        }
        let len = queued.request.len as u32;
        let mut completion = queued.end(now, Ok(()));
        completion.buf = Some(buf.window(skip, len));
        completion.extents = extents;
        self.answer(is_ahead, completion);
    }

    /// Ends a read one of whose runs failed after `moved` bytes. The bytes before that are valid.
    fn fail_read(&mut self, now: Time, reading: Reading, (fault, moved): (Fault, u32), part: Buf) {
        let Reading { queued, pin, filled, skip, is_ahead, .. } = reading;
        self.reads -= 1;
        self.core.unpin(pin);
        // If there is only one run, `part` is the whole buffer.
        let good = (filled - part.len() + moved).saturating_sub(skip);
        let (completion, unused) = queued.end_in_the_middle(now, fault, part, (skip, good));
        unused.into_iter().for_each(|buf| self.io.give(buf));
        self.answer(is_ahead, completion);
    }

    /// Reports the end of a read, unless it is a read-ahead.
    pub(super) fn answer(&mut self, is_ahead: bool, mut completion: Completion) {
        if !is_ahead {
            return self.ready.push(completion);
        }
        self.aheads -= 1;
        completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
    }

    /// Submits the maps' commands, as far as there are buffers for them.
    pub(super) fn carry_out(&mut self) {
        for _ in 0..self.held.len() {
            let Some(command) = self.held.pop_front() else { break };
            self.obey(command);
        }
        while let Some(command) = self.core.next_command() {
            self.obey(command);
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Write { token, id, from, to, len, durable } => {
                self.with_data(id as u32, NeedsData::Write { token, from, to, len, durable });
            }
            Command::Flush { token, region: Region::Data } if self.members.is_some() => self.sync_members(token),
            Command::Flush { token, region } => {
                self.counts.syncs += u64::from(region == Region::Data);
                let flight = self.flights.add(Flight::Flush { token });
                self.push(flight, Job::Sync { file: self.files[index_of(region)] });
            }
            Command::Discard { token, at, len } => {
                let flight = self.flights.add(Flight::Discard { token, len });
                let (file, at) = self.data_at(at);
                self.push(flight, Job::Punch { file, at, len });
            }
            Command::Patch { token, id, patch } if self.bounces.len() > RESERVED => {
                let bounce = self.bounces.pop().expect("counted");
                self.start_patch(token, id as u32, patch, bounce);
            }
            Command::Store { token, region, at, bytes, durable } if !self.bounces.is_empty() => {
                let bounce = self.bounces.pop().expect("counted");
                self.store_on(Storing { token, region, at, bytes, done: 0, durable }, bounce);
            }
            Command::Patch { .. } | Command::Store { .. } => self.held.push_back(command),
        }
    }

    /// The file that has byte `at` of the data, and the offset in its region or member. No request
    /// crosses the end of a segment.
    fn data_at(&self, at: u64) -> (FileId, u64) {
        let Some(members) = &self.members else { return (self.files[0], at) };
        match members.place(at) {
            (0, at) => (self.files[0], at),
            (member, at) => (self.files[REGIONS.len() + member - 1], at),
        }
    }

    /// Makes all members of the data durable, in parallel.
    fn sync_members(&mut self, token: Token) {
        self.counts.syncs += 1;
        let files: Vec<FileId> = self.files[..1].iter().chain(&self.files[REGIONS.len()..]).copied().collect();
        let syncing = self.syncing.add(Syncing { token, left: files.len(), result: Ok(()) });
        for file in files {
            let flight = self.flights.add(Flight::Sync(syncing));
            self.push(flight, Job::Sync { file });
        }
    }

    /// A member was flushed. With the last one the flush ends, successfully if all were.
    fn member_synced(&mut self, number: u32, result: Result<(), Fault>) {
        let syncing = self.syncing.get_mut(number);
        syncing.left -= 1;
        syncing.result = syncing.result.and(result);
        if syncing.left == 0 {
            let Syncing { token, result, .. } = self.syncing.take(number);
            self.core.done(token, result);
        }
    }

    fn start_patch(&mut self, token: Token, op: u32, patch: Patch, mut bounce: Buf) {
        let Some(source) = patch.read else {
            return self.lay(token, op, patch, bounce);
        };
        bounce = bounce.window(source.into, source.len);
        let flight = self.flights.add(Flight::PatchRead { token, op, patch });
        let (file, at) = self.data_at(source.at);
        self.push(flight, Job::Read { file, at, buf: bounce });
    }

    /// A patch's buffer has the bytes that were read. Clears those that must be zero, and adds the
    /// client's bytes as soon as they are available.
    fn lay(&mut self, token: Token, op: u32, patch: Patch, bounce: Buf) {
        let mut bounce = bounce.window(0, patch.len);
        self.io.with_mut(&mut bounce, |bytes| {
            let cleared = bytes.chunks_mut(map::PAGE as usize).enumerate();
            cleared.filter(|(page, _)| patch.clear >> page & 1 == 1).for_each(|(_, page)| page.fill(0));
            if patch.from.is_none() {
                bytes[patch.into as usize..][..patch.bytes as usize].fill(0);
            }
        });
        match patch.from {
            None => self.write_patch(token, &patch, bounce),
            Some(_) => self.with_data(op, NeedsData::Patch { token, patch, bounce }),
        }
    }

    fn write_patch(&mut self, token: Token, patch: &Patch, bounce: Buf) {
        let flight = self.flights.add(Flight::PatchWrite { token });
        let (file, at) = self.data_at(patch.to);
        self.push(flight, Job::Write { file, at, buf: bounce, durable: patch.durable });
    }

    /// Does what needs a client's data, now or when the data comes back.
    fn with_data(&mut self, op: u32, what: NeedsData) {
        let changing = self.ops.get_mut(op);
        match changing.data.take() {
            Some(data) => self.use_data(op, data, what),
            None => changing.waiting.push_back(what),
        }
    }

    fn use_data(&mut self, op: u32, data: Buf, what: NeedsData) {
        match what {
            NeedsData::Write { token, from, to, len, durable } => {
                let (start, whole) = (data.start(), data.len());
                let flight = self.flights.add(Flight::Write { token, op, start, len: whole });
                let buf = data.window(start + from, len);
                let (file, at) = self.data_at(to);
                self.push(flight, Job::Write { file, at, buf, durable });
            }
            NeedsData::Patch { token, patch, mut bounce } => {
                let from = patch.from.unwrap_or(0) as usize;
                self.io.with(&data, |bytes| {
                    let part = &bytes[from..from + patch.bytes as usize];
                    self.io.with_mut(&mut bounce, |to| to[patch.into as usize..][..part.len()].copy_from_slice(part));
                });
                self.write_patch(token, &patch, bounce);
                self.give_data(op, data);
            }
        }
    }

    /// A client's data came back: the next that waits for it gets it.
    fn give_data(&mut self, op: u32, data: Buf) {
        let Changing { data: place, waiting, .. } = self.ops.get_mut(op);
        match waiting.pop_front() {
            Some(what) => self.use_data(op, data, what),
            None => *place = Some(data),
        }
    }

    /// Continues a write of the maps' own.
    fn store_on(&mut self, mut storing: Storing, bounce: Buf) {
        let piece = (storing.bytes.len() - storing.done).min(BOUNCE as usize);
        let mut buf = bounce.window(0, piece as u32);
        self.io.with_mut(&mut buf, |to| to.copy_from_slice(&storing.bytes[storing.done..storing.done + piece]));
        let (at, durable) = (storing.at + storing.done as u64, storing.durable);
        let file = self.files[index_of(storing.region)];
        storing.done += piece;
        let flight = self.flights.add(Flight::Store(storing));
        self.push(flight, Job::Write { file, at, buf, durable });
    }

    /// Submits a job, or keeps it until the ring has room. Its offset is relative to the region.
    fn push(&mut self, flight: u32, mut job: Job) {
        // Blocks come first, and they are the many.
        let place_of = |file: &FileId| self.files.iter().position(|found| found == file).unwrap_or(0);
        let place = match &mut job {
            Job::Read { file, at, .. }
            | Job::View { file, at, .. }
            | Job::Write { file, at, .. }
            | Job::Punch { file, at, .. } => {
                let place = place_of(file);
                *at += self.bases[place];
                place
            }
            Job::Sync { file } => place_of(file),
            _ => 0,
        };
        self.failures.goes_to(flight, place);
        self.push_as_it_is(flight, job);
    }

    /// Does the same, with an offset in the file.
    pub(super) fn push_as_it_is(&mut self, flight: u32, job: Job) {
        if let Err(job) = self.port.push(u64::from(flight), job) {
            self.unpushed.push_back((flight, job));
        }
    }

    /// Submits the jobs for which there was no room.
    pub(super) fn push_again(&mut self) {
        while let Some((flight, job)) = self.unpushed.pop_front() {
            if let Err(job) = self.port.push(u64::from(flight), job) {
                self.unpushed.push_front((flight, job));
                break;
            }
        }
    }

    /// Handles a job that the kernel has completed: ends its request, or starts the next step.
    pub(super) fn finish(&mut self, now: Time, done: Done) {
        if let Err(failure) = done.result {
            self.note_failure(done.token as u32, failure);
        }
        let second = done.result.as_ref().map(|_| ()).map_err(ToString::to_string);
        let result = done.result.map(|_| ()).map_err(Failure::fault);
        let flight = self.flights.take(done.token as u32);
        let buf = done.buf;
        match (flight, buf) {
            (Flight::SecondRead(reading), Some(buf)) => self.second_read(now, reading, second, buf),
            (Flight::SecondWrite { segment }, Some(buf)) => self.second_written(segment, second, buf),
            (Flight::Flush { token }, _) => self.core.done(token, result),
            (Flight::Sync(syncing), _) => self.member_synced(syncing, result),
            (Flight::Discard { token, len }, _) => {
                self.counts.given_back += if result.is_ok() { len } else { 0 };
                self.core.done(token, result);
            }
            (Flight::Read(reading), Some(buf)) => match result {
                Ok(()) => self.read_on(now, reading, buf),
                Err(fault) => self.fail_read(now, reading, (fault, done.moved), buf),
            },
            (Flight::Write { token, op, start, len }, Some(buf)) => {
                // Its answer may end the change, which returns the data to the client.
                self.give_data(op, buf.window(start, len));
                self.core.done(token, result);
            }
            (Flight::PatchRead { token, op, patch }, Some(bounce)) => match result {
                Ok(()) => self.lay(token, op, patch, bounce),
                Err(fault) => {
                    self.bounces.push(bounce.window(0, BOUNCE));
                    self.core.not_read(token, fault);
                }
            },
            (Flight::PatchWrite { token }, Some(bounce)) => self.end_own(token, result, bounce),
            (Flight::Store(storing), Some(bounce)) => match result {
                Ok(()) if storing.done < storing.bytes.len() => self.store_on(storing, bounce),
                _ => self.end_own(storing.token, result, bounce),
            },
            (_, None) => unreachable!("a read or a write brings its buffer back"),
        }
    }

    fn end_own(&mut self, token: Token, result: Result<(), Fault>, bounce: Buf) {
        self.bounces.push(bounce.window(0, BOUNCE));
        self.core.done(token, result);
    }
}
