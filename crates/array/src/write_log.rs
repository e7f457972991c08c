//! A write log in memory that survives a power loss, in two halves: a write is answered when it is
//! in the log, and reaches the media at the next consistency point.
//!
//! ```text
//!   write ──► [half that fills] ──► answered after `latency`
//!                    │  full, or `every` since its first write
//!                    ▼
//!             [half that is flushed] ──► media, `depth` at a time
//! ```
//! When the filling half is full before the other is flushed, writes wait until it is: back-to-back
//! consistency points. Flushed data goes to its own place in the order of addresses, neighbours
//! joined up to `unit`; or, in an array that writes anywhere, one behind the other in pieces of
//! `unit`, which a RAID below takes as full stripes. Sources of the rules are the triggers "10 s"
//! (Hitz, Lau, Malcolm, "File System Design for an NFS File Server Appliance", 1994) and "half
//! full"; how much of a pair's memory one half is depends on the array.
//!
//! A range written twice before its point goes down once; ranges that overlap but begin at
//! different bytes go down both. A read of data in the log is answered from it.

mod ranges;

use std::collections::VecDeque;

use block::{Bytes, OpKind, Span, Time};
use slab::Slab;

use crate::agenda::Agenda;
use crate::device::{DeviceError, none_zero};
use crate::link::nanos;
use crate::simulated::{Job, Medium, or_never, withdraw};
use crate::stage::Below;
use ranges::Ranges;

/// A log of writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteLog {
    /// Bytes of one half.
    pub half: Bytes,
    /// The time from a write's arrival until it is in the log, and its copy in the partner's. A
    /// flush takes as long.
    pub latency: Span,
    /// Bytes a second that the log accepts, one write after the other; `None`: no bound.
    pub bandwidth: Option<Bytes>,
    /// The longest a write stays in the log before its consistency point begins.
    pub every: Span,
    /// Writes to the media outstanding at a point, at most.
    pub depth: u32,
    /// The longest of these writes.
    pub unit: Bytes,
    /// Whether they go one behind the other, anywhere, instead of each to its own place.
    pub anywhere: bool,
}

impl WriteLog {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        let fields = [
            ("half", self.half.0),
            ("bandwidth", self.bandwidth.map_or(1, |bandwidth| bandwidth.0)),
            ("every", self.every.as_nanos()),
            ("depth", self.depth.into()),
            ("unit", self.unit.0),
        ];
        none_zero("write-log", &fields)
    }
}

impl Default for WriteLog {
    /// 512 MiB a half, mirrored in 100 µs, a point every 10 s, 32 writes of up to 64 KiB
    /// outstanding, in place.
    fn default() -> WriteLog {
        WriteLog {
            half: Bytes::mib(512),
            latency: Span::from_micros(100),
            bandwidth: None,
            every: Span::from_secs(10),
            depth: 32,
            unit: Bytes::kib(64),
            anywhere: false,
        }
    }
}

/// Both halves at work.
#[derive(Debug)]
pub(crate) struct Halves {
    spec: WriteLog,
    size: u64,
    below: Below,
    filling: Half,
    /// What the flushed half still has to send, and how much of it is under way; `None` between
    /// points.
    flushing: Option<Flush>,
    /// Writes that found the log full.
    stalled: VecDeque<Job>,
    answering: Agenda<u32>,
    /// When the log will have accepted all that it was given.
    taken: Time,
    /// Where the next write goes in an array that writes anywhere.
    cursor: u64,
    /// Requests below: a request's slot, or `None` for a write of the point.
    under: Slab<Option<u32>>,
    /// By the request's slot: its slot below.
    below_slot: Vec<Option<u32>>,
    ended: Vec<u32>,
}

#[derive(Debug, Default)]
struct Half {
    ranges: Ranges,
    bytes: u64,
    /// When the first write of the half came.
    since: Option<Time>,
}

#[derive(Debug)]
struct Flush {
    ranges: Ranges,
    left: VecDeque<(u64, u64)>,
    under_way: u32,
}

impl Half {
    fn write(&mut self, now: Time, at: u64, len: u64) {
        self.bytes += self.ranges.write(at, len);
        self.since.get_or_insert(now);
    }
}

impl Halves {
    pub(crate) fn new(spec: WriteLog, size: Bytes, below: Box<dyn Medium>) -> Halves {
        Halves {
            spec,
            size: size.0,
            below: Below::new(below),
            filling: Half::default(),
            flushing: None,
            stalled: VecDeque::new(),
            answering: Agenda::new(),
            taken: Time::ZERO,
            cursor: 0,
            under: Slab::new(),
            below_slot: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Takes a write into the log.
    fn log(&mut self, now: Time, job: &Job) {
        self.filling.write(now, job.at, job.len);
        let bandwidth = self.spec.bandwidth;
        let takes = bandwidth.map_or(0, |rate| nanos(job.len, rate.0, 100));
        self.taken = self.taken.max(now) + Span::from_nanos(takes);
        self.answering.note(self.taken + self.spec.latency, job.slot);
        if self.filling.bytes >= self.spec.half.0 {
            self.begin_point(now);
        }
    }

    /// Begins a consistency point, if none is under way.
    fn begin_point(&mut self, now: Time) {
        if self.flushing.is_some() || self.filling.ranges.is_empty() {
            return;
        }
        let Half { ranges, bytes, .. } = std::mem::take(&mut self.filling);
        let left = if self.spec.anywhere { self.anywhere(bytes) } else { self.in_place(&ranges) };
        self.flushing = Some(Flush { ranges, left, under_way: 0 });
        self.send(now);
    }

    /// The writes of a point in place: neighbours joined, and cut at `unit`.
    fn in_place(&self, ranges: &Ranges) -> VecDeque<(u64, u64)> {
        let mut pieces: VecDeque<(u64, u64)> = VecDeque::new();
        for (at, len) in ranges.in_order() {
            match pieces.back_mut() {
                Some((last, long)) if *last + *long == at && *long + len <= self.spec.unit.0 => *long += len,
                _ => pieces.push_back((at, len)),
            }
        }
        pieces
    }

    /// The writes of a point for so many bytes, from where the last point ended.
    fn anywhere(&mut self, bytes: u64) -> VecDeque<(u64, u64)> {
        let unit = self.spec.unit.0.min(self.size);
        let piece = |_| {
            if self.cursor + unit > self.size {
                self.cursor = 0;
            }
            let at = self.cursor;
            self.cursor += unit;
            (at, unit)
        };
        (0..bytes.div_ceil(unit)).map(piece).collect()
    }

    /// Sends what the point may have outstanding, and ends it when nothing is left.
    fn send(&mut self, now: Time) {
        let Some(flush) = &mut self.flushing else { return };
        while flush.under_way < self.spec.depth {
            let Some((at, len)) = flush.left.pop_front() else { break };
            flush.under_way += 1;
            let slot = self.under.insert(None) as u32;
            self.below.arrive(now, Job { slot, kind: OpKind::Write, at, len, fua: false, lun: 0 });
        }
        if flush.under_way == 0 {
            self.flushing = None;
            self.go_on(now);
        }
    }

    /// After a point: takes the writes that waited for it, and begins the next point if the log is
    /// full again.
    fn go_on(&mut self, now: Time) {
        if self.filling.bytes >= self.spec.half.0 {
            self.begin_point(now);
        }
        while self.filling.bytes < self.spec.half.0 {
            let Some(job) = self.stalled.pop_front() else { return };
            self.log(now, &job);
        }
    }

    /// When the filling half's point begins because of its age.
    fn due(&self) -> Time {
        let since = self.filling.since.filter(|_| self.flushing.is_none());
        or_never(since.map(|since| since + self.spec.every))
    }

    fn pass(&mut self, now: Time, job: Job) {
        let own = self.under.insert(Some(job.slot)) as u32;
        self.below_slot[job.slot as usize] = Some(own);
        self.below.arrive(now, Job { slot: own, ..job });
    }
}

impl Medium for Halves {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.below_slot.len() <= slot {
            self.below_slot.resize(slot + 1, None);
        }
        self.below_slot[slot] = None;
        match job.kind {
            OpKind::Write if self.filling.bytes >= self.spec.half.0 || !self.stalled.is_empty() => {
                self.stalled.push_back(job);
            }
            OpKind::Write => self.log(now, &job),
            OpKind::Flush => self.answering.note(self.taken.max(now) + self.spec.latency, job.slot),
            OpKind::Read if self.filling.ranges.holds(job.at, job.len) => {
                self.answering.note(now + self.spec.latency, job.slot);
            }
            OpKind::Read if self.flushing.as_ref().is_some_and(|flush| flush.ranges.holds(job.at, job.len)) => {
                self.answering.note(now + self.spec.latency, job.slot);
            }
            OpKind::Read | OpKind::Cache | OpKind::Trim | OpKind::Zero | OpKind::Status => self.pass(now, job),
        }
    }

    fn next_event(&self) -> Time {
        self.answering.next().min(self.due()).min(self.below.next_event())
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        while let Some(slot) = self.answering.take_due(now) {
            ended.push(slot);
        }
        if self.due() <= now {
            self.begin_point(now);
        }
        if !self.below.is_due(now) {
            return;
        }
        let mut below = std::mem::take(&mut self.ended);
        self.below.step(now, &mut below);
        for own in below.drain(..) {
            match self.under.remove(own as usize) {
                Some(slot) => ended.push(slot),
                None => {
                    if let Some(flush) = &mut self.flushing {
                        flush.under_way -= 1;
                    }
                    self.send(now);
                }
            }
        }
        self.ended = below;
    }

    fn withdraw(&mut self, now: Time, slot: u32) -> bool {
        if withdraw(&mut self.stalled, slot) {
            return true;
        }
        let Some(own) = self.below_slot[slot as usize] else { return false };
        let gone = self.under.get(own as usize) == Some(&Some(slot)) && self.below.withdraw(now, own);
        if gone {
            self.under.remove(own as usize);
        }
        gone
    }

    /// Scales the media's speed; the log's stays.
    fn scale(&mut self, now: Time, percent: u32) {
        self.below.scale(now, percent);
    }
}
