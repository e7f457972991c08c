//! The transmission phase of an NBD session: requests in, replies out.

use super::link::{Held, Link, Payload};
use super::reply::wanted;
use super::sender::Load;
use super::{Ending, Filling, Pending, Phase, Session, ShardParts};
use crate::claims::{Claim, Claims, STATUS, claim_of};
use crate::waiting::Wait;
use block::{Buf, Completion, Fault, Op, Submitted, Target, Time};
use nbd::{Command, CommandFlags, Context, NbdErrno, NbdRequest, Parsed, ReplyTo};

impl Session {
    /// Parses and admits what has arrived, then receives more.
    pub(super) fn parse(&mut self, shard: &mut ShardParts<'_>) {
        if let Phase::Nfs(_) = self.phase {
            return self.parse_nfs(shard);
        }
        if matches!(self.phase, Phase::Handshake(_)) && !self.shake_hands(shard) {
            return;
        }
        loop {
            if (self.portion == 0 || *shard.room == 0) && self.has_request(shard) {
                let object = self.link().object;
                if !shard.gate.is_floor_due(shard.now, object) {
                    self.waits = Some(Wait::Turn { floor: shard.gate.has_floor(object).then_some(object) });
                    return;
                }
            }
            if let Some(until) = shard.link.let_in(shard.now, self.index)
                && self.has_request(shard)
            {
                return self.wait_for_link(until, shard);
            }
            let Phase::Transmission(link) = &mut self.phase else { return };
            let went_on = match link.held.take() {
                None => self.parse_one(shard),
                Some(Held::Parsed(request)) => self.admit(request, shard),
                Some(Held::Refused(request)) => self.hand_over(request, shard),
                Some(Held::Payload(payload)) => self.fill(payload, shard),
            };
            if !went_on || self.ending != Ending::No {
                return;
            }
        }
    }

    /// Defers the next request until the link limit has absorbed those before it.
    pub(super) fn wait_for_link(&mut self, until: Time, shard: &mut ShardParts<'_>) {
        self.waits = Some(Wait::Link { until, turn: shard.link.wait(shard.now, self.index) });
    }

    /// Whether a complete request has arrived that is not admitted yet.
    fn has_request(&mut self, shard: &ShardParts<'_>) -> bool {
        let link = self.link();
        let rules = link.rules;
        match &link.held {
            Some(Held::Parsed(_)) => true,
            Some(Held::Refused(_) | Held::Payload(_)) => false,
            None => {
                let is_here = |bytes: &[u8]| (0, !matches!(rules.parse(bytes), Ok(Parsed::NeedMore(_))));
                self.rx.unread(shard.io, is_here) == Some(true)
            }
        }
    }

    /// Parses one request; false if none is complete.
    fn parse_one(&mut self, shard: &mut ShardParts<'_>) -> bool {
        let rules = self.link().rules;
        let parsed = self.rx.unread(shard.io, |bytes| match rules.parse(bytes) {
            Ok(Parsed::Message(request, taken)) => (taken, Ok(Some(request))),
            Ok(Parsed::NeedMore(_)) => (0, Ok(None)),
            Err(error) => (0, Err(error)),
        });
        match parsed {
            None => false,
            Some(Ok(Some(request))) => self.admit(request, shard),
            Some(Ok(None)) => self.receive(shard),
            Some(Err(error)) => {
                tracing::info!(session = self.index, %error, "stream refused");
                self.abandon(shard);
                false
            }
        }
    }

    /// Admits a request if the limits allow it now; false if it has to wait.
    fn admit(&mut self, request: NbdRequest, shard: &mut ShardParts<'_>) -> bool {
        self.portion = self.portion.saturating_sub(1);
        *shard.room = shard.room.saturating_sub(1);
        if request.command == Command::Disconnect {
            self.ending = Ending::Draining;
            return false;
        }
        let claim = match self.link().rules.check(&request) {
            Ok(()) => self.link().claim(&request),
            Err(errno) => return self.refuse(request, errno, shard),
        };
        match self.ask(claim, shard) {
            Claim::Granted => {}
            Claim::Later => return self.hold(Held::Parsed(request)),
            Claim::Never => return self.refuse(request, NbdErrno::NoMemory, shard),
        }
        if matches!(request.command, Command::Read | Command::Write) {
            let waited = shard.link.charge(shard.now, self.index, request.length);
            shard.tell_wait(self.link().object, waited);
        }
        if request.command != Command::Write {
            self.take_on(claim, shard);
            let op = op_of(self.link(), &request);
            return self.submit(&request, op, claim, shard);
        }
        let Some(buf) = shard.io.take(request.payload) else {
            // There is enough memory in total, but no free slot of that size.
            self.waits = Some(Wait::Room { starving: self.load.requests == 0 });
            return self.hold(Held::Parsed(request));
        };
        self.take_on(claim, shard);
        self.fill(Payload { request, buf: Some(buf), filled: 0, claim, since: shard.now }, shard)
    }

    /// Whether a request with this claim may be admitted now. If one of the connection's own limits
    /// is reached, it waits until one of its own requests completes; if the shard's memory is
    /// short, until others release some.
    pub(super) fn ask(&mut self, claim: u64, shard: &ShardParts<'_>) -> Claim {
        let (limits, load) = (shard.limits, self.load);
        if load.requests >= limits.connection_requests
            || load.requests > 0 && load.bytes + claim > limits.connection_in_flight.0.min(self.window)
        {
            return Claim::Later;
        }
        let answer = shard.claims.ask(load.bytes, claim);
        if answer == Claim::Later {
            let free = Claims::needed(load.bytes, claim);
            self.waits = Some(Wait::Memory { free, starving: load.requests == 0 });
        }
        answer
    }

    pub(super) fn take_on(&mut self, claim: u64, shard: &mut ShardParts<'_>) {
        self.load.requests += 1;
        self.load.bytes += claim;
        self.load.asked += claim;
        shard.claims.take(claim);
    }

    pub(super) fn release_request(&mut self, claim: u64, shard: &mut ShardParts<'_>) {
        self.release(Load { requests: 1, bytes: claim, asked: claim, ..Load::default() }, shard);
    }

    /// Moves a write's bytes into its buffer; false if more have to arrive.
    fn fill(&mut self, mut payload: Payload<NbdRequest>, shard: &mut ShardParts<'_>) -> bool {
        self.fill_from_inbox(&mut payload.buf, &mut payload.filled, payload.request.payload, shard);
        if payload.filled == payload.request.payload {
            return match payload.buf {
                Some(buf) => self.submit(&payload.request, Op::Write(buf), payload.claim, shard),
                None => true,
            };
        }
        if self.receiving.is_some() {
            return self.hold(Held::Payload(payload));
        }
        // Everything received so far is used up, so the kernel can write the rest directly into the
        // buffer, without a copy.
        let own = if self.tls.is_none() && self.reads() { payload.buf.take() } else { None };
        let (at, rest) = (payload.filled, payload.request.payload - payload.filled);
        self.hold(Held::Payload(payload));
        match own {
            Some(buf) => {
                self.push_receive(buf.window(at, rest), Filling::Payload, shard);
                false
            }
            None => self.receive(shard),
        }
    }

    /// Moves received bytes to `buf`, if there is one, until `len` bytes are complete; `filled` of
    /// them were moved before.
    pub(super) fn fill_from_inbox(
        &mut self,
        buf: &mut Option<Buf>,
        filled: &mut u32,
        len: u32,
        shard: &mut ShardParts<'_>,
    ) {
        let missing = (len - *filled) as usize;
        let moved = self.rx.unread(shard.io, |bytes| {
            let here = bytes.len().min(missing);
            if let Some(buf) = buf {
                let at = *filled as usize;
                shard.io.with_mut(buf, |to| to[at..at + here].copy_from_slice(&bytes[..here]));
            }
            (here, here as u32)
        });
        *filled += moved.unwrap_or(0);
    }

    /// Takes back a write's buffer after a receive of `got` bytes.
    pub(super) fn payload_came(&mut self, buf: Buf, got: u32) {
        if let Phase::Nfs(_) = self.phase {
            return self.nfs_payload_came(buf, got);
        }
        let Some(Held::Payload(payload)) = &mut self.link().held else {
            unreachable!("a payload waits for its buffer")
        };
        payload.filled += got;
        payload.buf = Some(buf.window(0, payload.request.payload));
    }

    /// Tags a request and submits it to the gate; false if the gate is full.
    fn submit(&mut self, request: &NbdRequest, op: Op, claim: u64, shard: &mut ShardParts<'_>) -> bool {
        let pending = Pending { request: super::Request::Nbd(*request), ticket: block::Ticket(u64::MAX), claim };
        let request = block::Request {
            tag: self.pend(pending),
            object: self.link().object,
            at: request.offset,
            len: request.length,
            op,
            fua: request.flags.contains(CommandFlags::FUA),
            due: shard.now,
        };
        self.hand_over(request, shard)
    }

    /// Stores what the reply will need; returns the tag of the request.
    pub(super) fn pend(&mut self, pending: Pending) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.pending.push(None);
            self.pending.len() as u32 - 1
        });
        self.pending[slot as usize] = Some(pending);
        u64::from(self.index) << 32 | u64::from(slot)
    }

    pub(super) fn hand_over(&mut self, request: block::Request, shard: &mut ShardParts<'_>) -> bool {
        let slot = request.tag as u32;
        if self.is_cut {
            self.completed(Completion::refuse(request, shard.now, Fault::Gone), shard);
            return true;
        }
        match shard.gate.submit(shard.now, request) {
            Submitted::Taken(ticket) => {
                if let Some(pending) = &mut self.pending[slot as usize] {
                    pending.ticket = ticket;
                }
                true
            }
            Submitted::Full(request) => {
                self.waits = Some(Wait::Room { starving: false });
                match self.phase {
                    Phase::Nfs(_) => self.hold_refused_call(request),
                    Phase::Handshake(_) | Phase::Transmission(_) => self.hold(Held::Refused(request)),
                }
            }
        }
    }

    /// Submits a request that the gate had no room for. It was admitted, so it is answered even if
    /// nothing more is read.
    pub(super) fn hand_over_held(&mut self, shard: &mut ShardParts<'_>) {
        let link = match &mut self.phase {
            Phase::Transmission(link) => link,
            Phase::Nfs(_) => return self.hand_over_held_call(shard),
            Phase::Handshake(_) => return,
        };
        match link.held.take() {
            Some(Held::Refused(request)) => {
                self.hand_over(request, shard);
            }
            held => link.held = held,
        }
    }

    fn hold(&mut self, held: Held) -> bool {
        self.link().held = Some(held);
        false
    }

    /// Answers a request with an error without executing it, and discards its payload.
    fn refuse(&mut self, request: NbdRequest, errno: NbdErrno, shard: &mut ShardParts<'_>) -> bool {
        let claim = claim_of(0);
        if self.ask(claim, shard) != Claim::Granted {
            return self.hold(Held::Parsed(request));
        }
        self.turn_down(request, errno, claim, shard)
    }

    /// Handles what the client had sent before the server began to stop: a write that was admitted
    /// is completed, everything else is answered with an error. Called after each completion until
    /// all of that has been read.
    pub(super) fn work_overtime(&mut self, shard: &mut ShardParts<'_>) {
        while self.unread_at_stop.is_some() {
            self.dismiss(shard);
            let Some(left) = self.unread_at_stop else { return };
            // While a message is in flight and another is gathered, a client that does not take its
            // answers is not read either.
            if self.waits_for_the_gate() || left > 0 && self.tx.is_busy() && !self.tx.is_empty() {
                return;
            }
            // Bytes that arrive from now on are too late; TLS may still hold some from before.
            if left == 0 && (self.tls.is_none() || self.receiving.is_some()) {
                self.unread_at_stop = None;
                return;
            }
            if !self.receive(shard) {
                if self.receiving.is_none() && self.waits.is_none() {
                    self.unread_at_stop = None;
                }
                return;
            }
        }
    }

    /// Answers requests that have arrived but were not admitted with an error. The receive buffer
    /// bounds their number, so no limit is checked.
    fn dismiss(&mut self, shard: &mut ShardParts<'_>) {
        loop {
            let link = self.link();
            let rules = link.rules;
            let went_on = match link.held.take() {
                Some(Held::Parsed(request)) => self.dismiss_one(request, shard),
                Some(Held::Payload(payload)) => self.fill(payload, shard),
                // It was admitted already, so it has to be submitted first.
                Some(Held::Refused(request)) => self.hold(Held::Refused(request)),
                None => {
                    let parsed = self.rx.unread(shard.io, |bytes| match rules.parse(bytes) {
                        Ok(Parsed::Message(request, taken)) => (taken, Ok(Some(request))),
                        Ok(Parsed::NeedMore(_)) => (0, Ok(None)),
                        Err(error) => (0, Err(error)),
                    });
                    match parsed {
                        Some(Ok(Some(request))) => self.dismiss_one(request, shard),
                        Some(Err(_)) => {
                            self.unread_at_stop = None;
                            false
                        }
                        Some(Ok(None)) | None => false,
                    }
                }
            };
            if !went_on {
                return;
            }
        }
    }

    /// Whether a request waits for room in the gate.
    fn waits_for_the_gate(&mut self) -> bool {
        matches!(self.link().held, Some(Held::Refused(_)))
    }

    fn dismiss_one(&mut self, request: NbdRequest, shard: &mut ShardParts<'_>) -> bool {
        if request.command == Command::Disconnect {
            self.unread_at_stop = None;
            return false;
        }
        self.turn_down(request, NbdErrno::Shutdown, 0, shard)
    }

    /// Answers with an error; false if the payload, which has to be discarded, is incomplete.
    fn turn_down(&mut self, request: NbdRequest, errno: NbdErrno, claim: u64, shard: &mut ShardParts<'_>) -> bool {
        self.take_on(claim, shard);
        shard.scratch.clear();
        let message = format!("{} at {} of {} bytes: {errno}", request.command, request.offset, request.length);
        self.link().rules.framing.error(shard.scratch, ReplyTo::from(&request), errno, &message);
        self.tx.reply(shard.now, shard.scratch, None, claim, claim);
        let thrown_away = Payload { request, buf: None, filled: 0, claim: 0, since: shard.now };
        request.payload == 0 || self.fill(thrown_away, shard)
    }

    fn link(&mut self) -> &mut Link {
        match &mut self.phase {
            Phase::Transmission(link) => link,
            Phase::Handshake(_) | Phase::Nfs(_) => unreachable!("requests come after the handshake"),
        }
    }
}

impl Link {
    /// What a request claims of the shard's memory, in bytes.
    fn claim(&self, request: &NbdRequest) -> u64 {
        match request.command {
            // The store reads whole blocks.
            Command::Read => {
                let align = u64::from(self.align);
                let from = request.offset - request.offset % align;
                claim_of((request.offset + request.length).next_multiple_of(align) - from)
            }
            Command::Write => claim_of(request.length),
            Command::BlockStatus => claim_of(STATUS),
            _ => claim_of(0),
        }
    }
}

fn op_of(link: &Link, request: &NbdRequest) -> Op {
    match request.command {
        Command::Read => Op::Read,
        Command::Flush => Op::Flush,
        Command::Trim => Op::Trim,
        Command::Cache => Op::Cache,
        Command::WriteZeroes => Op::Zero {
            no_hole: request.flags.contains(CommandFlags::NO_HOLE),
            fast_only: request.flags.contains(CommandFlags::FAST_ZERO),
        },
        Command::BlockStatus => Op::Status { sharing: wanted(link, request).id(Context::Sharing).is_some() },
        // The rules let nothing else through.
        Command::Write | Command::Disconnect | Command::Other(_) => unreachable!("handled before"),
    }
}
