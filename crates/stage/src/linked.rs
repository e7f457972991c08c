//! A connection of a simulated client, of which its server's link carries only so much: the rules
//! are the server's own, on the virtual clock.

use admin::LinkSeen;
use block::{Completion, Op, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use engine::LinkWaits;
use server::{LinkMeter, LinkSettings};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// Tickets of requests that had to wait; no device has that many.
const OURS: u64 = 1 << 63;

/// The link of a simulated server, for all its connections.
#[derive(Clone)]
pub struct Link(Rc<RefCell<Shared>>);

struct Shared {
    meter: LinkMeter,
    connections: u32,
}

impl Link {
    /// With full credit.
    pub fn new(settings: LinkSettings) -> Link {
        Link(Rc::new(RefCell::new(Shared { meter: LinkMeter::new(settings), connections: 0 })))
    }

    /// How often connections began to wait so far.
    pub fn waits(&self, now: Time) -> LinkWaits {
        waits(&self.0.borrow().meter.seen(now))
    }

    /// A new connection to that target.
    pub fn connect(&self, inner: Box<dyn Target>) -> Linked {
        let shared = &mut *self.0.borrow_mut();
        let connection = shared.connections;
        shared.meter.begin(connection);
        shared.connections += 1;
        Linked {
            inner,
            link: self.clone(),
            connection,
            waiting: VecDeque::new(),
            waited: HashMap::new(),
            tickets: OURS,
            until: None,
        }
    }
}

/// How often connections began to wait for each limit.
pub fn waits(seen: &LinkSeen) -> LinkWaits {
    let whole = seen.whole_waits - seen.burst_waits;
    LinkWaits { flow: seen.flow_waits, burst: seen.burst_waits, whole }
}

/// A connection.
pub struct Linked {
    inner: Box<dyn Target>,
    link: Link,
    connection: u32,
    /// Requests that the link has not carried yet, in their order, and since when.
    waiting: VecDeque<(Time, Request)>,
    /// How long those that it has carried since waited for it, by tag.
    waited: HashMap<u64, Span>,
    tickets: u64,
    /// When the first of them may go on.
    until: Option<Time>,
}

impl Linked {
    /// Lets its next request in, or tells until when that has to wait.
    fn let_in(&self, now: Time) -> Option<Time> {
        self.link.0.borrow_mut().meter.let_in(now, self.connection)
    }

    /// Has its place among those who wait, where it waits.
    fn wait(&self, now: Time) {
        if !self.waiting.is_empty() {
            self.link.0.borrow_mut().meter.wait(now, self.connection);
        }
    }

    /// Hands a request on that the link carries; it comes back where there is no room.
    fn carry(&mut self, now: Time, request: Request) -> Submitted {
        let bytes = if matches!(request.op, Op::Read | Op::Write(_)) { request.len } else { 0 };
        let submitted = self.inner.submit(now, request);
        if matches!(submitted, Submitted::Taken(_)) {
            self.link.0.borrow_mut().meter.charge(now, self.connection, bytes);
        }
        submitted
    }
}

impl Target for Linked {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.waiting.is_empty() {
            self.until = self.let_in(now);
            if self.until.is_none() {
                return self.carry(now, request);
            }
        }
        self.waiting.push_back((now, request));
        self.wait(now);
        self.tickets += 1;
        Submitted::Taken(Ticket(self.tickets))
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.until = None;
        while let Some((since, request)) = self.waiting.pop_front() {
            self.until = self.let_in(now);
            let tag = request.tag;
            let back = match self.until {
                Some(_) => Some(request),
                None => match self.carry(now, request) {
                    Submitted::Full(request) => Some(request),
                    Submitted::Taken(_) => None,
                },
            };
            if let Some(request) = back {
                self.waiting.push_front((since, request));
                break;
            }
            self.waited.insert(tag, now.since(since));
        }
        self.wait(now);
        let before = out.len();
        self.inner.poll(now, out);
        // As a client sees it, who handed the request over when it came here.
        for completion in &mut out[before..] {
            completion.service += self.waited.remove(&completion.tag).unwrap_or_default();
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        self.until.map_or(Wakeup::Idle, Wakeup::At).sooner(self.inner.next_wakeup())
    }

    /// What waits for the link is not called back.
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        if ticket.0 & OURS == 0 {
            self.inner.cancel(now, ticket);
        }
    }
}
