//! An NBD export as a [`Target`]: our own client, over one connection or several.
//!
//! ```text
//!   submit ──► Link with the least under way ──► message ──► Send ──► server
//!   poll   ◄── Link ◄── replies, read data ◄── Receive
//!                │ lost                                  no reconnect: all that was under way fails
//!                └──► Search (its own thread) ──► new Link ──► what was not sent, reads; writes only if asked
//! ```
//!
//! When a connection is lost, the effect of its requests is unknown. Reads are sent again on the
//! next connection. A write, a trim or zeroes may or may not have taken effect: it ends as
//! [`Fault::Gone`], unless the export's `repeat-writes` says that sending it twice does no harm. A
//! flush always ends as gone: a repeated flush would vouch for writes that a restarted server may
//! never have seen. Everything is counted in [`Losses`].
//!
//! A write that must be durable is sent with FUA. Where the server offers none, a flush follows the
//! write, and the write ends with it.

mod connect;
mod export;
mod link;
mod tls;

pub use connect::{Address, ConnectError, Connection};
pub use export::Export;
pub use tls::{TlsChoice, TlsError};

use crate::connections::{Carrier as _, Connections, RETRY};
use crate::inbox;
use crate::pending::{Pending, fail};
use crate::search::Search;
use block::{Bytes, Completion, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use link::{Keep, Link, Orphan};
use nbd::Rules;
use stats::job::Losses;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use uring::Io;

/// An export in use.
pub struct NbdTarget {
    io: Io,
    connections: Connections<Link, Connection>,
    keep: Keep,
    /// How to connect again; `None` gives up at the first loss.
    again: Option<Export>,
    rules: Rules,
    /// Requests accepted without a connection, and those of a lost one to be sent again; in order.
    waiting: VecDeque<Pending>,
    ready: Vec<Completion>,
    /// When to retry `waiting`, which lacked memory.
    retry: Option<Time>,
    /// Writes, trims and zeroes that were answered, and how many of them a flush has covered.
    written: u64,
    covered: u64,
}

impl NbdTarget {
    /// Slab memory that each connection needs for itself.
    pub const MEMORY: Bytes = Bytes(inbox::RECEIVE as u64);

    /// Sends requests on one `connection` by this worker's ring, until it is lost. With
    /// `keep_data`, a read's completion has its bytes; without, they are discarded, for a load that
    /// does not look at them.
    ///
    /// # Errors
    /// The slab has no room for the receive buffer; the connection is closed.
    pub(crate) fn new(io: &Io, connection: Connection, keep_data: bool) -> Result<NbdTarget, ConnectError> {
        let keep = Keep { reads: keep_data, writes: false };
        NbdTarget::over(io, vec![connection], keep, None)
    }

    /// Connects to `export` as its URI says, and blocks until that is done. Later losses are
    /// handled as it says.
    ///
    /// # Errors
    /// It cannot connect, or the slab has no room for the receive buffers.
    pub(crate) fn open(io: &Io, export: &Export, keep_data: bool) -> Result<NbdTarget, ConnectError> {
        let again = (export.reconnect > Span::ZERO).then(|| export.clone());
        let keep = Keep { reads: keep_data, writes: export.repeat_writes && again.is_some() };
        NbdTarget::over(io, Connection::all(export)?, keep, again)
    }

    fn over(io: &Io, all: Vec<Connection>, keep: Keep, again: Option<Export>) -> Result<NbdTarget, ConnectError> {
        let rules = all.first().ok_or(ConnectError::NoMemory)?.rules;
        let links: Option<Vec<Link>> = all.into_iter().map(|connection| Link::new(io, connection, keep)).collect();
        Ok(NbdTarget {
            io: io.clone(),
            connections: Connections::new(links.ok_or(ConnectError::NoMemory)?),
            keep,
            again,
            rules,
            waiting: VecDeque::new(),
            ready: Vec::new(),
            retry: None,
            written: 0,
            covered: 0,
        })
    }

    /// The losses so far. The counts continue to grow.
    pub fn losses(&self) -> Rc<RefCell<Losses>> {
        Rc::clone(self.connections.losses())
    }

    /// Whether the export supports flushes. If not, it buffers nothing.
    pub fn flushes(&self) -> bool {
        self.rules.offers(nbd::Command::Flush)
    }

    /// Whether a write can be durable when it completes.
    pub fn writes_durably(&self) -> bool {
        self.rules.offers_fua() || self.flushes()
    }

    /// The framing of messages.
    pub fn framing(&self) -> nbd::Framing {
        self.rules.framing
    }

    /// Sends a request on the connection with the fewest outstanding; hands it back if there is no
    /// memory or connection.
    fn dispatch(&mut self, now: Time, pending: Pending) -> Result<(), Pending> {
        let covers = self.written;
        let usable = self.connections.links_mut().filter(|link| !link.is_lost());
        match usable.min_by_key(|link| link.outstanding()) {
            Some(link) => link.submit(now, pending, covers),
            None => Err(pending),
        }
    }

    /// Collects the completions of all links.
    fn gather(&mut self, now: Time) {
        let NbdTarget { connections, ready, written, covered, .. } = self;
        for link in connections.links_mut() {
            link.take(now);
            ready.append(&mut link.ready);
            *written += std::mem::take(&mut link.written);
            *covered = link.covered.max(*covered);
        }
    }

    /// Handles lost connections and the searches for them.
    fn mend(&mut self, now: Time) {
        loop {
            let NbdTarget { connections, again, io, .. } = self;
            let search = || {
                let export = again.clone()?;
                let reconnect = export.reconnect;
                Some((Search::start(move || Connection::to(&export), io.waker())?, reconnect))
            };
            let Some(link) = connections.take_lost(now, search) else { break };
            self.take_over(link, now);
        }
        let NbdTarget { connections, io, rules, keep, .. } = self;
        connections.adopt_found(now, |connection| match difference(rules, &connection.rules) {
            Some(why) => Err(why),
            None => Link::new(io, connection, *keep).ok_or_else(|| ConnectError::NoMemory.to_string()),
        });
        if self.connections.is_gone() {
            let why = self.connections.last_loss();
            self.ready.extend(self.waiting.drain(..).map(|pending| fail(pending, now, false, why)));
        }
    }

    /// Counts what a lost connection leaves, and decides what happens to each request.
    fn take_over(&mut self, link: Link, now: Time) {
        // Counted once, no matter how many connections the server took with it.
        self.connections.losses().borrow_mut().not_flushed += self.written - self.covered;
        self.covered = self.written;
        let (orphans, ready) = link.leave();
        self.ready.extend(ready);
        // Ahead of later requests, in their own order.
        let mut repeated = VecDeque::new();
        for orphan in orphans {
            let sent = orphan.sent;
            match self.settle(orphan) {
                Ok(pending) => repeated.push_back(pending),
                Err(pending) => self.ready.push(fail(pending, now, sent, self.connections.last_loss())),
            }
        }
        repeated.append(&mut self.waiting);
        self.waiting = repeated;
    }

    /// Whether a request may be sent again; otherwise it fails.
    fn settle(&self, orphan: Orphan) -> Result<Pending, Pending> {
        let Orphan { pending, sent } = orphan;
        let kind = pending.request.op.kind();
        let mut losses = self.connections.losses().borrow_mut();
        losses.under_way.count(kind);
        // Another connection may still exist if none is to be re-established.
        let elsewhere = self.again.is_some() || self.connections.is_up();
        let harmless = match kind {
            OpKind::Read | OpKind::Cache | OpKind::Status => self.again.is_some(),
            OpKind::Write | OpKind::Trim | OpKind::Zero => self.keep.writes,
            OpKind::Flush => false,
        };
        if !sent && elsewhere {
            losses.unsent += 1;
            Ok(pending)
        } else if sent && harmless {
            losses.repeated.count(kind);
            Ok(pending)
        } else {
            losses.unknown.count(kind);
            Err(pending)
        }
    }

    /// Sends waiting requests, as far as there is memory.
    fn resume(&mut self, now: Time) {
        self.retry = None;
        if !self.connections.is_up() {
            return;
        }
        while let Some(pending) = self.waiting.pop_front() {
            if let Err(pending) = self.dispatch(now, pending) {
                self.waiting.push_front(pending);
                self.retry = Some(now + RETRY);
                return;
            }
        }
    }
}

impl Target for NbdTarget {
    fn traits(&self) -> Traits {
        Traits {
            size: Bytes(self.rules.size),
            align: self.rules.minimum,
            longest: self.rules.payload,
            carries_data: true,
            read_only: self.rules.flags.contains(nbd::TransmissionFlags::READ_ONLY),
        }
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let ticket = Ticket(request.tag);
        if self.connections.is_gone() {
            let why = self.connections.last_loss();
            self.ready.push(fail(Pending { request, since: now }, now, false, why));
            return Submitted::Taken(ticket);
        }
        let pending = Pending { request, since: now };
        // First come, first served.
        if !self.waiting.is_empty() || !self.connections.is_up() {
            self.waiting.push_back(pending);
            return Submitted::Taken(ticket);
        }
        match self.dispatch(now, pending) {
            Ok(()) => Submitted::Taken(ticket),
            Err(pending) => Submitted::Full(pending.request),
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
        self.ready.iter_mut().for_each(without_nothing);
        out.append(&mut self.ready);
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.ready.is_empty() {
            return Wakeup::Now;
        }
        let own = self.connections.next_wakeup(!self.waiting.is_empty());
        self.retry.map_or(own, |retry| own.sooner(Wakeup::At(retry)))
    }

    /// NBD cannot cancel a request: its reply comes as usual.
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// Why the export that was found again is not the one that was lost.
fn difference(before: &Rules, now: &Rules) -> Option<String> {
    let is_other = now.size != before.size || now.flags != before.flags || now.payload < before.payload;
    is_other.then(|| {
        format!(
            "the export that came back is another: {} instead of {}, flags {:#06x} instead of {:#06x}",
            Bytes(now.size),
            Bytes(before.size),
            now.flags.0,
            before.flags.0
        )
    })
}

/// A write whose data was lost with its connection has no buffer to give back.
fn without_nothing(completion: &mut Completion) {
    completion.buf = completion.buf.take().filter(|buf| !buf.is_nothing());
}

impl Drop for NbdTarget {
    /// Gives its memory back; the server sees the connections close.
    fn drop(&mut self) {
        for completion in &mut self.ready {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
        for Pending { request, .. } in self.waiting.drain(..) {
            if let Op::Write(buf) = request.op {
                self.io.give(buf);
            }
        }
    }
}
