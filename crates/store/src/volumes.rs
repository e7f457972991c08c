//! The LUNs of a pool as one [`Target`]: each request goes to the data file of the object it names.
//!
//! ```text
//!   submit ──► waiting (FIFO, no buffers) ──► flight (≤ in_flight_limit, at the kernel) ──► poll
//! ```
//!
//! What the kernel cannot take at once waits here in order of arrival, as in a disk's own queue, and that wait counts
//! as the disk's. A read takes its memory when it leaves the queue, not before.
//!
//! Flushes are coalesced: while one `fdatasync` of a LUN runs, later flushes of that LUN wait and share the next one.
//! That is right because a flush covers only what completed before it was made, and the shared one starts later.

use block::{
    Buf, Bytes, Completion, Extent, Fault, ObjectId, Op, OpKind, Request, Submitted, Target, Ticket, Time, Traits,
    Wakeup,
};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use uring::{Done, Failure, FileId, Io, Job, Port, space};

/// Limits of [`Volumes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumesSettings {
    /// Requests at the kernel at once. More than a device's own queue (256 is common) keeps it busy; much more only
    /// moves the waiting into the kernel, where it costs more.
    pub in_flight_limit: usize,
    /// The longest read or write in bytes: 32 MiB, the most that NBD clients expect to be served.
    pub longest: u32,
}

impl Default for VolumesSettings {
    fn default() -> Self {
        VolumesSettings { in_flight_limit: 512, longest: 32 << 20 }
    }
}

/// Runs in one answer to a status at most: it bounds the time of the system calls, and the client asks again.
const EXTENTS_MAX: usize = 256;

/// The LUNs that are open, served through one ring.
pub struct Volumes {
    settings: VolumesSettings,
    io: Io,
    port: Port,
    luns: HashMap<ObjectId, Lun>,
    waiting: VecDeque<Queued>,
    /// LUNs with flushes to answer and no sync at the kernel.
    want_sync: VecDeque<ObjectId>,
    flight: Vec<Option<Flight>>,
    free: Vec<u32>,
    ready: Vec<Completion>,
    reaped: Vec<Done>,
    next_ticket: u64,
    /// The first of `waiting` found no room or no memory; something must come back first.
    stalled: bool,
}

struct Lun {
    file: FileId,
    /// The same file, for asking which parts are allocated.
    probe: File,
    size: u64,
    align: u32,
    /// Flushes that the sync at the kernel answers; empty when there is none.
    syncing: Vec<Queued>,
    /// Flushes that came later; the next sync answers them.
    flushes: Vec<Queued>,
    /// Requests at the kernel, so that closing can wait for them.
    in_flight: u32,
    closing: bool,
}

struct Queued {
    ticket: Ticket,
    taken: Time,
    request: Request,
}

/// What a slot's work at the kernel is for.
enum Flight {
    /// One request; its buffer is with the kernel.
    One(Queued),
    /// The sync that makes a finished request durable (FUA on a trim or zero).
    After(Queued),
    /// The sync that answers all of a LUN's `syncing`.
    Sync(ObjectId),
}

impl Volumes {
    /// Without any LUN yet, on a worker's ring.
    pub fn new(io: &Io, settings: VolumesSettings) -> Volumes {
        Volumes {
            settings,
            io: io.clone(),
            port: io.port(),
            luns: HashMap::new(),
            waiting: VecDeque::new(),
            want_sync: VecDeque::new(),
            flight: (0..settings.in_flight_limit).map(|_| None).collect(),
            free: (0..settings.in_flight_limit as u32).rev().collect(),
            ready: Vec::new(),
            reaped: Vec::new(),
            next_ticket: 0,
            stalled: false,
        }
    }

    /// Serves `object` from `file`: `size` bytes, offsets and lengths in multiples of `align`.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub fn open(&mut self, object: ObjectId, file: File, size: u64, align: u32) -> std::io::Result<()> {
        let probe = file.try_clone()?;
        let file = self.io.register(file);
        let (syncing, flushes) = (Vec::new(), Vec::new());
        self.luns.insert(object, Lun { file, probe, size, align, syncing, flushes, in_flight: 0, closing: false });
        Ok(())
    }

    /// Stops serving `object`: what waits completes as gone, what is at the kernel completes as usual, then its file
    /// is closed.
    pub fn close(&mut self, now: Time, object: ObjectId) {
        let Some(lun) = self.luns.get_mut(&object) else { return };
        lun.closing = true;
        let mut gone = std::mem::take(&mut lun.flushes);
        let (mine, others) = self.waiting.drain(..).partition::<Vec<_>, _>(|queued| queued.request.object == object);
        self.waiting = others.into();
        gone.extend(mine);
        for queued in gone {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
        }
        self.close_if_idle(object);
    }

    /// The size in bytes from now on.
    pub fn resize(&mut self, object: ObjectId, size: u64) {
        if let Some(lun) = self.luns.get_mut(&object) {
            lun.size = size;
        }
    }

    /// Whether requests are taken and not completed.
    fn is_busy(&self) -> bool {
        !self.waiting.is_empty() || !self.want_sync.is_empty() || self.free.len() < self.flight.len()
    }

    /// Whether the request fits the LUN it names.
    fn check(&self, request: &Request) -> Result<(), Fault> {
        let lun = self.luns.get(&request.object).filter(|lun| !lun.closing).ok_or(Fault::Gone)?;
        let kind = request.op.kind();
        let end = request.at.checked_add(request.len).ok_or(Fault::Invalid)?;
        if end > lun.size {
            return Err(if kind == OpKind::Write { Fault::NoSpace } else { Fault::Invalid });
        }
        if !kind.moves_data() {
            return Ok(());
        }
        let aligned = |value: u64| value.is_multiple_of(u64::from(lun.align));
        let fits = request.len <= u64::from(self.settings.longest) && aligned(request.at) && aligned(request.len);
        if fits { Ok(()) } else { Err(Fault::Invalid) }
    }

    /// Hands waiting work to the kernel, in order, as far as there is room and memory.
    fn start(&mut self, now: Time) {
        self.stalled = false;
        while let Some(&object) = self.want_sync.front() {
            if !self.start_sync(object) {
                self.stalled = true;
                return;
            }
            self.want_sync.pop_front();
        }
        while let Some(queued) = self.waiting.pop_front() {
            if let Err(queued) = self.start_one(now, queued) {
                self.waiting.push_front(queued);
                self.stalled = true;
                return;
            }
        }
    }

    /// Starts one sync for all flushes of a LUN that wait; false when there is no room for it.
    fn start_sync(&mut self, object: ObjectId) -> bool {
        let Some(lun) = self.luns.get_mut(&object).filter(|lun| !lun.flushes.is_empty()) else { return true };
        let Some(&slot) = self.free.last() else { return false };
        if self.port.push(u64::from(slot), Job::Sync { file: lun.file }).is_err() {
            return false;
        }
        lun.syncing = std::mem::take(&mut lun.flushes);
        lun.in_flight += 1;
        self.free.pop();
        self.flight[slot as usize] = Some(Flight::Sync(object));
        true
    }

    /// Starts one request, or hands it back when there is no room for it.
    fn start_one(&mut self, now: Time, mut queued: Queued) -> Result<(), Queued> {
        let object = queued.request.object;
        let Some(lun) = self.luns.get_mut(&object) else {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
            return Ok(());
        };
        match queued.request.op {
            Op::Flush => {
                lun.flushes.push(queued);
                if lun.syncing.is_empty() && lun.flushes.len() == 1 && !self.start_sync(object) {
                    self.want_sync.push_back(object);
                }
                return Ok(());
            }
            // The page cache is not ours to fill when data goes past it; the answer is a success without effect.
            Op::Cache => {
                self.ready.push(queued.end(now, Ok(())));
                return Ok(());
            }
            Op::Status => {
                let extents = space::extents(&lun.probe, queued.request.at, queued.request.len, EXTENTS_MAX);
                self.ready.push(queued.status(now, extents));
                return Ok(());
            }
            _ => {}
        }
        let Some(&slot) = self.free.last() else { return Err(queued) };
        let Some(job) = job_of(&self.io, lun.file, &mut queued.request) else { return Err(queued) };
        if let Err(job) = self.port.push(u64::from(slot), job) {
            match job {
                Job::Read { buf, .. } => self.io.give(buf),
                Job::Write { buf, .. } => queued.request.op = Op::Write(buf),
                _ => {}
            }
            return Err(queued);
        }
        lun.in_flight += 1;
        self.free.pop();
        self.flight[slot as usize] = Some(Flight::One(queued));
        Ok(())
    }

    /// Ends what the kernel is done with, or sends it on for its sync.
    fn finish(&mut self, now: Time, done: Done) {
        let slot = done.token as usize;
        let (object, syncs) = match self.flight[slot].take() {
            None => return,
            Some(Flight::Sync(object)) => {
                let result = done.result.map(|_| ()).map_err(Failure::fault);
                let answered = self.luns.get_mut(&object).map(|lun| std::mem::take(&mut lun.syncing));
                let answered = answered.unwrap_or_default();
                self.ready.extend(answered.into_iter().map(|queued| queued.end(now, result)));
                (object, true)
            }
            Some(Flight::After(queued)) => {
                let object = queued.request.object;
                let result = done.result.map(|_| ()).map_err(Failure::fault);
                self.ready.push(queued.end(now, result));
                (object, false)
            }
            Some(Flight::One(queued)) => {
                let object = queued.request.object;
                if !self.finish_one(now, slot, queued, done) {
                    return;
                }
                (object, false)
            }
        };
        self.free.push(slot as u32);
        if let Some(lun) = self.luns.get_mut(&object) {
            lun.in_flight -= 1;
            if syncs && !lun.flushes.is_empty() {
                self.want_sync.push_back(object);
            }
        }
        self.close_if_idle(object);
    }

    /// Ends one request; false when its slot goes on with the sync that it needs.
    fn finish_one(&mut self, now: Time, slot: usize, queued: Queued, done: Done) -> bool {
        let request = &queued.request;
        let kind = request.op.kind();
        let mut result = done.result.map(|_| ()).map_err(Failure::fault);
        // A write's durability is in its own system call; trim and zero need a sync of their own.
        if result.is_ok() && request.fua && matches!(kind, OpKind::Trim | OpKind::Zero) {
            let file = self.luns.get(&request.object).map(|lun| lun.file);
            if file.is_some_and(|file| self.port.push(done.token, Job::Sync { file }).is_ok()) {
                self.flight[slot] = Some(Flight::After(queued));
                return false;
            }
            result = Err(Fault::NoMemory);
        }
        let mut completion = queued.end(now, result);
        completion.buf = done.buf;
        if kind == OpKind::Read && result.is_err() {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        self.ready.push(completion);
        true
    }

    fn close_if_idle(&mut self, object: ObjectId) {
        if let Some(lun) = self.luns.get(&object).filter(|lun| lun.closing && lun.in_flight == 0) {
            self.io.close(lun.file);
            self.luns.remove(&object);
        }
    }
}

impl Queued {
    /// Ends it without the kernel, giving its buffer back.
    fn end(self, now: Time, result: Result<(), Fault>) -> Completion {
        let mut completion = Completion::of(&self.request, now, result);
        completion.service = now.since(self.taken);
        match self.request.op {
            Op::Write(buf) if !buf.is_nothing() => completion.buf = Some(buf),
            _ => {}
        }
        completion
    }

    fn status(self, now: Time, extents: std::io::Result<Vec<Extent>>) -> Completion {
        let found = extents.as_ref().map(|_| ()).map_err(|_| Fault::Io);
        let mut completion = self.end(now, found);
        completion.extents = extents.unwrap_or_default();
        completion
    }
}

impl Target for Volumes {
    fn traits(&self) -> Traits {
        let align = self.luns.values().map(|lun| lun.align).max().unwrap_or(1);
        let size = Bytes(self.luns.values().map(|lun| lun.size).max().unwrap_or(0));
        Traits { size, align, longest: self.settings.longest, carries_data: true, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        let checked = self.check(&request);
        let queued = Queued { ticket, taken: now, request };
        match checked {
            Ok(()) => self.waiting.push_back(queued),
            Err(fault) => self.ready.push(queued.end(now, Err(fault))),
        }
        Submitted::Taken(ticket)
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let mut reaped = std::mem::take(&mut self.reaped);
        self.port.reap(&mut reaped);
        for done in reaped.drain(..) {
            self.finish(now, done);
        }
        self.reaped = reaped;
        self.start(now);
        out.append(&mut self.ready);
    }

    fn next_wakeup(&self) -> Wakeup {
        let has_work = !self.waiting.is_empty() || !self.want_sync.is_empty();
        let startable = has_work && !self.stalled;
        match self.is_busy() {
            _ if startable || !self.ready.is_empty() => Wakeup::Now,
            true => Wakeup::External,
            false => Wakeup::Idle,
        }
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        if let Some(place) = self.waiting.iter().position(|queued| queued.ticket == ticket) {
            if let Some(queued) = self.waiting.remove(place) {
                self.ready.push(queued.end(now, Err(Fault::Gone)));
            }
            return;
        }
        let is_it = |flight: &Flight| matches!(flight, Flight::One(queued) if queued.ticket == ticket);
        if let Some(slot) = self.flight.iter().position(|flight| flight.as_ref().is_some_and(is_it)) {
            self.port.cancel(slot as u64);
        }
    }
}

/// The kernel's work for a request that needs one, with its buffer; `None` when there is no memory for a read.
fn job_of(io: &Io, file: FileId, request: &mut Request) -> Option<Job> {
    let (at, len) = (request.at, request.len);
    Some(match &mut request.op {
        Op::Write(buf) => {
            // The kernel holds the buffer from here on; the request keeps only its kind.
            let buf = std::mem::replace(buf, Buf::nothing(len as u32));
            Job::Write { file, at, buf, durable: request.fua }
        }
        Op::Trim => Job::Punch { file, at, len },
        Op::Zero { no_hole, .. } => Job::Zero { file, at, len, keep: *no_hole },
        Op::Read | Op::Flush | Op::Cache | Op::Status => Job::Read { file, at, buf: io.take(len as u32)? },
    })
}
