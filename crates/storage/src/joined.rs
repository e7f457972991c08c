//! Several members as one target: concatenated, or in stripes.
//!
//! ```text
//!   request ──► in one member ─────────────────────────────────► that member, as it is
//!          └──► across a border ──► a part for each member ────► all of them; the whole ends with its last part
//! ```
//! A [`Buf`] is one claim on one slot, and a slot is one user's at a time, so that parts cannot
//! share it. Each part of a write has a buffer of its own, which its bytes are copied to, and each
//! part of a read brings one, of which they are copied, if anybody wants them. What lies in one
//! member is never copied.

mod copies;
mod order;

use block::{
    Buf, Bytes, Cause, Completion, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits,
    Wakeup,
};
pub use copies::Copies;
use order::Order;
use std::collections::VecDeque;

/// One of those that are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which of the targets has it.
    pub target: usize,
    /// As which object.
    pub object: ObjectId,
    /// How many bytes it has.
    pub size: Bytes,
    /// Whether it can be told to make writes durable. What cannot holds nothing back.
    pub flushes: bool,
}

/// How large members of these sizes are together, where all of them take multiples of `align`
/// bytes.
pub(crate) fn size(sizes: &[Bytes], align: u32, stripe: Option<Bytes>) -> Bytes {
    Order::new(sizes, align.into(), stripe).size()
}

/// Several members as one target.
///
/// A flush goes to all of them; everything else to those that it concerns. Of parts that fail the
/// first decides how the whole ends. Parts of one request are no unit: after a fault some of them
/// may have been done.
pub struct Joined<T: Target> {
    targets: Vec<Side<T>>,
    members: Vec<Member>,
    order: Order,
    traits: Traits,
    copies: Option<Copies>,
    /// By the tag of their parts.
    wholes: Vec<Whole>,
    free: Vec<u32>,
    refused: Vec<Completion>,
    /// Ends of parts that were not looked at yet; empty between polls, but for cancelled ones.
    ended: Vec<Completion>,
}

/// A target of members.
struct Side<T> {
    target: T,
    /// Parts that it had no room for, of requests of which other parts had begun: first come, first
    /// served.
    backlog: VecDeque<Request>,
}

/// A request that was taken.
#[derive(Default)]
struct Whole {
    tag: u64,
    object: ObjectId,
    at: u64,
    len: u64,
    since: Time,
    /// Kept for its memory when the request has ended.
    parts: Vec<Part>,
    /// Parts that have not ended.
    open: usize,
    /// A split write's buffer, or the one that a split read's bytes come together in.
    buf: Option<Buf>,
    /// Of the first part that failed.
    fault: Option<Fault>,
    /// Of the part that ended last.
    end: Time,
    queued: Span,
    cause: Cause,
}

#[derive(Clone, Copy)]
struct Part {
    member: usize,
    /// The target's name for it while it works on it.
    ticket: Option<Ticket>,
}

/// A part's tag is its request's number, and above these bits its own number among the parts.
const TAG_BITS: u32 = 32;

impl<T: Target> Joined<T> {
    /// `members` of `targets` behind each other, or in stripes of so many bytes. Without `copies`
    /// no member carries data.
    ///
    /// The size is that of the members together, each cut to whole multiples of the largest
    /// alignment; with stripes, the whole stripes of the smallest, as often as there are members.
    ///
    /// # Panics
    /// There are no members, or a stripe is no multiple of their alignment.
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

    /// The whole range in one member.
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

    /// A part for each member that is concerned. Where the first finds no room, or there is no
    /// memory, the whole is handed back; later ones wait here.
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

    /// Offers a part to its target, behind those that wait for it.
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

    /// The parts of a request, with memory of their own; nothing where there is not enough.
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

    /// Takes the end of a part in; that of the last ends the request.
    fn end_part(&mut self, mut completion: Completion, out: &mut Vec<Completion>) {
        let tag = completion.tag;
        let number = tag as u32;
        self.part(tag).ticket = None;
        let whole = &mut self.wholes[number as usize];
        whole.open -= 1;
        if whole.parts.len() == 1 {
            (completion.tag, completion.object, completion.len) = (whole.tag, whole.object, whole.len);
            if let Some(failed_at) = &mut completion.failed_at {
                *failed_at = *failed_at - self.order.piece(whole.at, whole.len).at + whole.at;
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
                whole.fault.get_or_insert(fault);
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

    /// The end of a request that was split, of which `last` is the part that was looked at last.
    fn end_whole(&mut self, number: u32, last: &Completion) -> Completion {
        let whole = &self.wholes[number as usize];
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
            failed_at: None,
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

    /// A number for a request, whose parts are not known yet.
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

    /// Frees a request's number; what is left of it is its buffer.
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
        // An answer may cover less than was asked for: here what the first piece's member says of
        // it.
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
            // Nothing of this target will end, so that memory is what is missing: another target
            // has it.
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
    /// Gives back what nobody will ask for any more; what the members work on is theirs to give
    /// back.
    fn drop(&mut self) {
        let completions = self.refused.drain(..).chain(self.ended.drain(..)).filter_map(|completion| completion.buf);
        let wholes = self.wholes.iter_mut().filter_map(|whole| whole.buf.take());
        let waiting = self.targets.iter_mut().flat_map(|side| side.backlog.drain(..));
        let waiting = waiting.filter_map(|part| if let Op::Write(buf) = part.op { Some(buf) } else { None });
        let left: Vec<Buf> = completions.chain(wholes).chain(waiting).collect();
        left.into_iter().for_each(|buf| self.give(Some(buf)));
    }
}
