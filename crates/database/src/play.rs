//! Users at work: a thread for each, and one that collects their results.

use block::{Actor, Driver, Span, Time, Wait, Wakeup, drive};
use oltp::{Done, Draws, Failure, Ledger, Mode, Performed, Session, Think, TransactionMix, User};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use uring::Clock;

/// The settings of a point.
#[derive(Clone, Copy, Debug)]
pub struct UserPlan {
    /// Number of users.
    pub users: u32,
    /// Their transactions.
    pub mix: TransactionMix,
    /// Single statements or procedures.
    pub mode: Mode,
    /// Their think time.
    pub think: Think,
    /// Transactions due in a second, over all users; `None` for a closed loop.
    pub rate: Option<f64>,
    /// Time before the measurement.
    pub warm_up: Span,
    /// Length of the measurement.
    pub window: Span,
    /// Number of transactions over all users that ends the point; `None` if only time ends it.
    pub transactions: Option<u64>,
    /// The dates of new rows.
    pub dates: Dates,
    /// Seed of all random choices.
    pub seed: u64,
    /// Distributions of keys.
    pub draws: Draws,
    /// How long users who have all lost their connections try to reconnect before the point ends.
    pub reconnect: Span,
}

/// [`UserPlan::reconnect`] unless said otherwise, in seconds: time for a server's recovery after a
/// crash.
pub const RECONNECT_S: u64 = 60;

/// A point that was played.
#[derive(Debug)]
pub struct PlayOutcome {
    /// What the users did.
    pub ledger: Ledger,
    /// Why no user could reconnect for [`UserPlan::reconnect`], which ended the point.
    pub lost: Option<Failure>,
}

/// The dates of new rows, in seconds since 1970 (UTC).
#[derive(Clone, Copy, Debug)]
pub enum Dates {
    /// The current time; the point began at this one.
    Passing(i64),
    /// Always this time, so that the same work makes the same rows.
    Fixed(i64),
}

/// Watches a point, about once a second.
pub trait PointWatcher {
    /// The measurement begins.
    fn begins(&mut self) {}

    /// Called after each second of the point; `false` ends it.
    fn second(&mut self, ledger: &Ledger, seconds: usize, working: u32) -> bool;
}

/// Ends all waits when it is raised.
#[derive(Debug, Default)]
pub struct StopSignal(Mutex<bool>, Condvar);

impl StopSignal {
    /// Ends all present and future waits.
    pub fn raise(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }

    /// Waits for `span`, or until it is raised; returns whether it was.
    pub fn wait(&self, span: Span) -> bool {
        let guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = Duration::from_nanos(span.as_nanos());
        let (guard, _) =
            self.1.wait_timeout_while(guard, wait, |raised| !*raised).unwrap_or_else(PoisonError::into_inner);
        *guard
    }

    /// [`StopSignal::wait`], but returns how long it waited.
    pub(crate) fn waited(&self, clock: &Clock, span: Span) -> Span {
        let before = clock.now();
        self.wait(span);
        clock.now().since(before)
    }
}

/// How long a user waits after a failure, so that a database that refuses everything is not flooded
/// with requests.
const AFTER_FAILURE: Span = Span::from_millis(10);

/// Plays a point. `connect` opens the connection of a user, given its number and the signal that
/// ends its think time.
///
/// # Errors
/// A user cannot connect at the start, or a thread could not be started.
pub fn play<'w, S: Session + Send>(
    plan: &UserPlan,
    signal: &'w StopSignal,
    connect: &(dyn Fn(u32, &'w StopSignal) -> Result<S, Failure> + Sync),
    pace: &mut dyn PointWatcher,
) -> Result<PlayOutcome, Failure> {
    let clock = Clock::new();
    // All users connect before the first begins, because logging on is not part of the load.
    let sessions = (0..plan.users).map(|number| connect(number, signal)).collect::<Result<Vec<_>, _>>()?;
    let (sender, receiver) = channel();
    let start = clock.now();
    std::thread::scope(|scope| {
        for (number, session) in (0..).zip(sessions) {
            let worker = Worker { plan, number, signal, clock, connect, sender: sender.clone(), start };
            let thread = std::thread::Builder::new().name(format!("user {number}")).stack_size(256 << 10);
            // 256 KiB of stack: transactions do not nest deeply, and a thousand threads must fit.
            if let Err(error) = thread.spawn_scoped(scope, move || worker.work(session)) {
                signal.raise();
                return Err(Failure::Other(format!("user {number}: the system gives no thread: {error}")));
            }
        }
        drop(sender);
        Ok(collect(plan, signal, clock, receiver, start, pace))
    })
}

fn collect(
    plan: &UserPlan,
    signal: &StopSignal,
    clock: Clock,
    receiver: Receiver<Message>,
    start: Time,
    pace: &mut dyn PointWatcher,
) -> PlayOutcome {
    let inbox = Rc::new(RefCell::new(Inbox::default()));
    let mut driver = MessageDriver { clock, receiver, inbox: Rc::clone(&inbox) };
    let ledger = Ledger::new(start, plan.warm_up, plan.window, plan.rate.is_some());
    let (from, until) = (ledger.from(), ledger.until());
    let mut collectors = [Collector::new(ledger, inbox, plan.users)];
    let (mut next, mut seconds, mut begun, mut over, mut lost) = (start + Span::SECOND, 0, false, false, false);
    drive(&mut driver, &mut collectors, |now, collectors| {
        let [collector] = collectors else { return Wait::End };
        if now >= from && !begun {
            begun = true;
            pace.begins();
        }
        while now >= next && !over {
            seconds += 1;
            collector.take_in(now);
            collector.ledger.roll(next);
            over = !pace.second(&collector.ledger, seconds, collector.left);
            next += Span::SECOND;
        }
        lost |= !over && collector.lost_since.is_some_and(|since| now >= since + plan.reconnect);
        over |= lost || now >= until;
        if over {
            // Transactions in progress end first; then all senders are gone and the collector is
            // done.
            collector.ledger.finish(now);
            signal.raise();
            return Wait::Unbounded;
        }
        Wait::Until(next.min(until).min(if begun { until } else { from }))
    });
    let [mut collector] = collectors;
    collector.take_in(clock.now());
    collector.ledger.finish(clock.now());
    PlayOutcome { ledger: collector.ledger, lost: collector.why.filter(|_| lost) }
}

/// A message of a user.
enum Message {
    /// A transaction ended.
    Done(Box<Done>),
    /// The user lost the connection.
    Lost(Failure),
    /// The user is connected again.
    Connected,
    /// The user has stopped; if it had no connection, the last attempt failed like this.
    Left(Option<Failure>),
}

#[derive(Default)]
struct Inbox {
    messages: Vec<Message>,
    closed: bool,
}

/// Waits for messages on behalf of the collector.
struct MessageDriver {
    clock: Clock,
    receiver: Receiver<Message>,
    inbox: Rc<RefCell<Inbox>>,
}

/// Messages within this time are handled together.
const GATHER: Span = Span::from_millis(5);

impl Driver for MessageDriver {
    fn now(&self) -> Time {
        self.clock.now()
    }

    fn turn(&mut self, until: Option<Time>) -> Time {
        let wait = until.map_or(GATHER * 20, |until| until.since(self.clock.now()));
        let first = self.receiver.recv_timeout(Duration::from_nanos(wait.as_nanos()));
        let mut inbox = self.inbox.borrow_mut();
        inbox.closed |= matches!(first, Err(RecvTimeoutError::Disconnected));
        inbox.messages.extend(first.ok());
        inbox.messages.extend(self.receiver.try_iter());
        self.clock.now()
    }
}

/// An actor whose pass only collects messages.
struct Collector {
    ledger: Ledger,
    inbox: Rc<RefCell<Inbox>>,
    /// Users who have not stopped.
    left: u32,
    /// Those of them who have no connection.
    unconnected: u32,
    /// Since when none of them has one.
    lost_since: Option<Time>,
    /// The latest reason of that.
    why: Option<Failure>,
}

impl Collector {
    fn new(ledger: Ledger, inbox: Rc<RefCell<Inbox>>, users: u32) -> Collector {
        Collector { ledger, inbox, left: users, unconnected: 0, lost_since: None, why: None }
    }

    fn take_in(&mut self, now: Time) {
        for message in self.inbox.borrow_mut().messages.drain(..) {
            match message {
                Message::Done(done) => self.ledger.add(&done),
                Message::Lost(why) => {
                    self.unconnected += 1;
                    self.why = Some(why);
                }
                Message::Connected => {
                    self.unconnected -= 1;
                    self.lost_since = None;
                }
                Message::Left(why) => {
                    self.left -= 1;
                    self.unconnected -= u32::from(why.is_some());
                    self.why = why.or(self.why.take());
                }
            }
        }
        if self.unconnected > 0 && self.unconnected == self.left {
            self.lost_since.get_or_insert(now);
        }
    }
}

impl Actor for Collector {
    fn pass(&mut self, now: Time) {
        self.take_in(now);
    }

    fn next_wakeup(&self, _now: Time) -> Wakeup {
        Wakeup::External
    }

    fn is_over(&self, _now: Time) -> bool {
        self.inbox.borrow().closed
    }
}

/// The thread of a user.
struct Worker<'a, 'w, S> {
    plan: &'a UserPlan,
    number: u32,
    signal: &'w StopSignal,
    clock: Clock,
    connect: &'a (dyn Fn(u32, &'w StopSignal) -> Result<S, Failure> + Sync),
    sender: Sender<Message>,
    start: Time,
}

impl<S: Session> Worker<'_, '_, S> {
    fn work(self, session: S) {
        let plan = self.plan;
        let seed = plan.seed ^ 0x0DDE_5EED;
        let mut life = 0;
        // Another connection of the same user has another seed, which is also fixed.
        let user = |session, life: u64| {
            let number = u64::from(self.number) | (life << 32);
            User::new(session, plan.mode, (seed, number), plan.draws, plan.think)
        };
        let (mut user_now, mut left) = (user(session, life), None);
        for turn in 0..self.share() {
            let scheduled = plan.rate.map(|rate| {
                let place = turn as f64 * f64::from(plan.users) + f64::from(self.number);
                self.start + Span::from_secs_f64(place / rate)
            });
            let early = scheduled.map_or(Span::ZERO, |due| due.since(self.clock.now()));
            if self.signal.wait(early) {
                break;
            }
            let what = plan.mix.draw(user_now.chance());
            let begun = self.clock.now();
            let Performed { thought, counts, failure, unsure } = user_now.perform(what, self.date());
            let (end, due) = (self.clock.now(), scheduled.unwrap_or(begun));
            let waits = user_now.session().waits();
            let lost = failure.clone().filter(|failure| matches!(failure, Failure::Lost(_)));
            let failed = failure.is_some();
            let done = Done { what, due, begun, end, thought, waits, counts, unsure, failure };
            self.send(Message::Done(Box::new(done)));
            if let Some(lost) = lost {
                life += 1;
                match self.again(lost) {
                    Ok(session) => user_now = user(session, life),
                    Err(failure) => {
                        left = Some(failure);
                        break;
                    }
                }
            } else if failed {
                self.signal.wait(AFTER_FAILURE);
            }
            user_now.rest();
        }
        self.send(Message::Left(left));
    }

    fn send(&self, message: Message) {
        // The receiver is gone if the point was aborted.
        let _ = self.sender.send(message);
    }

    /// Number of transactions of this user: an equal part of all, rounded up for the first users.
    fn share(&self) -> u64 {
        let (users, number) = (u64::from(self.plan.users), u64::from(self.number));
        self.plan.transactions.map_or(u64::MAX, |all| all / users + u64::from(number < all % users))
    }

    fn date(&self) -> i64 {
        match self.plan.dates {
            Dates::Fixed(date) => date,
            Dates::Passing(began) => began + self.clock.now().since(self.start).as_secs_f64() as i64,
        }
    }

    /// Opens another connection for one that was lost, retrying until it succeeds or the point
    /// ends; then the last failure is returned.
    fn again(&self, mut lost: Failure) -> Result<S, Failure> {
        self.send(Message::Lost(lost.clone()));
        while !self.signal.wait(AFTER_FAILURE * 10) {
            match (self.connect)(self.number, self.signal) {
                Ok(session) => {
                    self.send(Message::Connected);
                    return Ok(session);
                }
                Err(failure) => lost = failure,
            }
        }
        Err(lost)
    }
}
