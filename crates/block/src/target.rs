//! The seam: one trait that every kind of storage implements, and the driver that waits for it.

use crate::{Bytes, Completion, Request, Time};

/// A target's name for a request it took, for [`Target::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(pub u64);

/// The answer to [`Target::submit`].
#[derive(Debug)]
#[must_use = "a full target hands the request back"]
pub enum Submitted {
    /// Exactly one completion will come.
    Taken(Ticket),
    /// No room: the request is handed back untouched. Try again after the next completion.
    Full(Request),
}

/// When a target wants to be polled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// At once: completions are ready, or there is work to do.
    Now,
    /// At this time.
    At(Time),
    /// On an event that the kernel reports to the driver.
    External,
    /// Not before the next [`Target::submit`].
    Idle,
}

impl Wakeup {
    /// The sooner of two. Of `External` and a time, the time is kept, since the driver returns on
    /// kernel events in any case.
    pub fn sooner(self, other: Wakeup) -> Wakeup {
        use Wakeup::{At, External, Idle, Now};
        match (self, other) {
            (Now, _) | (_, Now) => Now,
            (At(a), At(b)) => At(a.min(b)),
            (At(a), _) | (_, At(a)) => At(a),
            (External, _) | (_, External) => External,
            (Idle, Idle) => Idle,
        }
    }
}

/// The properties of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its size.
    pub size: Bytes,
    /// Offsets, lengths (and memory, where it matters) must be multiples of this many bytes.
    pub align: u32,
    /// The longest read or write that it takes, in bytes.
    pub longest: u32,
    /// Whether reads return data and writes store it. Simulated devices do neither.
    pub carries_data: bool,
    /// Whether it refuses writes.
    pub read_only: bool,
}

/// A kind of storage. It belongs to one worker; it never blocks and never reads a clock.
pub trait Target {
    /// Its properties.
    fn traits(&self) -> Traits;

    /// Takes a request, or hands it back. Never makes a system call.
    fn submit(&mut self, now: Time, request: Request) -> Submitted;

    /// Advances its work and appends the completions to `out`. Never blocks.
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>);

    /// When to poll again.
    fn next_wakeup(&self) -> Wakeup;

    /// Asks to end a request early, best effort. Its one completion still comes, from a later poll.
    fn cancel(&mut self, now: Time, ticket: Ticket);
}

impl<T: Target + ?Sized> Target for Box<T> {
    fn traits(&self) -> Traits {
        (**self).traits()
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        (**self).submit(now, request)
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        (**self).poll(now, out);
    }
    fn next_wakeup(&self) -> Wakeup {
        (**self).next_wakeup()
    }
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        (**self).cancel(now, ticket);
    }
}

/// Waits on behalf of a worker. On the wall clock a turn is one system call, which submits what the
/// targets prepared and waits; a virtual clock jumps to the next event.
pub trait Driver {
    /// The current time.
    fn now(&self) -> Time;

    /// Hands prepared work to the kernel, then waits for the first event, but not beyond `until`.
    /// If `until` is not after now it does not wait; with `None` it waits without a bound. Returns
    /// the time afterwards.
    fn turn(&mut self, until: Option<Time>) -> Time;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sooner_wakeup_wins_and_a_time_outlives_external() {
        let at = |ns| Wakeup::At(Time::from_nanos(ns));
        assert_eq!(Wakeup::Idle.sooner(at(5)), at(5));
        assert_eq!(at(7).sooner(at(5)), at(5));
        assert_eq!(Wakeup::External.sooner(at(5)), at(5));
        assert_eq!(at(5).sooner(Wakeup::Now), Wakeup::Now);
        assert_eq!(Wakeup::External.sooner(Wakeup::Idle), Wakeup::External);
    }
}
