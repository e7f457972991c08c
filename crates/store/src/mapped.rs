//! The LUNs and snapshots of a pool with maps, as one [`Target`]. The I/O that the maps ask for is
//! done through the ring.
//!
//! ```text
//!   submit ──► line (FIFO, no buffers) ──► ops (≤ in_flight_limit) ──► map::Core ──► commands ──► flights ──► poll
//!                                             reads look up and fly by themselves
//! ```
//! All LUNs share one file of blocks, and [`map::Core`] knows which block belongs to which LUN. An
//! object's tree has the object's number.
//!
//! **Memory.** The maps' own writes, and blocks that are put together before they are written, use
//! a few buffers that are allocated at the start. Otherwise a flush could wait for memory held by
//! clients that wait for that flush.

mod administration;
mod cached;
mod error;
mod extents;
mod failures;
mod files;
mod flight;
mod members;
mod places;
mod reading;
mod salvage;
mod second;
mod trees;
mod views;

pub use cached::{CacheSettings, PartitionState};

use crate::doubt::Doubt;
use crate::line::Line;
use crate::queued::Queued;
use crate::settings::VolumesSettings;
use block::{
    Buf, Bytes, Completion, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use cached::Cached;
pub use error::MapError;
pub use failures::DiskFailure;
use failures::Failures;
pub(crate) use files::{Length, lengths};
pub use files::{MapSettings, MappedPool, Room, check_maps};
use flight::{Flight, Syncing};
use map::{Ask, Command, Core, Ended, Run, Slots, Steps, What};
use members::Members;
pub(crate) use places::MEMBERS_MAX;
pub use places::{Marks, Named};
pub(crate) use salvage::{MapRepair, salvage_maps};
pub use second::{SecondError, SecondFile, SecondPlace, SecondState};
use std::collections::{HashSet, VecDeque};
use std::fs::File;
pub(crate) use trees::{DataFiles, open_trees};
use uring::{Done, FileId, Io, Job, Port};

/// Bytes in one of our own buffers: a block.
const BOUNCE: u32 = map::BLOCK as u32;
/// Number of our own buffers.
const BOUNCES: usize = 12;
/// How many of them are reserved for the maps' own writes.
const RESERVED: usize = 4;
/// Limit on the extents in one answer to a status request.
const EXTENTS_MAX: usize = 256;
/// Changes of the maps become durable after this time even if nobody asks for it, as in file
/// systems: a client that never flushes loses at most the last seconds.
const COMMIT_TIME: Span = Span::from_secs(5);
/// The end of the log is recorded this long after a record that it does not cover. So a storm of
/// flushes costs one write, and a damaged log can lose no more than that unnoticed.
const ANCHOR_TIME: Span = Span::from_millis(100);
/// Free space is returned to the file system or the device this long after the first block became
/// free, all at once. What is written again in the meantime is spared.
const GIVE_BACK_TIME: Span = Span::from_secs(1);
/// Steps per poll for work of the maps that grows with the pool. A step takes some 10 ns if the
/// freed blocks are adjacent, and up to 150 ns if each needs three loads from distant memory: 0.3
/// ms in all, and a turn may poll twice.
const STEPS: u32 = 2048;
/// Marks the ids of requests to the maps that come from [`MappedVolumes::administer`].
const ADMINISTRATION: u64 = 1 << 32;

/// The open LUNs, served through one ring.
pub struct MappedVolumes {
    settings: VolumesSettings,
    io: Io,
    port: Port,
    core: Core,
    /// One for each region, then the members of the data from the second on.
    files: Vec<FileId>,
    align: u64,
    /// Where each region or member begins in its file.
    bases: Vec<u64>,
    /// The layout of the data, if it has several members.
    members: Option<Members>,
    give_back: bool,
    doubt: Doubt,
    failures: Failures,
    /// Locks for as long as it is open: what the settings name belongs to this pool alone.
    _locks: Vec<File>,
    objects: HashSet<ObjectId>,
    line: Line<Queued>,
    ops: Slots<Changing>,
    reads: usize,
    /// Pages cached in memory.
    cached: Option<Cached>,
    ahead: cache::ReadAhead,
    /// Read-ahead requests in flight.
    aheads: usize,
    /// Completed reads whose bytes are still in the file.
    views: views::Views,
    flights: Slots<Flight>,
    /// Jobs for which the ring had no room.
    unpushed: VecDeque<(u32, Job)>,
    /// Commands that wait for one of our own buffers.
    held: VecDeque<Command>,
    bounces: Vec<Buf>,
    ready: Vec<Completion>,
    answers: Vec<Ended>,
    next_ticket: u64,
    lacks_memory: bool,
    /// When changes that are not durable were first seen.
    changed: Option<Time>,
    /// When a record was first seen that the recorded end of the log does not cover.
    unanchored: Option<Time>,
    /// When free blocks were first seen whose space was not returned.
    stale: Option<Time>,
    /// Flushes of several members in progress.
    syncing: Slots<Syncing>,
    counts: Counts,
    // Kept to save allocations.
    reaped: Vec<Done>,
    runs: Vec<Run>,
    events: Vec<Ended>,
}

/// Counts of requests and their effects since the pool was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Flushes by clients that were answered.
    pub flushes: u64,
    /// Times that the data was made durable, for clients and for the maps.
    pub syncs: u64,
    /// Bytes of free blocks that were returned to the file system or the device.
    pub given_back: u64,
}

/// A change that the maps are working on, with the client's data.
struct Changing {
    queued: Queued,
    /// `None` while the kernel has it, or if there is none.
    data: Option<Buf>,
    /// Commands and patches that wait for the data to be returned.
    waiting: VecDeque<flight::NeedsData>,
}

impl MappedVolumes {
    /// Slab memory that it takes for as long as it lives.
    pub const MEMORY: Bytes = Bytes((BOUNCE as usize * BOUNCES) as u64);

    /// Serves a pool on a worker's ring; no LUN is open yet.
    ///
    /// # Errors
    /// The ring's slab lacks 768 KiB for our own buffers; the pool is handed back.
    pub fn new(io: &Io, pool: MappedPool, settings: VolumesSettings) -> Result<MappedVolumes, Box<MappedPool>> {
        let bounces: Vec<Buf> = std::iter::from_fn(|| io.take(BOUNCE)).take(BOUNCES).collect();
        if bounces.len() < BOUNCES {
            bounces.into_iter().for_each(|buf| io.give(buf));
            return Err(Box::new(pool));
        }
        // Without memory for a cache, it is served from the disk.
        let cached = settings.cache.as_ref().and_then(|cache| Cached::new(io, cache).ok());
        let MappedPool { core, files, paths, align, bases, locks, members, give_back, doubt, .. } = pool;
        Ok(MappedVolumes {
            settings,
            io: io.clone(),
            port: io.port(),
            core,
            files: files.into_iter().map(|file| io.register(file)).collect(),
            align: u64::from(align),
            bases,
            members,
            give_back,
            doubt,
            failures: Failures::of(paths),
            _locks: locks,
            // Sized for the maximum, so that it never grows during a request.
            objects: HashSet::with_capacity(map::TREES_MAX),
            line: Line::default(),
            ops: Slots::default(),
            reads: 0,
            cached,
            ahead: cache::ReadAhead::default(),
            aheads: 0,
            views: views::Views::default(),
            flights: Slots::default(),
            unpushed: VecDeque::new(),
            held: VecDeque::new(),
            bounces,
            ready: Vec::new(),
            answers: Vec::new(),
            next_ticket: 0,
            lacks_memory: false,
            changed: None,
            unanchored: None,
            stale: None,
            syncing: Slots::default(),
            counts: Counts::default(),
            reaped: Vec::new(),
            runs: Vec::new(),
            events: Vec::new(),
        })
    }

    /// Serves `object`, whose tree must exist.
    pub fn open(&mut self, object: ObjectId) {
        self.objects.insert(object);
    }

    /// Stops serving `object`: its queued requests complete as gone, those in flight as usual.
    pub fn close(&mut self, now: Time, object: ObjectId) {
        self.objects.remove(&object);
        self.cached.iter_mut().for_each(|cached| cached.forget(object.0));
        for queued in self.line.take_all(object.0) {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
        }
    }

    /// Sets the space for blocks, including those in use.
    pub fn set_room(&mut self, room: Bytes) {
        self.core.set_capacity(room.0 / map::BLOCK);
    }

    /// The maps.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Offsets and lengths of the disk's I/O are multiples of this many bytes.
    pub fn align(&self) -> u32 {
        self.align as u32
    }

    /// Counts since the pool was opened.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Our own buffers, which are out of the slab for as long as this lives.
    pub fn own_buffers(&self) -> usize {
        BOUNCES + self.cached.as_ref().and_then(|cached| cached.second.as_ref()).map_or(0, |second| second.buffers())
    }

    /// Requests that were accepted and have not started.
    pub fn backlog(&self) -> usize {
        self.line.len()
    }

    /// Whether requests wait for memory: poll again after buffers were given back.
    pub fn lacks_memory(&self) -> bool {
        self.lacks_memory
    }

    fn is_busy(&self) -> bool {
        !self.line.is_empty() || !self.flights.is_empty() || !self.ops.is_empty() || self.core.is_busy()
    }

    /// Whether there is work in progress that is done in steps.
    pub fn has_work(&self) -> bool {
        self.core.has_work() || self.cached.as_ref().is_some_and(Cached::has_work)
    }

    fn has_room(&self) -> bool {
        self.ops.len() + self.reads < self.settings.in_flight_limit
    }

    fn check(&self, request: &Request) -> Result<(), Fault> {
        self.objects.get(&request.object).ok_or(Fault::Gone)?;
        let (size, _) = self.core.tree(request.object.0).ok_or(Fault::Gone)?;
        let kind = request.op.kind();
        let end = request.at.checked_add(request.len).ok_or(Fault::Invalid)?;
        if end > size {
            // The protocol prescribes these errors, for a client that does not know of a smaller
            // size.
            let adds = matches!(kind, OpKind::Write | OpKind::Zero);
            return Err(if adds { Fault::NoSpace } else { Fault::Invalid });
        }
        let fits = !kind.moves_data() || (1..=u64::from(self.settings.longest)).contains(&request.len);
        if fits { Ok(()) } else { Err(Fault::Invalid) }
    }

    /// Starts queued requests in order, as far as there is room and memory.
    fn start(&mut self, now: Time) {
        self.lacks_memory = false;
        while self.has_room() {
            let Some(queued) = self.line.pop_front() else { break };
            if let Err(queued) = self.start_one(now, queued) {
                self.lacks_memory = true;
                self.line.push_front(queued);
                break;
            }
        }
    }

    /// Starts one request, or hands it back if there is no memory for it.
    fn start_one(&mut self, now: Time, mut queued: Queued) -> Result<(), Queued> {
        let request = &queued.request;
        let (tree, at, len) = (request.object.0, request.at, request.len);
        let what = match request.op {
            Op::Read => return self.start_read(now, queued, false),
            Op::Cache => {
                self.ready.push(queued.end(now, Ok(())));
                return Ok(());
            }
            Op::Status { sharing } => {
                let found = self.core.status(tree, at, len, EXTENTS_MAX, sharing);
                let mut completion = queued.end(now, found.as_ref().map(|_| ()).map_err(|refusal| refusal.fault()));
                completion.extents = found.unwrap_or_default();
                self.ready.push(completion);
                return Ok(());
            }
            Op::Write(_) => What::Write,
            Op::Flush => What::Flush,
            Op::Trim => What::Trim,
            Op::Zero { no_hole, .. } => What::Zero { no_hole },
        };
        let fua = request.fua;
        let data = queued.take_data();
        let aligned = data.as_ref().is_none_or(|data| u64::from(data.start()) & (self.align - 1) == 0);
        let op = self.ops.add(Changing { queued, data, waiting: VecDeque::new() });
        if let Some(cached) = self.cached.as_mut().filter(|_| !matches!(what, What::Flush)) {
            cached.begin_change(tree, at, len);
        }
        self.core.submit(Ask { id: u64::from(op), tree, at, len, what, fua, aligned });
        Ok(())
    }

    fn commit_in_time(&mut self, now: Time) {
        if !self.core.has_changes() || self.core.has_failed() {
            self.changed = None;
        } else if now.since(*self.changed.get_or_insert(now)) >= COMMIT_TIME {
            self.changed = Some(now);
            self.core.commit();
        }
    }

    fn anchor_in_time(&mut self, now: Time) {
        if self.core.is_anchored() {
            self.unanchored = None;
        } else if now.since(*self.unanchored.get_or_insert(now)) >= ANCHOR_TIME {
            self.unanchored = Some(now);
            self.core.anchor();
        }
    }

    fn give_back_in_time(&mut self, now: Time) {
        if !self.give_back || self.core.stale() == 0 || self.core.has_failed() {
            self.stale = None;
        } else if now.since(*self.stale.get_or_insert(now)) >= GIVE_BACK_TIME {
            self.stale = Some(now);
            self.core.give_back();
        }
    }

    /// Handles the maps' answers; returns whether there were any.
    fn take_events(&mut self, now: Time) -> bool {
        let mut events = std::mem::take(&mut self.events);
        self.core.take_events(&mut events);
        let any = !events.is_empty();
        for ended in events.drain(..) {
            if ended.id & ADMINISTRATION != 0 {
                self.answer_administration(ended);
                continue;
            }
            let Changing { mut queued, data, .. } = self.ops.take(ended.id as u32);
            self.counts.flushes += u64::from(ended.result.is_ok() && queued.request.op.kind() == OpKind::Flush);
            self.update_cached(&queued.request, data.as_ref().filter(|_| ended.result.is_ok()));
            if let Some(data) = data {
                queued.request.op = Op::Write(data);
            }
            self.ready.push(queued.end(now, ended.result.map_err(|refusal| refusal.fault())));
        }
        self.events = events;
        any
    }
}

impl Target for MappedVolumes {
    fn traits(&self) -> Traits {
        let sizes = self.objects.iter().filter_map(|object| self.core.tree(object.0)).map(|(size, _)| size);
        let size = Bytes(sizes.max().unwrap_or(0));
        Traits { size, align: 1, longest: self.settings.longest, carries_data: true, read_only: false }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.next_ticket += 1;
        let ticket = Ticket(self.next_ticket);
        match self.check(&request) {
            Ok(()) => {
                let queued = Queued { ticket, taken: now, lun: request.object.0, request };
                if let Some(queued) = self.read_cached(now, queued) {
                    self.line.push_back(queued);
                }
            }
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
        self.push_again();
        self.end_views(now);
        self.cached.iter_mut().filter(|cached| cached.has_work()).for_each(|cached| cached.step(&self.io, now));
        if self.core.has_work() {
            self.core.step(&mut Steps::new(STEPS));
        }
        loop {
            self.start(now);
            self.commit_in_time(now);
            self.anchor_in_time(now);
            self.give_back_in_time(now);
            self.core.advance();
            self.carry_out();
            // Requests that ended made room for queued ones.
            if !self.take_events(now) || self.line.is_empty() {
                break;
            }
        }
        if self.core.has_failed() {
            self.doubt.remember();
            self.failures.stop();
            self.cached.iter_mut().for_each(|cached| cached.shut(&self.io));
        }
        self.write_second();
        out.append(&mut self.ready);
    }

    fn next_wakeup(&self) -> Wakeup {
        let can_start = !self.line.is_empty() && self.has_room() && !self.lacks_memory;
        let later = |since: Option<Time>, span| since.map_or(Wakeup::Idle, |since| Wakeup::At(since + span));
        let commit = later(self.changed, COMMIT_TIME).sooner(later(self.stale, GIVE_BACK_TIME));
        let commit = commit.sooner(later(self.unanchored, ANCHOR_TIME)).sooner(self.next_look());
        match self.is_busy() {
            _ if can_start || !self.ready.is_empty() || !self.answers.is_empty() || self.has_work() => Wakeup::Now,
            true => Wakeup::External.sooner(commit),
            false => commit,
        }
    }

    /// A queued request ends at once. What the maps or the kernel have ends by itself.
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        if let Some(queued) = self.line.take(ticket) {
            self.ready.push(queued.end(now, Err(Fault::Gone)));
        }
    }
}

impl Drop for MappedVolumes {
    fn drop(&mut self) {
        self.bounces.drain(..).for_each(|buf| self.io.give(buf));
        if let Some(second) = self.cached.as_mut().and_then(|cached| cached.second.as_mut()) {
            second.fail(&self.io, "it is closed");
            self.io.close(second.file);
        }
        self.files.iter().for_each(|file| self.io.close(*file));
    }
}

#[cfg(test)]
mod tests;
