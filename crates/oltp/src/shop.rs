//! Order entry in virtual time: users, a host, a buffer cache, a log writer and a page writer over
//! a simulated target.
//!
//! ```text
//!   user: think ──► host (first come, first served) ──► reads of pages that the buffer cache lacks, one after the other ──► commits
//!                                                                                                │
//!   log writer: all commits that wait, in one write behind the last (group commit) ◄─────────────┘
//!   page writer: changed pages to their places, so many outstanding; when too many wait, transactions wait to begin
//! ```
//! No SQL and no rows: what a transaction asks of storage is its [`Demand`] behind buffers whose
//! miss ratios are known in advance ([`ShopDemand`]), and the next transaction is drawn as for real
//! users. Locks between users are not modelled.

use crate::chance::Chance;
use crate::demand::{Demand, ShopDemand};
use crate::ledger::{Done, Ledger};
use crate::mix::TransactionMix;
use crate::session::{Counts, Waits};
use crate::transaction::Transaction;
use block::{Actor, Buf, Bytes, Completion, ObjectId, Op, Request, Span, Submitted, Target, Time, Wakeup};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The load and the host that runs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shop {
    /// Number of users.
    pub users: u32,
    /// The mix of transactions.
    pub mix: TransactionMix,
    /// Mean think time between transactions.
    pub think: Span,
    /// Mean processor time of a transaction on the host.
    pub host: Span,
    /// Number of the host's processors.
    pub processors: u32,
    /// What transactions ask of storage: pages that the buffer cache misses, and commits.
    pub asks: ShopDemand,
    /// Bytes of the database; the log follows it.
    pub database: Bytes,
    /// Bytes of a page.
    pub page: Bytes,
}

impl Shop {
    /// Maximum number of changed pages that wait to be written; no transaction begins above it.
    pub const CHANGED_MOST: f64 = 2000.0;
    /// Page writes in flight.
    pub const WRITERS: u32 = 64;
    /// Bytes of the log, which is written in a circle.
    pub const LOG: Bytes = Bytes::gib(1);
    /// Bytes that a commit adds to the log; an assumption: two rows and their keys.
    pub const RECORD: Bytes = Bytes::kib(4);
    /// The longest write of the log.
    const GROUP_MOST: u64 = 1 << 20;

    /// The mean demand of a transaction.
    pub fn demand(&self) -> Demand {
        self.asks.mean(&self.mix)
    }

    /// Bytes of the target that it uses.
    pub fn size(&self) -> Bytes {
        Bytes(self.database.0 + Shop::LOG.0)
    }
}

/// What a user waits for.
#[derive(Clone, Debug)]
struct User {
    chance: Chance,
    what: Transaction,
    begun: Time,
    reads: u32,
    commits: u32,
    /// Since when its commit has waited, and how long earlier commits waited.
    waits_since: Time,
    committing: Span,
}

/// A timed event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A user's think time is over.
    Thought(u32),
    /// The host has processed a user's transaction.
    Worked(u32),
}

/// A simulation of users.
#[derive(Debug)]
pub struct Shopping<T> {
    shop: Shop,
    target: T,
    /// The storage object that contains everything.
    object: ObjectId,
    users: Vec<User>,
    due: BinaryHeap<Reverse<(Time, u64, Due)>>,
    noted: u64,
    /// Users that wait for a processor, and the number of busy processors.
    waiting: VecDeque<u32>,
    busy: u32,
    /// Users that wait to begin because too many changed pages are unwritten.
    held: VecDeque<u32>,
    /// Users whose commit is in flight, and those whose commit waits.
    committing: Vec<u32>,
    to_commit: Vec<u32>,
    log_at: u64,
    /// Changed pages still to be written, and page writes in flight.
    changed: f64,
    writing: u32,
    /// Random numbers of the page writer.
    chance: Chance,
    refused: VecDeque<Request>,
    ended: Vec<Completion>,
    ledger: Ledger,
    until: Time,
}

/// Tags: a user's is its number; the writers have numbers above all users'.
const WRITER: u64 = 1 << 32;
const LOG_WRITER: u64 = 1 << 33;

impl<T: Target> Shopping<T> {
    /// Users that begin within a second of `start` and are measured after `warm_up` for the length
    /// of `window`.
    pub fn new(shop: Shop, target: T, seed: u64, start: Time, [warm_up, window]: [Span; 2]) -> Shopping<T> {
        let user = |number: u32| User {
            chance: Chance::new(seed, u64::from(number) + 1),
            what: Transaction::BrowseProducts,
            begun: start,
            reads: 0,
            commits: 0,
            waits_since: start,
            committing: Span::ZERO,
        };
        let mut shopping = Shopping {
            users: (0..shop.users).map(user).collect(),
            due: BinaryHeap::new(),
            noted: 0,
            waiting: VecDeque::new(),
            busy: 0,
            held: VecDeque::new(),
            committing: Vec::new(),
            to_commit: Vec::new(),
            log_at: 0,
            changed: 0.0,
            writing: 0,
            chance: Chance::new(seed, 0),
            refused: VecDeque::new(),
            ended: Vec::new(),
            ledger: Ledger::new(start, warm_up, window, false),
            until: start + warm_up + window,
            shop,
            target,
            object: ObjectId(0),
        };
        for number in 0..shop.users {
            let within = shopping.users[number as usize].chance.part();
            shopping.note(start + Span::from_secs_f64(within), Due::Thought(number));
        }
        shopping
    }

    /// The same on this object of the target.
    pub fn on(self, object: ObjectId) -> Shopping<T> {
        Shopping { object, ..self }
    }

    /// The ledger, closed at `now`.
    pub fn finish(mut self, now: Time) -> Ledger {
        self.ledger.roll(now);
        self.ledger.finish(now);
        self.ledger
    }

    fn note(&mut self, at: Time, due: Due) {
        self.noted += 1;
        self.due.push(Reverse((at, self.noted, due)));
    }

    /// An exponentially distributed time with this mean.
    fn drawn(chance: &mut Chance, mean: Span) -> Span {
        Span::from_secs_f64(-(1.0 - chance.part()).ln() * mean.as_secs_f64())
    }

    fn begin(&mut self, now: Time, number: u32) {
        if self.changed >= Shop::CHANGED_MOST {
            return self.held.push_back(number);
        }
        let user = &mut self.users[number as usize];
        user.what = self.shop.mix.draw(&mut user.chance);
        let demand = self.shop.asks.of(user.what);
        user.reads = demand.pages as u32 + u32::from(user.chance.part() < demand.pages.fract());
        user.commits = demand.commits as u32;
        user.committing = Span::ZERO;
        self.waiting.push_back(number);
        self.work(now);
    }

    /// Gives work to idle processors.
    fn work(&mut self, now: Time) {
        while self.busy < self.shop.processors {
            let Some(number) = self.waiting.pop_front() else { return };
            self.busy += 1;
            let takes = Shopping::<T>::drawn(&mut self.users[number as usize].chance, self.shop.host);
            self.note(now + takes, Due::Worked(number));
        }
    }

    /// Starts a user's next read or next commit, or ends its transaction.
    fn go_on(&mut self, now: Time, number: u32) {
        let pages = (self.shop.database.0 / self.shop.page.0).max(1);
        let user = &mut self.users[number as usize];
        if user.reads > 0 {
            user.reads -= 1;
            let at = user.chance.between(0, pages as i64 - 1) as u64 * self.shop.page.0;
            self.submit(now, number.into(), Op::Read, at, self.shop.page.0);
        } else if user.commits > 0 {
            user.commits -= 1;
            user.waits_since = now;
            self.to_commit.push(number);
            self.write_log(now);
        } else {
            self.end(now, number);
        }
    }

    fn end(&mut self, now: Time, number: u32) {
        let user = &mut self.users[number as usize];
        let (what, committing) = (user.what, user.committing);
        self.ledger.add(&Done {
            what,
            due: user.begun,
            begun: user.begun,
            end: now,
            thought: Span::ZERO,
            waits: Waits { committing, ..Waits::default() },
            counts: Counts { commits: what.demand().commits as u64, ..Counts::default() },
            unsure: false,
            failure: None,
        });
        let thinks = Shopping::<T>::drawn(&mut user.chance, self.shop.think);
        self.changed += self.shop.asks.of(what).changed;
        self.note(now + thinks, Due::Thought(number));
        self.write_pages(now);
    }

    /// Writes all waiting commits in one write, unless one is in flight.
    fn write_log(&mut self, now: Time) {
        if !self.committing.is_empty() || self.to_commit.is_empty() {
            return;
        }
        std::mem::swap(&mut self.committing, &mut self.to_commit);
        let len = (self.committing.len() as u64 * Shop::RECORD.0).min(Shop::GROUP_MOST);
        if self.log_at + len > Shop::LOG.0 {
            self.log_at = 0;
        }
        let at = self.shop.database.0 + self.log_at;
        self.log_at += len;
        self.submit(now, LOG_WRITER, Op::Write(Buf::nothing(len as u32)), at, len);
    }

    fn write_pages(&mut self, now: Time) {
        let pages = (self.shop.database.0 / self.shop.page.0).max(1);
        while self.changed >= 1.0 && self.writing < Shop::WRITERS {
            self.changed -= 1.0;
            self.writing += 1;
            let at = self.chance.between(0, pages as i64 - 1) as u64 * self.shop.page.0;
            self.submit(now, WRITER, Op::Write(Buf::nothing(self.shop.page.0 as u32)), at, self.shop.page.0);
        }
    }

    fn submit(&mut self, now: Time, tag: u64, op: Op, at: u64, len: u64) {
        let request = Request { tag, object: self.object, at, len, op, fua: false, due: now };
        self.hand_over_one(now, request);
    }

    /// Queues a request after those that were refused before.
    fn hand_over_one(&mut self, now: Time, request: Request) {
        if !self.refused.is_empty() {
            return self.refused.push_back(request);
        }
        if let Submitted::Full(back) = self.target.submit(now, request) {
            self.refused.push_back(back);
        }
    }

    fn ended(&mut self, now: Time, completion: &Completion) {
        match completion.tag {
            WRITER => {
                self.writing -= 1;
                self.write_pages(now);
                while self.changed < Shop::CHANGED_MOST {
                    let Some(number) = self.held.pop_front() else { break };
                    self.begin(now, number);
                }
            }
            LOG_WRITER => {
                for number in std::mem::take(&mut self.committing) {
                    let user = &mut self.users[number as usize];
                    user.committing += now.since(user.waits_since);
                    self.go_on(now, number);
                }
                self.write_log(now);
            }
            user => self.go_on(now, user as u32),
        }
    }
}

impl<T: Target> Actor for Shopping<T> {
    fn pass(&mut self, now: Time) {
        self.ledger.roll(now);
        let mut refused = std::mem::take(&mut self.refused);
        refused.drain(..).for_each(|request| self.hand_over_one(now, request));
        loop {
            while let Some(Reverse((_, _, due))) = self.due.peek().copied().filter(|Reverse(next)| next.0 <= now) {
                self.due.pop();
                match due {
                    Due::Thought(number) => {
                        // Waiting to begin is part of the response time.
                        self.users[number as usize].begun = now;
                        self.begin(now, number);
                    }
                    Due::Worked(number) => {
                        self.busy -= 1;
                        self.go_on(now, number);
                        self.work(now);
                    }
                }
            }
            let mut ended = std::mem::take(&mut self.ended);
            self.target.poll(now, &mut ended);
            let any = !ended.is_empty();
            ended.drain(..).for_each(|completion| self.ended(now, &completion));
            self.ended = ended;
            if !any {
                return;
            }
        }
    }

    fn next_wakeup(&self, _now: Time) -> Wakeup {
        let due = self.due.peek().map_or(Wakeup::Idle, |Reverse(next)| Wakeup::At(next.0));
        self.target.next_wakeup().sooner(due)
    }

    fn is_over(&self, now: Time) -> bool {
        now >= self.until
    }
}
