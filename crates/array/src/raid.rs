//! RAID: all that follows, several times, with or without redundancy.
//!
//! | level | small write | full stripe |
//! | --- | --- | --- |
//! | 0 | one write | one write a member |
//! | 1, 10 | one write for each copy | the same |
//! | 5 | read data and parity, then write both: 4 | n writes, no read |
//! | 6, DP | read data and both parities, then write all: 6 | n writes, no read |
//!
//! A write of part of a stripe reads whichever is less: the old data and parity that it replaces
//! (read, modify, write), or the rest of the stripe (reconstruct). At level 5 with 3 members, and
//! at 6 and DP with 4 or 5, that is an operation or two less than the table says. A load with read
//! share f has `members × IOPS / (f + (1 - f) × penalty)` with penalties of 1, 2, 4 and 6 (Chen et
//! al., "RAID: High-Performance, Reliable Secondary Storage", ACM Computing Surveys 26(2), 1994).
//! Parity moves from stripe to stripe in 5 and 6, and stays on the last two members in DP. A
//! mirrored read goes to the copy with less to do.

use std::collections::VecDeque;

use block::{Bytes, OpKind, Time};
use slab::Slab;

use crate::device::{DeviceError, none_zero};
use crate::simulated::{Job, Medium};
use crate::work::split;

/// A group of equal members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raid {
    /// How they are used.
    pub level: Level,
    /// How many there are, with parity and copies.
    pub members: u32,
    /// Bytes on one member before the data goes on at the next.
    pub unit: Bytes,
}

/// How members are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped.
    Zero,
    /// Copies.
    One,
    /// Striped over pairs of copies.
    Ten,
    /// One parity, in turns.
    Five,
    /// Two parities, in turns.
    Six,
    /// Two parities on members of their own.
    Dp,
}

impl Level {
    /// All, by name.
    pub const NAMED: [(&'static str, Level); 6] = [
        ("0", Level::Zero),
        ("1", Level::One),
        ("10", Level::Ten),
        ("5", Level::Five),
        ("6", Level::Six),
        ("dp", Level::Dp),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        Level::NAMED[self as usize].0
    }

    const fn parities(self) -> u32 {
        match self {
            Level::Zero | Level::One | Level::Ten => 0,
            Level::Five => 1,
            Level::Six | Level::Dp => 2,
        }
    }
}

impl Raid {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        none_zero("raid", &[("unit", self.unit.0), ("members", self.members.into())])?;
        let (good, rule) = match self.level {
            Level::Zero => (true, "at least 1"),
            Level::One => (self.members >= 2, "at least 2"),
            Level::Ten => (self.members >= 2 && self.members.is_multiple_of(2), "an even number"),
            Level::Five => (self.members >= 3, "at least 3"),
            Level::Six | Level::Dp => (self.members >= 4, "at least 4"),
        };
        let (level, members) = (self.level.name(), self.members);
        if good { Ok(()) } else { Err(DeviceError::Members { level, rule, members }) }
    }

    /// How many members' worth of data the group holds.
    pub fn data(&self) -> u64 {
        u64::from(match self.level {
            Level::Zero => self.members,
            Level::One => 1,
            Level::Ten => self.members / 2,
            Level::Five | Level::Six | Level::Dp => self.members - self.level.parities(),
        })
    }

    /// The size of a member in a group of this size: whole units.
    pub(crate) fn member_size(&self, size: Bytes) -> Bytes {
        Bytes(size.0.div_ceil(self.data()).div_ceil(self.unit.0).saturating_mul(self.unit.0))
    }

    /// The member that has column `column` of a stripe; parities are the columns behind the data.
    fn member(&self, stripe: u64, column: u64) -> usize {
        let members = u64::from(self.members);
        let member = match self.level {
            Level::Zero | Level::One | Level::Dp => column,
            Level::Ten => 2 * column,
            // Parity goes down by one each stripe and data follows it, so that a long read meets
            // all members in turn.
            Level::Five | Level::Six => {
                let first_parity = members - 1 - stripe % members;
                (first_parity + u64::from(self.level.parities()) + column) % members
            }
        };
        member as usize
    }
}

/// A part of a request: on which member, and what.
#[derive(Clone, Copy, Debug)]
struct Part {
    member: usize,
    kind: OpKind,
    at: u64,
    len: u64,
    fua: bool,
}

/// The group at work.
#[derive(Debug)]
pub(crate) struct Group {
    spec: Raid,
    members: Vec<Member>,
    /// By member its next event, the end of time for none, in one vector: looking at all of them is
    /// most of the cost of a wide group.
    nexts: Vec<Time>,
    /// The soonest of them.
    soonest: Time,
    /// Whether a part was given to a member since this was last made false.
    gave: bool,
    /// Parts under way, by the slot that the members know: the request's slot, and the member.
    parts: Slab<(u32, usize)>,
    /// By the request's slot.
    requests: Vec<Request>,
    /// What a request is cut into, and what is still to be written once its reads have ended. Kept
    /// so that their memory is reused.
    first: Vec<Part>,
    then: Vec<Part>,
    ended: Vec<u32>,
}

#[derive(Debug)]
struct Member {
    medium: Box<dyn Medium>,
    /// How many parts it has.
    load: u32,
}

#[derive(Debug, Default)]
struct Request {
    left: u32,
    then: VecDeque<Part>,
}

impl Group {
    pub(crate) fn new(spec: Raid, members: Vec<Box<dyn Medium>>) -> Group {
        let nexts: Vec<Time> = members.iter().map(|medium| medium.next_event()).collect();
        Group {
            spec,
            soonest: nexts.iter().copied().min().unwrap_or(Time::MAX),
            nexts,
            gave: false,
            members: members.into_iter().map(|medium| Member { medium, load: 0 }).collect(),
            parts: Slab::new(),
            requests: Vec::new(),
            first: Vec::new(),
            then: Vec::new(),
            ended: Vec::new(),
        }
    }

    /// Cuts the job into parts: those done at once, and those done when these have ended.
    fn cut(&mut self, job: &Job) {
        match job.kind {
            OpKind::Read | OpKind::Cache => self.cut_read(job),
            OpKind::Write => self.cut_write(job),
            OpKind::Flush => {
                let all = 0..self.members.len();
                self.first.extend(all.map(|member| Part { member, kind: job.kind, at: 0, len: 0, fua: false }));
            }
            // Metadata: where the range begins.
            OpKind::Trim | OpKind::Zero | OpKind::Status => {
                let (stripe, column, at) = self.place(job.at);
                let member = self.spec.member(stripe, column);
                self.first.push(Part { member, kind: job.kind, at, len: 0, fua: false });
            }
        }
    }

    /// The stripe, the column and the byte on the member.
    fn place(&self, at: u64) -> (u64, u64, u64) {
        let unit = self.spec.unit.0;
        let (chunk, into) = split(at, unit);
        let (stripe, column) = split(chunk, self.spec.data());
        (stripe, column, stripe * unit + into)
    }

    fn cut_read(&mut self, job: &Job) {
        let mut at = job.at;
        let end = job.at + job.len;
        loop {
            let unit = self.spec.unit.0;
            let len = (unit - split(at, unit).1).min(end - at);
            let (stripe, column, on) = self.place(at);
            let member = self.copy(self.spec.member(stripe, column));
            extend(&mut self.first, Part { member, kind: job.kind, at: on, len, fua: false });
            at += len;
            if at >= end {
                return;
            }
        }
    }

    /// The copy to read from: the one with less to do.
    fn copy(&self, member: usize) -> usize {
        let copies = match self.spec.level {
            Level::One => 0..self.members.len(),
            Level::Ten => member..member + 2,
            _ => return member,
        };
        copies.min_by_key(|&copy| (self.members[copy].load, copy)).unwrap_or(member)
    }

    fn cut_write(&mut self, job: &Job) {
        let stripe_len = self.spec.unit.0 * self.spec.data();
        let end = job.at + job.len;
        let mut at = job.at;
        loop {
            let to = (at - at % stripe_len).saturating_add(stripe_len).min(end);
            self.cut_stripe(at, to, job.fua);
            at = to;
            if at >= end {
                return;
            }
        }
    }

    /// The part of a write that lies in one stripe.
    fn cut_stripe(&mut self, from: u64, to: u64, fua: bool) {
        let (unit, data, parities) = (self.spec.unit.0, self.spec.data(), u64::from(self.spec.level.parities()));
        let stripe = from / (unit * data);
        let base = stripe * unit;
        let write = |member, at, len| Part { member, kind: OpKind::Write, at, len, fua };
        let columns = from / unit % data..(to.max(from + 1) - 1) / unit % data + 1;
        // The bytes of a unit that any column changes, for which parity is written.
        let (mut low, mut high) = (unit, 0);
        for column in columns.clone() {
            let start = (stripe * data + column) * unit;
            let (begin, stop) = (from.max(start) - start, to.min(start + unit) - start);
            (low, high) = (low.min(begin), high.max(stop));
            let member = self.spec.member(stripe, column);
            let copies = match self.spec.level {
                Level::One => 0..self.members.len(),
                Level::Ten => member..member + 2,
                _ => member..member + 1,
            };
            for copy in copies {
                extend(&mut self.then, write(copy, base + begin, stop - begin));
            }
        }
        if parities == 0 {
            return;
        }
        let touched = columns.end - columns.start;
        let whole = touched == data && low == 0 && high == unit && to - from == unit * data;
        let read = |member, at, len| Part { member, kind: OpKind::Read, at, len, fua: false };
        if !whole {
            let modify = touched + parities <= data - touched;
            for column in 0..data + parities {
                let start = (stripe * data + column) * unit;
                let written = if columns.contains(&column) {
                    from.max(start) - start..to.min(start + unit) - start
                } else {
                    low..low
                };
                // Read, modify, write reads what is replaced; reconstruction reads what stays, also
                // in the units that are touched.
                let wanted = match (modify, column >= data) {
                    (true, true) => [low..high, high..high],
                    (true, false) => [written, high..high],
                    (false, true) => [low..low, high..high],
                    (false, false) if written.is_empty() => [low..high, high..high],
                    (false, false) => [low..written.start, written.end..high],
                };
                let member = self.spec.member(stripe, column);
                for range in wanted.into_iter().filter(|range| !range.is_empty()) {
                    extend(&mut self.first, read(member, base + range.start, range.end - range.start));
                }
            }
        }
        for column in data..data + parities {
            let member = self.spec.member(stripe, column);
            extend(&mut self.then, write(member, base + low, high - low));
        }
    }

    /// Hands a part to its member.
    fn give(&mut self, now: Time, slot: u32, part: Part) {
        self.gave = true;
        let own = self.parts.insert((slot, part.member)) as u32;
        let member = &mut self.members[part.member];
        member.load += 1;
        let Part { kind, at, len, fua, .. } = part;
        member.medium.arrive(now, Job { slot: own, kind, at, len, fua, lun: 0 });
        let next = member.medium.next_event();
        let before = std::mem::replace(&mut self.nexts[part.member], next);
        self.soonest = match next > before && before == self.soonest {
            // A log that fills begins its consistency point before its time.
            true => self.nexts.iter().copied().min().unwrap_or(Time::MAX),
            false => self.soonest.min(next),
        };
        self.requests[slot as usize].left += 1;
    }

    /// Notes that a part has ended; returns its request's slot if that has ended too.
    fn part_ended(&mut self, now: Time, own: u32) -> Option<u32> {
        let (slot, member) = self.parts.remove(own as usize);
        self.members[member].load -= 1;
        let request = &mut self.requests[slot as usize];
        request.left -= 1;
        if request.left > 0 {
            return None;
        }
        if request.then.is_empty() {
            return Some(slot);
        }
        for part in std::mem::take(&mut request.then) {
            self.give(now, slot, part);
        }
        None
    }
}

/// Adds a part, or extends the last one on that member if it continues there.
fn extend(parts: &mut Vec<Part>, part: Part) {
    let last = parts.iter_mut().rev().find(|last| last.member == part.member && last.kind == part.kind);
    match last {
        Some(last) if last.at + last.len == part.at => last.len += part.len,
        _ => parts.push(part),
    }
}

impl Medium for Group {
    fn arrive(&mut self, now: Time, job: Job) {
        let slot = job.slot as usize;
        if self.requests.len() <= slot {
            self.requests.resize_with(slot + 1, Request::default);
        }
        self.cut(&job);
        let (mut first, mut then) = (std::mem::take(&mut self.first), std::mem::take(&mut self.then));
        if first.is_empty() {
            std::mem::swap(&mut first, &mut then);
        }
        self.requests[slot].then.extend(then.drain(..));
        for part in first.drain(..) {
            self.give(now, job.slot, part);
        }
        (self.first, self.then) = (first, then);
    }

    fn next_event(&self) -> Time {
        self.soonest
    }

    fn step(&mut self, now: Time, ended: &mut Vec<u32>) {
        let mut soonest = Time::MAX;
        self.gave = false;
        for index in 0..self.nexts.len() {
            if self.nexts[index] > now {
                soonest = soonest.min(self.nexts[index]);
                continue;
            }
            let mut own = std::mem::take(&mut self.ended);
            let medium = &mut self.members[index].medium;
            medium.step(now, &mut own);
            let next = medium.next_event();
            self.nexts[index] = next;
            soonest = soonest.min(next);
            for part in own.drain(..) {
                ended.extend(self.part_ended(now, part));
            }
            self.ended = own;
        }
        // What was given meanwhile may be on a member that was looked at before.
        let soonest = if self.gave { self.nexts.iter().copied().min().unwrap_or(Time::MAX) } else { soonest };
        self.soonest = soonest;
    }

    /// Parts are on several members, so what has been cut is carried out.
    fn withdraw(&mut self, _now: Time, _slot: u32) -> bool {
        false
    }

    fn scale(&mut self, now: Time, percent: u32) {
        for (member, next) in self.members.iter_mut().zip(&mut self.nexts) {
            member.medium.scale(now, percent);
            *next = member.medium.next_event();
        }
        self.soonest = self.nexts.iter().copied().min().unwrap_or(Time::MAX);
    }
}
