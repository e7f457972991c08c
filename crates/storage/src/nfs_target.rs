//! A file of an NFS server as a [`Target`]: our own client of NFS version 3, over one connection or
//! several.
//!
//! ```text
//!   submit ──► the next Link in turn ──► message of calls ──► Send ──► server
//!   poll   ◄── Link ◄── replies, read data ◄── Receive
//!                │ lost
//!                └──► Search (its own thread) ──► new Link ──► all that was under way is asked again
//! ```
//!
//! Requests go over the connections in turn, as with a mount that has `nconnect`. A write is
//! durable after a COMMIT, or at once if it must be (`FILE_SYNC`). Each reply to a WRITE has the
//! *verifier* of the server's present instance. If the verifier differs at the next COMMIT, the
//! server has restarted, even if the connection is still there, and may have lost data: that flush
//! ends as [`Fault::Gone`], and the writes are counted in [`Losses`]. Their data is not kept to be
//! written again: a load whose writes were acknowledged must be told that they were lost.
//!
//! READ, WRITE and COMMIT are idempotent. So after a lost connection everything is sent again,
//! including writes, in contrast to NBD: an NFS server is expected not to depend on connections.

mod connect;
mod file;
mod link;
mod promises;

pub use connect::NfsError;
pub use file::NfsFile;

pub(crate) use connect::find;

use crate::connections::{Carrier as _, Connections, RETRY};
use crate::inbox;
use crate::pending::{Pending, fail};
use crate::search::Search;
use block::{
    Bytes, Completion, Detail, Fault, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup, count,
};
use connect::Found;
use link::{Asked, Event, Link};
use promises::Promises;
use stats::job::Losses;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use uring::Io;

/// How long to wait before asking again after `NFS3ERR_JUKEBOX`.
const LATER: Span = Span::from_millis(100);

/// Limit on the bytes of one request, as for exports of NBD servers. A server may take less in one
/// call.
const LONGEST: u32 = 32 << 20;

/// A file in use.
pub struct NfsTarget {
    io: Io,
    found: Rc<Found>,
    connections: Connections<Link, OwnedFd>,
    /// The connection whose turn it is.
    turn: usize,
    keep_reads: bool,
    reconnect: Span,
    writes: bool,
    /// Requests accepted without a connection, those of a lost one, and those that the server wants
    /// later; in order.
    waiting: VecDeque<Asked>,
    ready: Vec<Completion>,
    /// When to look at `waiting` again.
    retry: Option<Time>,
    promises: Promises,
    /// Call numbers of the next connection start after this.
    turns: u32,
}

impl NfsTarget {
    /// Slab memory that each connection needs for itself.
    pub const MEMORY: Bytes = Bytes(inbox::RECEIVE as u64);

    /// Finds the file, connects as its URI says, and blocks until that is done. Later losses are
    /// handled as it says. With `writes`, the file is created or extended if the URI has a size.
    /// With `keep_data`, a read's completion has its bytes; without, they are discarded.
    ///
    /// # Errors
    /// There is no such file, it cannot connect, or the slab has no room for the receive buffers.
    pub(crate) fn open(io: &Io, file: &NfsFile, writes: bool, keep_data: bool) -> Result<NfsTarget, NfsError> {
        let missing = || NfsError::Missing { address: file.host.clone(), path: file.path.clone() };
        let found = if writes { connect::make(file)? } else { find(file)?.ok_or_else(missing)? };
        let found = Rc::new(found);
        // A server remembers calls by their numbers, even across connections: start away from the
        // numbers of other runs.
        let mut turns = io.clock().now().as_nanos() as u32;
        let mut links = Vec::new();
        for _ in 0..file.connections {
            let socket = connect::connect(&found)?;
            links.push(link(io, socket, &found, keep_data, &mut turns).ok_or(NfsError::NoMemory)?);
        }
        Ok(NfsTarget {
            io: io.clone(),
            found,
            connections: Connections::new(links),
            turn: 0,
            keep_reads: keep_data,
            reconnect: file.reconnect,
            writes,
            waiting: VecDeque::new(),
            ready: Vec::new(),
            retry: None,
            promises: Promises::default(),
            turns,
        })
    }

    /// The losses so far. The counts continue to grow.
    pub fn losses(&self) -> Rc<RefCell<Losses>> {
        Rc::clone(self.connections.losses())
    }

    /// Sends a request on the next connection; hands it back if there is no memory or connection.
    fn dispatch(&mut self, mut asked: Asked) -> Result<(), Asked> {
        let covers = self.promises.written();
        for _ in 0..self.connections.count() {
            self.turn = (self.turn + 1) % self.connections.count();
            if let Some(link) = self.connections.usable_mut(self.turn) {
                match link.submit(asked, covers) {
                    Ok(()) => return Ok(()),
                    Err(back) => asked = back,
                }
            }
        }
        Err(asked)
    }

    /// Collects the events of all links.
    fn gather(&mut self, now: Time) {
        let mut events = Vec::new();
        for link in self.connections.links_mut() {
            link.take(now);
            events.append(&mut link.events);
        }
        events.into_iter().for_each(|event| self.settle(event, now));
    }

    fn settle(&mut self, event: Event, now: Time) {
        match event {
            Event::Ended(completion) => self.ready.push(completion),
            Event::Wrote(verifier) => {
                self.connections.losses().borrow_mut().not_flushed += self.promises.wrote(verifier);
            }
            Event::Committed(verifier, covers, completion) => {
                let (lost, result) = self.promises.committed(verifier, covers);
                self.connections.losses().borrow_mut().not_flushed += lost;
                let detail = Detail::known(result.err().map(|lost| forgotten(lost).into()), None);
                self.ready.push(Completion { result: result.map_err(|_| Fault::Gone), detail, ..completion });
            }
            Event::Later(mut asked) => {
                asked.later = true;
                self.waiting.push_back(asked);
                self.retry.get_or_insert(now + LATER);
            }
        }
    }

    /// Handles lost connections and the searches for them.
    fn mend(&mut self, now: Time) {
        loop {
            let NfsTarget { connections, found, io, reconnect, .. } = self;
            let search = || {
                let found = Found::clone(found);
                Some((Search::start(move || connect::connect(&found), io.waker())?, *reconnect))
            };
            let search = || if *reconnect > Span::ZERO { search() } else { None };
            let Some(link) = connections.take_lost(now, search) else { break };
            self.take_over(link, now);
        }
        let NfsTarget { connections, found, io, keep_reads, turns, .. } = self;
        connections.adopt_found(now, |socket| {
            link(io, socket, found, *keep_reads, turns).ok_or_else(|| NfsError::NoMemory.to_string())
        });
        if self.connections.is_gone() {
            let (io, why) = (&self.io, self.connections.last_loss());
            let failed = |asked: Asked| {
                let sent = asked.sent;
                fail(asked.unload(io), now, sent, why)
            };
            self.ready.extend(self.waiting.drain(..).map(failed));
            // No COMMIT will be sent any more.
            self.connections.losses().borrow_mut().not_flushed += self.promises.give_up();
        }
    }

    /// Counts what a lost connection leaves, and sends all of it again if there is or will be a
    /// connection.
    fn take_over(&mut self, link: Link, now: Time) {
        let (orphans, events) = link.leave();
        events.into_iter().for_each(|event| self.settle(event, now));
        let goes_on = !self.connections.is_gone();
        let mut losses = self.connections.losses().borrow_mut();
        // Ahead of later requests, in their own order.
        let mut again = VecDeque::new();
        for (mut asked, sent) in orphans {
            asked.sent |= sent;
            let kind = asked.kind();
            losses.under_way.count(kind);
            match (goes_on, sent) {
                (true, true) => losses.repeated.count(kind),
                (true, false) => losses.unsent += 1,
                (false, _) => losses.unknown.count(kind),
            }
            again.push_back(asked);
        }
        drop(losses);
        again.append(&mut self.waiting);
        self.waiting = again;
    }

    /// Sends waiting requests, as far as there is memory.
    fn resume(&mut self, now: Time) {
        if self.retry.is_some_and(|retry| retry > now) || !self.connections.is_up() {
            return;
        }
        self.retry = None;
        while let Some(asked) = self.waiting.pop_front() {
            if let Err(asked) = self.dispatch(asked) {
                self.waiting.push_front(asked);
                self.retry = Some(now + RETRY);
                return;
            }
        }
    }

    /// Why this target refuses a request.
    fn refuses(&self, request: &Request) -> Option<Fault> {
        let end = request.at.checked_add(request.len);
        let fits = end.is_some_and(|end| end <= self.found.size) && request.len <= u64::from(LONGEST);
        match request.op.kind() {
            OpKind::Flush => None,
            OpKind::Trim | OpKind::Zero | OpKind::Cache | OpKind::Status => Some(Fault::Unsupported),
            OpKind::Write if !self.writes => Some(Fault::ReadOnly),
            OpKind::Read | OpKind::Write => (!fits || request.len == 0).then_some(Fault::Invalid),
        }
    }
}

/// Why a flush failed that found writes lost.
fn forgotten(lost: u64) -> String {
    format!(
        "the server restarted (it has another write verifier), and may have lost {} that it had answered \
         and that no flush had covered",
        count(lost as usize, "write", "writes")
    )
}

/// A link over `socket`, whose call numbers start after those of the last.
fn link(io: &Io, socket: OwnedFd, found: &Rc<Found>, keep_reads: bool, turns: &mut u32) -> Option<Link> {
    *turns = turns.wrapping_add(0x1_0000);
    Link::new(io, socket, found, keep_reads, *turns)
}

impl Target for NfsTarget {
    fn traits(&self) -> Traits {
        Traits { size: Bytes(self.found.size), align: 1, longest: LONGEST, carries_data: true, read_only: !self.writes }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let ticket = Ticket(request.tag);
        if self.connections.is_gone() {
            let why = self.connections.last_loss();
            self.ready.push(fail(Pending { request, since: now }, now, false, why));
            return Submitted::Taken(ticket);
        }
        if let Some(fault) = self.refuses(&request) {
            self.ready.push(Completion::refuse(request, now, fault));
            return Submitted::Taken(ticket);
        }
        if request.op == Op::Flush && self.promises.is_kept() {
            // Everything written is durable: there is nothing to send.
            self.ready.push(Completion::of(&request, now, Ok(())));
            return Submitted::Taken(ticket);
        }
        let asked = Asked::new(request, now);
        // First come, first served.
        if !self.waiting.is_empty() || !self.connections.is_up() {
            self.waiting.push_back(asked);
            return Submitted::Taken(ticket);
        }
        match self.dispatch(asked) {
            Ok(()) => Submitted::Taken(ticket),
            Err(asked) => Submitted::Full(asked.unload(&self.io).request),
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.gather(now);
        if !self.connections.are_all_up() {
            self.mend(now);
        }
        if !self.waiting.is_empty() {
            self.resume(now);
        }
        self.connections.links_mut().for_each(Link::go);
        for completion in &mut self.ready {
            completion.buf = completion.buf.take().filter(|buf| !buf.is_nothing());
        }
        out.append(&mut self.ready);
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.ready.is_empty() {
            return Wakeup::Now;
        }
        let own = self.connections.next_wakeup(!self.waiting.is_empty());
        self.retry.map_or(own, |retry| own.sooner(Wakeup::At(retry)))
    }

    /// NFS cannot cancel a call: its reply comes as usual. What the server wants to be asked again
    /// is not asked again.
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        let is_it = |asked: &Asked| asked.later && asked.pending.request.tag == ticket.0;
        if let Some(asked) = self.waiting.iter().position(is_it).and_then(|place| self.waiting.remove(place)) {
            let why = "the server answered until the end that it takes longer (NFS3ERR_JUKEBOX)".into();
            self.ready.push(fail(asked.unload(&self.io), now, false, &why));
        }
    }
}

impl Drop for NfsTarget {
    /// Gives its memory back; the server sees the connections close.
    fn drop(&mut self) {
        for completion in &mut self.ready {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        self.waiting.drain(..).for_each(|asked| link::give(&self.io, asked));
    }
}
