//! Several members as one target: concatenated, or in stripes.
//!
//! ```text
//!   request ──► in one member ─────────────────────────────────► that member, as it is
//!          └──► across a border ──► a part for each member ────► all of them; the whole ends with its last part
//! ```
//! A [`Buf`] is one claim on one slot, and a slot has one user at a time, so the parts of a request
//! cannot share it. Each part of a write gets a buffer with a copy of its bytes. Each part of a
//! read brings a buffer, whose bytes are copied if anybody wants them. A request within one member
//! is never copied.

mod copies;
mod order;

use block::{
    Buf, Bytes, Cause, Completion, Detail, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time,
    Traits, Wakeup,
};
pub use copies::Copies;
use order::Order;
use std::collections::VecDeque;
use std::sync::Arc;

/// One of the joined members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Index of its target.
    pub target: usize,
    /// Its object in that target.
    pub object: ObjectId,
    /// Its size.
    pub size: Bytes,
    /// Whether it supports flushes. If not, it buffers nothing.
    pub flushes: bool,
}

/// Size of the whole, for members of these sizes that all take multiples of `align` bytes.
pub(crate) fn size(sizes: &[Bytes], align: u32, stripe: Option<Bytes>) -> Bytes {
    Order::new(sizes, align.into(), stripe).size()
}

/// Several members as one target.
///
/// A flush goes to all members, any other request to those that it touches. If parts fail, the
/// first fault becomes that of the request. A request is not atomic: after a fault some of its
/// parts may have been done.
pub struct Joined<T: Target> {
    targets: Vec<Side<T>>,
    members: Vec<Member>,
    order: Order,
    traits: Traits,
    copies: Option<Copies>,
    /// Requests by the number in their parts' tags.
    wholes: Vec<Whole>,
    free: Vec<u32>,
    refused: Vec<Completion>,
    /// Completions of parts that were not handled yet; empty between polls, except after a
    /// cancellation.
    ended: Vec<Completion>,
}

/// A target and the parts that wait for it.
struct Side<T> {
    target: T,
    /// Parts for which it had no room, of requests that have started; first come, first served.
    backlog: VecDeque<Request>,
}

/// A request that was accepted.
#[derive(Default)]
struct Whole {
    tag: u64,
    object: ObjectId,
    at: u64,
    len: u64,
    since: Time,
    /// Kept after the request to save allocations.
    parts: Vec<Part>,
    /// Number of parts that have not ended.
    open: usize,
    /// The buffer of a split write, or the one in which a split read is assembled.
    buf: Option<Buf>,
    /// The fault of the first part that failed.
    fault: Option<Fault>,
    /// Why, where that is known.
    why: Option<Arc<str>>,
    /// When the last part ended.
    end: Time,
    queued: Span,
    cause: Cause,
}

#[derive(Clone, Copy)]
struct Part {
    member: usize,
    /// The target's ticket while it works on the part.
    ticket: Option<Ticket>,
}

/// The low bits of a part's tag are the number of its request, those above its index in it.
const TAG_BITS: u32 = 32;

impl<T: Target> Joined<T> {
    /// Concatenates `members` of `targets`, or stripes them in units of `stripe` bytes. Without
    /// `copies`, members must carry no data.
    ///
    /// If concatenated, each member is cut to a multiple of the largest alignment, and the size is
    /// their sum. If striped, the size is the whole stripes of the smallest member, times the
    /// number of members.
    ///
    /// # Panics
    /// There are no members, or the stripe is not a multiple of their alignment.
    pub fn new(targets: Vec<T>, members: Vec<Member>, stripe: Option<Bytes>, copies: Option<Copies>) -> Joined<T> {
        assert!(!members.is_empty(), "nothing to join");
        let each = || targets.iter().map(Target::traits);
        let align = each().map(|traits| traits.align).max().unwrap_or(1);
        let is_whole = |stripe: Bytes| stripe.0 > 0 && stripe.0.is_multiple_of(u64::from(align));
        assert!(stripe.is_none_or(is_whole), "stripes must be multiples of {align} bytes, got {stripe:?}");
        let sizes: Vec<Bytes> = members.iter().map(|member| member.size).collect();
        let order = Order::new(&sizes, u64::from(align), stripe);
        let traits = Traits {
            size: order.size(),
            align,
            longest: each().map(|traits| traits.longest).min().unwrap_or(0),
            carries_data: each().all(|traits| traits.carries_data),
            read_only: each().any(|traits| traits.read_only),
        };
        Joined {
            targets: targets.into_iter().map(|target| Side { target, backlog: VecDeque::new() }).collect(),
            members,
            order,
            traits,
            copies,
            wholes: Vec::new(),
            free: Vec::new(),
            refused: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn refuse(&mut self, request: Request, now: Time, fault: Fault) -> Submitted {
        let ticket = Ticket(u64::MAX);
        self.refused.push(Completion::refuse(request, now, fault));
        Submitted::Taken(ticket)
    }

    /// Submits a request that lies in one member.
    fn submit_one(&mut self, now: Time, request: Request, member: usize, at: u64) -> Submitted {
        let Member { target, object, .. } = self.members[member];
        if !self.targets[target].backlog.is_empty() {
            return Submitted::Full(request);
        }
        let (tag, was_at, was_object) = (request.tag, request.at, request.object);
        let number = self.remember(now, &request);
        let part = Request { tag: u64::from(number), object, at, ..request };
        match self.targets[target].target.submit(now, part) {
            Submitted::Taken(ticket) => {
                let whole = &mut self.wholes[number as usize];
                whole.parts.push(Part { member, ticket: Some(ticket) });
                whole.open = 1;
                Submitted::Taken(Ticket(number.into()))
            }
            Submitted::Full(part) => {
                self.free.push(number);
                Submitted::Full(Request { tag, object: was_object, at: was_at, ..part })
            }
        }
    }

    /// Submits one part to each member concerned. If the first finds no room, or if there is no
    /// memory, the request is handed back; later parts wait here.
    fn submit_split(&mut self, now: Time, request: Request) -> Submitted {
        let number = self.remember(now, &request);
        let Some(parts) = self.parts(&request, number) else { return self.hand_back(request, number) };
        let mut parts = parts.into_iter();
        let first = parts.next().expect("a request that is split has parts");
        if let Err(first) = self.offer(now, first) {
            self.give_op(first.op);
            parts.for_each(|part| self.give_op(part.op));
            return self.hand_back(request, number);
        }
        for part in parts {
            if let Err(part) = self.offer(now, part) {
                self.side(part.tag).backlog.push_back(part);
            }
        }
        let whole = &mut self.wholes[number as usize];
        whole.open = whole.parts.len();
        if let Op::Write(buf) = request.op {
            whole.buf = Some(buf);
        }
        Submitted::Taken(Ticket(number.into()))
    }

    fn hand_back(&mut self, request: Request, number: u32) -> Submitted {
        let buf = self.forget(number);
        self.give(buf);
        Submitted::Full(request)
    }

    /// Offers a part to its target, unless others are waiting for it.
    fn offer(&mut self, now: Time, part: Request) -> Result<(), Request> {
        let tag = part.tag;
        let side = self.side(tag);
        if !side.backlog.is_empty() {
            return Err(part);
        }
        match side.target.submit(now, part) {
            Submitted::Taken(ticket) => {
                self.part(tag).ticket = Some(ticket);
                Ok(())
            }
            Submitted::Full(part) => Err(part),
        }
    }

    /// The parts of a request with their buffers; `None` if there is not enough memory.
    fn parts(&mut self, request: &Request, number: u32) -> Option<Vec<Request>> {
        let range = request.at..request.at + request.len;
        let is_flush = request.op.kind() == OpKind::Flush;
        let mut parts = Vec::new();
        let mut is_enough = true;
        for (member, about) in self.members.iter().enumerate() {
            let share = self.order.share(member, &range);
            let has_no_part = if is_flush { !about.flushes } else { share.is_empty() };
            if has_no_part {
                continue;
            }
            let len = share.end - share.start;
            let op = match &request.op {
                Op::Read => Op::Read,
                Op::Write(buf) => match copies::take(self.copies.as_ref(), buf, len as u32) {
                    Some(own) => Op::Write(own),
                    None => {
                        is_enough = false;
                        break;
                    }
                },
                Op::Flush => Op::Flush,
                Op::Trim => Op::Trim,
                &Op::Zero { no_hole, fast_only } => Op::Zero { no_hole, fast_only },
                Op::Cache => Op::Cache,
                &Op::Status { sharing } => Op::Status { sharing },
            };
            let whole = &mut self.wholes[number as usize];
            let tag = u64::from(number) | (whole.parts.len() as u64) << TAG_BITS;
            whole.parts.push(Part { member, ticket: None });
            let at = if is_flush { request.at } else { share.start };
            parts.push(Request { tag, object: about.object, at, len, op, fua: request.fua, due: request.due });
        }
        if request.op.kind() == OpKind::Read
            && let Some(Copies { io, keep_data: true }) = &self.copies
        {
            self.wholes[number as usize].buf = io.take(request.len as u32);
            is_enough = self.wholes[number as usize].buf.is_some();
        }
        if !is_enough {
            parts.into_iter().for_each(|part| self.give_op(part.op));
            return None;
        }
        if let (Op::Write(from), Some(copies)) = (&request.op, &self.copies) {
            for part in &mut parts {
                let member = self.wholes[number as usize].parts[(part.tag >> TAG_BITS) as usize].member;
                let Op::Write(to) = &mut part.op else { continue };
                copies.scatter(from, to, self.order.runs(&range, member));
            }
        }
        Some(parts)
    }

    /// Handles the end of a part. The last one ends the request.
    fn end_part(&mut self, mut completion: Completion, out: &mut Vec<Completion>) {
        let tag = completion.tag;
        let number = tag as u32;
        self.part(tag).ticket = None;
        let whole = &mut self.wholes[number as usize];
        whole.open -= 1;
        if whole.parts.len() == 1 {
            (completion.tag, completion.object, completion.len) = (whole.tag, whole.object, whole.len);
            if let Some(at) = completion.detail.as_mut().and_then(|detail| detail.at.as_mut()) {
                *at = *at - self.order.piece(whole.at, whole.len).at + whole.at;
            }
            self.forget(number);
            out.push(completion);
            return;
        }
        if completion.end >= whole.end {
            (whole.end, whole.queued, whole.cause) = (completion.end, completion.queued, completion.cause);
        }
        let is_open = whole.open > 0;
        let range = whole.at..whole.at + whole.len;
        match (completion.result, completion.buf.take()) {
            (Err(fault), buf) => {
                if whole.fault.is_none() {
                    (whole.fault, whole.why) = (Some(fault), completion.why().cloned());
                }
                self.give(buf);
            }
            (Ok(()), Some(part)) => {
                let member = whole.parts[(tag >> TAG_BITS) as usize].member;
                if completion.kind == OpKind::Read
                    && let (Some(copies), Some(to)) = (&self.copies, &mut whole.buf)
                {
                    copies.gather(&part, to, self.order.runs(&range, member));
                }
                self.give(Some(part));
            }
            (Ok(()), None) => {}
        }
        if !is_open {
            let ended = self.end_whole(number, &completion);
            out.push(ended);
        }
    }

    /// The completion of a split request; `last` is that of the part that was handled last.
    fn end_whole(&mut self, number: u32, last: &Completion) -> Completion {
        let whole = &mut self.wholes[number as usize];
        let why = whole.why.take();
        let (result, end, queued) = (whole.fault.map_or(Ok(()), Err), whole.end, whole.queued);
        let mut completion = Completion {
            tag: whole.tag,
            object: whole.object,
            kind: last.kind,
            len: whole.len,
            due: last.due,
            end,
            queued,
            service: end.since(whole.since + queued),
            cause: whole.cause,
            result,
            detail: Detail::known(why, None),
            buf: None,
            extents: Vec::new(),
        };
        let buf = self.forget(number);
        if completion.kind == OpKind::Read && result.is_err() {
            self.give(buf);
        } else {
            completion.buf = buf;
        }
        completion
    }

    /// Allocates a number for a request; it has no parts yet.
    fn remember(&mut self, now: Time, request: &Request) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.wholes.push(Whole::default());
            self.wholes.len() as u32 - 1
        });
        let whole = &mut self.wholes[number as usize];
        (whole.tag, whole.object) = (request.tag, request.object);
        (whole.at, whole.len, whole.since) = (request.at, request.len, now);
        number
    }

    /// Frees a request's number; returns its buffer, if it has one.
    fn forget(&mut self, number: u32) -> Option<Buf> {
        let whole = &mut self.wholes[number as usize];
        let (buf, mut parts) = (whole.buf.take(), std::mem::take(&mut whole.parts));
        parts.clear();
        *whole = Whole { parts, ..Whole::default() };
        self.free.push(number);
        buf
    }

    fn part(&mut self, tag: u64) -> &mut Part {
        &mut self.wholes[tag as u32 as usize].parts[(tag >> TAG_BITS) as usize]
    }

    /// The target of a part.
    fn side(&mut self, tag: u64) -> &mut Side<T> {
        let member = self.part(tag).member;
        &mut self.targets[self.members[member].target]
    }

    fn give(&self, buf: Option<Buf>) {
        if let (Some(copies), Some(buf)) = (&self.copies, buf) {
            copies.io.give(buf);
        }
    }

    fn give_op(&self, op: Op) {
        if let Op::Write(buf) = op {
            self.give(Some(buf));
        }
    }
}

impl<T: Target> Target for Joined<T> {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let kind = request.op.kind();
        if kind == OpKind::Flush {
            if !self.members.iter().any(|member| member.flushes) {
                return self.refuse(request, now, Fault::Unsupported);
            }
            return self.submit_split(now, request);
        }
        let is_within = request.at.checked_add(request.len).is_some_and(|end| end <= self.traits.size.0);
        let is_too_long = kind.moves_data() && request.len > u64::from(self.traits.longest);
        if !is_within || request.len == 0 || is_too_long {
            return self.refuse(request, now, Fault::Invalid);
        }
        if self.traits.read_only && matches!(kind, OpKind::Write | OpKind::Trim | OpKind::Zero) {
            return self.refuse(request, now, Fault::ReadOnly);
        }
        let piece = self.order.piece(request.at, request.len);
        if piece.len == request.len {
            return self.submit_one(now, request, piece.member, piece.at);
        }
        if kind != OpKind::Status {
            return self.submit_split(now, request);
        }
        // An answer may cover less than was asked for. Here it covers the first piece, from its
        // member.
        let whole = request.len;
        let submitted = self.submit_one(now, Request { len: piece.len, ..request }, piece.member, piece.at);
        match submitted {
            Submitted::Taken(ticket) => {
                self.wholes[ticket.0 as usize].len = whole;
                Submitted::Taken(ticket)
            }
            Submitted::Full(request) => Submitted::Full(Request { len: whole, ..request }),
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.refused);
        let mut ended = std::mem::take(&mut self.ended);
        self.targets.iter_mut().for_each(|side| side.target.poll(now, &mut ended));
        ended.drain(..).for_each(|completion| self.end_part(completion, out));
        self.ended = ended;
        for target in 0..self.targets.len() {
            while let Some(part) = self.targets[target].backlog.pop_front() {
                let tag = part.tag;
                match self.targets[target].target.submit(now, part) {
                    Submitted::Taken(ticket) => self.part(tag).ticket = Some(ticket),
                    Submitted::Full(part) => {
                        self.targets[target].backlog.push_front(part);
                        break;
                    }
                }
            }
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.refused.is_empty() || !self.ended.is_empty() {
            return Wakeup::Now;
        }
        let wakeup = |side: &Side<T>| match side.target.next_wakeup() {
            // Nothing in this target will complete, so the parts wait for memory that another
            // target has.
            Wakeup::Idle if !side.backlog.is_empty() => Wakeup::Now,
            wakeup => wakeup,
        };
        self.targets.iter().map(wakeup).fold(Wakeup::Idle, Wakeup::sooner)
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        let Some(whole) = self.wholes.get(ticket.0 as usize) else { return };
        for part in &whole.parts {
            if let Some(ticket) = part.ticket {
                self.targets[self.members[part.member].target].target.cancel(now, ticket);
            }
        }
        for side in &mut self.targets {
            let is_cancelled = |part: &mut Request| u64::from(part.tag as u32) == ticket.0;
            while let Some(place) = side.backlog.iter_mut().position(is_cancelled) {
                let part = side.backlog.remove(place).expect("it is there");
                self.ended.push(Completion::refuse(part, now, Fault::Gone));
            }
        }
    }
}

impl<T: Target> Drop for Joined<T> {
    /// Gives back the buffers that are here. The members give back those that they have.
    fn drop(&mut self) {
        let completions = self.refused.drain(..).chain(self.ended.drain(..)).filter_map(|completion| completion.buf);
        let wholes = self.wholes.iter_mut().filter_map(|whole| whole.buf.take());
        let waiting = self.targets.iter_mut().flat_map(|side| side.backlog.drain(..));
        let waiting = waiting.filter_map(|part| if let Op::Write(buf) = part.op { Some(buf) } else { None });
        let left: Vec<Buf> = completions.chain(wholes).chain(waiting).collect();
        left.into_iter().for_each(|buf| self.give(Some(buf)));
    }
}
