//! The LUNs of a pool as one [`Target`]: each request goes to the data file of the object it names.
//!
//! ```text
//!   submit ──► line (FIFO, no buffers) ──► flight (≤ in_flight_limit, at the kernel) ──► poll
//! ```
//!
//! What the kernel cannot take at once waits here in order of arrival, as in a disk's own queue, and that wait counts
//! as the disk's. A read takes its memory when it leaves the line, not before.
//!
//! **Flushes** are coalesced: while one `fdatasync` of a LUN runs, later flushes of that LUN wait and share the next one.
//! That is right because a flush covers only what completed before it was made, and the shared one starts later. After
//! a sync that failed the kernel no longer knows what it lost and would call the next one a success; so that LUN takes
//! no change and no flush any more until the pool is opened anew.
//!
//! **Any alignment** is served. A read takes the whole blocks around it and shows the part. A change that is not of
//! whole blocks is a [`Patch`], which runs alone among the changes of its LUN: it waits for those at the kernel, and
//! those that come later wait for it, in order. Reads and flushes pass.

mod patch;

use crate::doubt::Doubt;
use crate::line::Line;
use crate::pool::DataFile;
use crate::queued::Queued;
use block::{
    Buf, Bytes, Completion, Fault, ObjectId, Op, OpKind, Request, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use patch::{PIECE, Patch};
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
    by_object: HashMap<ObjectId, u32>,
    luns: Vec<Option<Lun>>,
    free_luns: Vec<u32>,
    line: Line<Queued>,
    /// LUNs whose parked changes may go on.
    unblocked: VecDeque<u32>,
    /// LUNs with flushes to answer and no sync at the kernel.
    want_sync: VecDeque<u32>,
    /// Patches whose next job found no room at the kernel.
    unpushed: VecDeque<u32>,
    flight: Vec<Option<Flight>>,
    free: Vec<u32>,
    ready: Vec<Completion>,
    reaped: Vec<Done>,
    next_ticket: u64,
    stalled: Option<Stall>,
    /// A status was answered in this poll: they are system calls, so the next one waits for the next poll.
    status_told: bool,
}

struct Lun {
    file: FileId,
    /// The same file, for asking which parts are allocated.
    probe: File,
    size: u64,
    align: u64,
    /// Flushes that the sync at the kernel answers; empty when there is none.
    syncing: Vec<Queued>,
    /// Flushes that came later; the next sync answers them.
    flushes: Vec<Queued>,
    /// Changes that wait for a patch, or a patch that waits for changes, and all changes behind it.
    parked: Line<Queued>,
    /// Changes at the kernel.
    changes: u32,
    /// The change at the kernel is a patch.
    alone: bool,
    /// Slots in use, so that closing can wait for them.
    in_flight: u32,
    closing: bool,
    /// A sync failed.
    failed: bool,
    doubt: Doubt,
    /// The file system has no call for zeroes (that may, that may not leave a hole): they are written.
    zeroes_by_hand: [bool; 2],
}

impl Lun {
    fn fail_if(&mut self, lost: bool) {
        if lost {
            self.failed = true;
            self.doubt.remember();
        }
    }
}

/// What a slot's work at the kernel is for.
enum Flight {
    /// A read of whole blocks, of which the request's bytes begin `skip` bytes in.
    Read { queued: Queued, skip: u32 },
    /// A change of whole blocks; its buffer is with the kernel.
    Change(Queued),
    /// A change of parts of blocks.
    Patch(Box<Patch>),
    /// The sync that answers all of a LUN's `syncing`.
    Sync(u32),
}

/// What the first that waits lacks; something must come back first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stall {
    /// A slot, or room in the ring: something of the kernel's ends.
    Room,
    /// Memory: somebody gives a buffer back.
    Memory,
    /// Nothing: the next poll goes on.
    NextPoll,
}

impl Volumes {
    /// Without any LUN yet, on a worker's ring.
    pub fn new(io: &Io, settings: VolumesSettings) -> Volumes {
        Volumes {
            settings,
            io: io.clone(),
            port: io.port(),
            by_object: HashMap::new(),
            luns: Vec::new(),
            free_luns: Vec::new(),
            line: Line::default(),
            unblocked: VecDeque::new(),
            want_sync: VecDeque::new(),
            unpushed: VecDeque::new(),
            flight: (0..settings.in_flight_limit).map(|_| None).collect(),
            free: (0..settings.in_flight_limit as u32).rev().collect(),
            ready: Vec::new(),
            reaped: Vec::new(),
            next_ticket: 0,
            stalled: None,
            status_told: false,
        }
    }

    /// Serves `object` from `data`, `size` bytes of it. One that is served already is closed first.
    pub fn open(&mut self, now: Time, object: ObjectId, data: DataFile, size: u64) {
        self.close(now, object);
        let DataFile { file, probe, align, doubt } = data;
        let lun = Lun {
            file: self.io.register(file),
            probe,
            size,
            align: u64::from(align),
            syncing: Vec::new(),
            flushes: Vec::new(),
            parked: Line::default(),
            changes: 0,
            alone: false,
            in_flight: 0,
            closing: false,
            failed: false,
            doubt,
            zeroes_by_hand: [false; 2],
        };
        let key = self.free_luns.pop().unwrap_or_else(|| {
            self.luns.push(None);
            self.luns.len() as u32 - 1
        });
        self.luns[key as usize] = Some(lun);
        self.by_object.insert(object, key);
    }

    /// Stops serving `object`: what waits completes as gone, what is at the kernel completes as usual, then its file
    /// is closed.
    pub fn close(&mut self, now: Time, object: ObjectId) {
        let Some(key) = self.by_object.remove(&object) else { return };
        let mut gone = self.line.take_all(key);
        let lun = self.lun(key);
        lun.closing = true;
        gone.append(&mut lun.flushes);
        gone.extend(lun.parked.take_all(key));
        for queued in gone {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
        }
        self.close_if_idle(key);
    }

    /// The size in bytes from now on.
    pub fn resize(&mut self, object: ObjectId, size: u64) {
        if let Some(&key) = self.by_object.get(&object) {
            self.lun(key).size = size;
        }
    }

    /// Requests that were taken and have not begun.
    pub fn backlog(&self) -> usize {
        self.line.len()
    }

    /// Whether work waits for memory: poll again when buffers were given back.
    pub fn lacks_memory(&self) -> bool {
        self.stalled == Some(Stall::Memory)
    }

    /// Whether requests are taken and not completed.
    fn is_busy(&self) -> bool {
        self.has_work() || self.free.len() < self.flight.len()
    }

    /// Whether something waits to be handed to the kernel that nothing of its own LUN holds back.
    fn has_work(&self) -> bool {
        !self.line.is_empty() || !self.want_sync.is_empty() || !self.unblocked.is_empty() || !self.unpushed.is_empty()
    }

    /// A LUN by its key. It stays in its place until its last request has ended.
    fn lun(&mut self, key: u32) -> &mut Lun {
        self.luns[key as usize].as_mut().expect("a LUN goes after its last request")
    }

    /// The LUN that a request names, if the request fits it.
    fn check(&self, request: &Request) -> Result<u32, Fault> {
        let key = *self.by_object.get(&request.object).ok_or(Fault::Gone)?;
        let size = self.luns[key as usize].as_ref().map_or(0, |lun| lun.size);
        let kind = request.op.kind();
        let end = request.at.checked_add(request.len).ok_or(Fault::Invalid)?;
        if end > size {
            // As the rules of the protocol have it, for a client that has not heard of a smaller size.
            let adds = matches!(kind, OpKind::Write | OpKind::Zero);
            return Err(if adds { Fault::NoSpace } else { Fault::Invalid });
        }
        let fits = !kind.moves_data() || (1..=u64::from(self.settings.longest)).contains(&request.len);
        if fits { Ok(key) } else { Err(Fault::Invalid) }
    }

    /// Hands waiting work to the kernel, in order, as far as there is room and memory.
    fn start(&mut self, now: Time) {
        self.status_told = false;
        self.stalled = self.start_all(now).err();
    }

    fn start_all(&mut self, now: Time) -> Result<(), Stall> {
        while let Some(&slot) = self.unpushed.front() {
            self.push_patch(now, slot)?;
            self.unpushed.pop_front();
        }
        while let Some(&key) = self.want_sync.front() {
            self.start_sync(now, key)?;
            self.want_sync.pop_front();
        }
        while let Some(&key) = self.unblocked.front() {
            self.start_parked(now, key)?;
            self.unblocked.pop_front();
        }
        while let Some(queued) = self.line.pop_front() {
            if let Err((queued, stall)) = self.start_one(now, queued) {
                self.line.push_front(queued);
                return Err(stall);
            }
        }
        Ok(())
    }

    /// Starts one sync for all flushes of a LUN that wait.
    fn start_sync(&mut self, now: Time, key: u32) -> Result<(), Stall> {
        let Some(lun) = self.luns[key as usize].as_mut().filter(|lun| !lun.flushes.is_empty()) else { return Ok(()) };
        if lun.failed {
            let failed = std::mem::take(&mut lun.flushes);
            self.ready.extend(failed.into_iter().map(|queued| queued.end(now, Err(Fault::Io))));
            self.close_if_idle(key);
            return Ok(());
        }
        let &slot = self.free.last().ok_or(Stall::Room)?;
        self.port.push(u64::from(slot), Job::Sync { file: lun.file }).map_err(|_| Stall::Room)?;
        lun.syncing = std::mem::take(&mut lun.flushes);
        self.fly(slot, key, Flight::Sync(key));
        Ok(())
    }

    /// Starts the changes of a LUN that waited for others, as far as they may go now.
    fn start_parked(&mut self, now: Time, key: u32) -> Result<(), Stall> {
        while let Some(lun) = &mut self.luns[key as usize] {
            let Some(queued) = lun.parked.pop_front() else { break };
            let blocked = lun.alone || lun.changes > 0 && lun.needs_patch(&queued);
            let started = if blocked { Err((queued, None)) } else { self.start_change(now, queued).map_err(some) };
            if let Err((queued, stall)) = started {
                self.lun(key).parked.push_front(queued);
                return stall.map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    /// Starts one request, or hands it back when there is no room for it.
    fn start_one(&mut self, now: Time, queued: Queued) -> Result<(), (Queued, Stall)> {
        let key = queued.lun;
        let lun = self.luns[key as usize].as_mut().expect("a LUN goes after its last request");
        match queued.request.op.kind() {
            OpKind::Read => self.start_read(queued),
            OpKind::Write | OpKind::Trim | OpKind::Zero => {
                let blocked = lun.alone || !lun.parked.is_empty() || lun.changes > 0 && lun.needs_patch(&queued);
                if blocked {
                    lun.parked.push_back(queued);
                    return Ok(());
                }
                self.start_change(now, queued)
            }
            OpKind::Flush if lun.failed => {
                self.ready.push(queued.end(now, Err(Fault::Io)));
                Ok(())
            }
            OpKind::Flush => {
                self.want_flush(now, queued);
                Ok(())
            }
            // The page cache is not ours to fill when data goes past it; the answer is a success without effect.
            OpKind::Cache => {
                self.ready.push(queued.end(now, Ok(())));
                Ok(())
            }
            OpKind::Status if self.status_told => Err((queued, Stall::NextPoll)),
            OpKind::Status => {
                self.status_told = true;
                let found = space::extents(&lun.probe, queued.request.at, queued.request.len, EXTENTS_MAX);
                let mut completion = queued.end(now, found.as_ref().map(|_| ()).map_err(|_| Fault::Io));
                completion.extents = found.unwrap_or_default();
                self.ready.push(completion);
                Ok(())
            }
        }
    }

    /// Has a flush, or a change that must be durable, answered by the next sync of its LUN.
    fn want_flush(&mut self, now: Time, queued: Queued) {
        let key = queued.lun;
        let lun = self.lun(key);
        lun.flushes.push(queued);
        // Else one is at the kernel or waits to be, and the next one follows it.
        let is_first = lun.syncing.is_empty() && lun.flushes.len() == 1;
        if is_first && self.start_sync(now, key).is_err() {
            self.want_sync.push_back(key);
        }
    }

    fn start_read(&mut self, queued: Queued) -> Result<(), (Queued, Stall)> {
        let Some(&slot) = self.free.last() else { return Err((queued, Stall::Room)) };
        let key = queued.lun;
        let lun = self.lun(key);
        let (at, len, file) = (queued.request.at, queued.request.len, lun.file);
        let from = at - at % lun.align;
        let whole = (at + len).next_multiple_of(lun.align) - from;
        let Some(buf) = self.io.take(whole as u32) else { return Err((queued, Stall::Memory)) };
        if let Err(job) = self.port.push(u64::from(slot), Job::View { file, at: from, buf }) {
            self.give_buf_of(job);
            return Err((queued, Stall::Room));
        }
        self.fly(slot, key, Flight::Read { queued, skip: (at - from) as u32 });
        Ok(())
    }

    /// Starts a change that nothing of its LUN stands in the way of.
    fn start_change(&mut self, now: Time, mut queued: Queued) -> Result<(), (Queued, Stall)> {
        let Some(&slot) = self.free.last() else { return Err((queued, Stall::Room)) };
        let key = queued.lun;
        let lun = self.lun(key);
        if lun.failed {
            self.ready.push(queued.end(now, Err(Fault::Io)));
            return Ok(());
        }
        if lun.needs_patch(&queued) {
            return self.start_patch(now, slot, queued);
        }
        let job = change_job(lun.file, &mut queued.request);
        if let Err(job) = self.port.push(u64::from(slot), job) {
            if let Job::Write { buf, .. } = job {
                queued.request.op = Op::Write(buf);
            }
            return Err((queued, Stall::Room));
        }
        self.lun(key).changes += 1;
        self.fly(slot, key, Flight::Change(queued));
        Ok(())
    }

    fn start_patch(&mut self, now: Time, slot: u32, mut queued: Queued) -> Result<(), (Queued, Stall)> {
        let Some(bounce) = self.io.take(PIECE as u32) else { return Err((queued, Stall::Memory)) };
        let key = queued.lun;
        let data = queued.take_data();
        let lun = self.lun(key);
        let patch = Patch::new(queued, data, lun.align, bounce);
        (lun.changes, lun.alone) = (1, true);
        self.fly(slot, key, Flight::Patch(Box::new(patch)));
        if self.push_patch(now, slot).is_err() {
            self.unpushed.push_back(slot);
        }
        Ok(())
    }

    /// Hands a patch's next job to the kernel, or ends the patch.
    fn push_patch(&mut self, now: Time, slot: u32) -> Result<(), Stall> {
        let Some(Flight::Patch(mut patch)) = self.flight[slot as usize].take() else { return Ok(()) };
        let file = self.lun(patch.queued.lun).file;
        match patch.job(&self.io, file) {
            Some(job) => {
                let pushed = self.port.push(u64::from(slot), job);
                let full = pushed.map_err(|job| patch.put_back(job)).is_err();
                self.flight[slot as usize] = Some(Flight::Patch(patch));
                if full { Err(Stall::Room) } else { Ok(()) }
            }
            None => {
                self.end_patch(now, slot, *patch, Ok(()));
                Ok(())
            }
        }
    }

    /// A slot's work is at the kernel from now on.
    fn fly(&mut self, slot: u32, key: u32, flight: Flight) {
        self.free.pop();
        self.flight[slot as usize] = Some(flight);
        self.lun(key).in_flight += 1;
    }

    /// A slot's work has ended.
    fn land(&mut self, slot: u32, key: u32) {
        self.free.push(slot);
        self.lun(key).in_flight -= 1;
        self.close_if_idle(key);
    }

    /// Ends what the kernel is done with, or sends it on to its next step.
    fn finish(&mut self, now: Time, done: Done) {
        let slot = done.token as u32;
        let result = done.result.map(|_| ()).map_err(Failure::fault);
        match self.flight[slot as usize].take() {
            None => debug_assert!(false, "the kernel ends a job once"),
            Some(Flight::Sync(key)) => {
                let lun = self.lun(key);
                lun.fail_if(result.is_err());
                let answered = std::mem::take(&mut lun.syncing);
                if !lun.flushes.is_empty() {
                    self.want_sync.push_back(key);
                }
                self.ready.extend(answered.into_iter().map(|queued| queued.end(now, result)));
                self.land(slot, key);
            }
            Some(Flight::Read { queued, skip }) => {
                let (key, len) = (queued.lun, queued.request.len);
                let completion = match (result, done.buf) {
                    (Err(fault), Some(buf)) => {
                        let good = done.moved.saturating_sub(skip);
                        let (completion, unused) = queued.end_in_the_middle(now, fault, buf, (skip, good));
                        unused.into_iter().for_each(|buf| self.io.give(buf));
                        completion
                    }
                    (result, buf) => {
                        let mut completion = queued.end(now, result);
                        completion.buf = buf.map(|buf| buf.window(skip, len as u32));
                        completion
                    }
                };
                self.ready.push(completion);
                self.land(slot, key);
            }
            Some(Flight::Change(queued)) => self.finish_change(now, slot, queued, result, done.buf),
            Some(Flight::Patch(mut patch)) => {
                patch.take_back(done.buf);
                if result.is_err() {
                    return self.end_patch(now, slot, *patch, result);
                }
                patch.go_on();
                self.flight[slot as usize] = Some(Flight::Patch(patch));
                if self.push_patch(now, slot).is_err() {
                    self.unpushed.push_back(slot);
                }
            }
        }
    }

    fn finish_change(&mut self, now: Time, slot: u32, mut queued: Queued, result: Result<(), Fault>, buf: Option<Buf>) {
        let key = queued.lun;
        if let Some(buf) = buf {
            queued.request.op = Op::Write(buf);
        }
        match (&queued.request.op, result) {
            // What cannot be given back stays taken: a trim is a wish.
            (Op::Trim, Err(Fault::Unsupported)) => self.ready.push(queued.end(now, Ok(()))),
            (Op::Zero { fast_only: false, no_hole }, Err(Fault::Unsupported)) => {
                let no_hole = usize::from(*no_hole);
                let lun = self.lun(key);
                lun.zeroes_by_hand[no_hole] = true;
                // Its turn came already, so it goes before those that came later.
                lun.parked.push_front(queued);
            }
            // A write's durability is in its own system call; trim and zero need a sync.
            (Op::Trim | Op::Zero { .. }, Ok(())) if queued.request.fua => self.want_flush(now, queued),
            _ => self.end_change(now, queued, result),
        }
        self.change_ended(key);
        self.land(slot, key);
    }

    fn end_patch(&mut self, now: Time, slot: u32, patch: Patch, result: Result<(), Fault>) {
        let (mut queued, data, bounce) = patch.end();
        let key = queued.lun;
        bounce.into_iter().for_each(|buf| self.io.give(buf));
        if let Some(data) = data {
            queued.request.op = Op::Write(data);
        }
        self.end_change(now, queued, result);
        self.lun(key).alone = false;
        self.change_ended(key);
        self.land(slot, key);
    }

    fn end_change(&mut self, now: Time, queued: Queued, result: Result<(), Fault>) {
        // A durable write that fails may have lost what was written before it, like a sync.
        let lost = queued.request.fua && result == Err(Fault::Io);
        self.lun(queued.lun).fail_if(lost);
        self.ready.push(queued.end(now, result));
    }

    fn change_ended(&mut self, key: u32) {
        let lun = self.lun(key);
        lun.changes -= 1;
        if lun.changes == 0 && !lun.parked.is_empty() {
            self.unblocked.push_back(key);
        }
    }

    fn close_if_idle(&mut self, key: u32) {
        let place = &mut self.luns[key as usize];
        let idle = |lun: &mut Lun| lun.closing && lun.in_flight == 0 && lun.flushes.is_empty() && lun.parked.is_empty();
        if let Some(lun) = place.take_if(idle) {
            self.io.close(lun.file);
            self.free_luns.push(key);
        }
    }

    fn give_buf_of(&self, job: Job) {
        if let Job::View { buf, .. } = job {
            self.io.give(buf);
        }
    }
}

impl Lun {
    /// Whether a change is not of whole blocks, or has to be written by hand.
    fn needs_patch(&self, queued: &Queued) -> bool {
        let Request { at, len, op, .. } = &queued.request;
        let aligned = |buf: &Buf| (at | len | u64::from(buf.start())) & (self.align - 1) == 0;
        match op {
            Op::Write(buf) => !aligned(buf),
            // One that must be fast is refused by the file system itself.
            Op::Zero { no_hole, fast_only: false } => self.zeroes_by_hand[usize::from(*no_hole)],
            _ => false,
        }
    }
}

impl Target for Volumes {
    fn traits(&self) -> Traits {
        let size = Bytes(self.luns.iter().flatten().map(|lun| lun.size).max().unwrap_or(0));
        Traits { size, align: 1, longest: self.settings.longest, carries_data: true, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        match self.check(&request) {
            Ok(lun) => self.line.push_back(Queued { ticket, taken: now, lun, request }),
            Err(fault) => self.ready.push(Completion::refuse(request, now, fault)),
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
        let waits = matches!(self.stalled, Some(Stall::Room | Stall::Memory));
        match self.is_busy() {
            _ if self.has_work() && !waits || !self.ready.is_empty() => Wakeup::Now,
            true => Wakeup::External,
            false => Wakeup::Idle,
        }
    }

    /// What waits ends at once. What is at the kernel ends by itself: a disk request that is cut off half way would leave
    /// unknown what it did.
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        let mut lines =
            std::iter::once(&mut self.line).chain(self.luns.iter_mut().flatten().map(|lun| &mut lun.parked));
        if let Some(queued) = lines.find_map(|line| line.take(ticket)) {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
        }
    }
}

fn some<A, B>((a, b): (A, B)) -> (A, Option<B>) {
    (a, Some(b))
}

/// The kernel's work for a change of whole blocks.
fn change_job(file: FileId, request: &mut Request) -> Job {
    let (at, len) = (request.at, request.len);
    match &mut request.op {
        // The kernel holds the buffer from here on; the request keeps only its kind.
        Op::Write(buf) => {
            let buf = std::mem::replace(buf, Buf::nothing(len as u32));
            Job::Write { file, at, buf, durable: request.fua }
        }
        Op::Zero { no_hole, .. } => Job::Zero { file, at, len, keep: *no_hole },
        _ => Job::Punch { file, at, len },
    }
}
