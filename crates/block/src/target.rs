//! The seam: one trait met by every kind of storage, and the driver that waits.

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
    /// No room: the request comes back untouched; try again after the next completion.
    Full(Request),
}

/// When a target wants to be polled again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wakeup {
    /// At once: completions are ready, or work is.
    Now,
    /// At this time.
    At(Time),
    /// When the kernel tells the driver.
    External,
    /// Not before the next submit.
    Idle,
}

impl Wakeup {
    /// The sooner of two. `External` with a time keeps the time: the driver hears the kernel in any
    /// case.
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

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its size.
    pub size: Bytes,
    /// Offsets, lengths (and memory, where it matters) must be multiples of this many bytes.
    pub align: u32,
    /// The longest read or write, in bytes.
    pub longest: u32,
    /// Whether reads return data and writes keep it. Simulated devices do not.
    pub carries_data: bool,
    /// Whether it refuses to be written.
    pub read_only: bool,
}

/// A kind of storage. One worker owns it; it never blocks and never reads a clock.
pub trait Target {
    /// What it is.
    fn traits(&self) -> Traits;

    /// Takes a request, or hands it back. Never a system call.
    fn submit(&mut self, now: Time, request: Request) -> Submitted;

    /// Moves work along and appends what has ended to `out`. Never blocks.
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>);

    /// When to poll again.
    fn next_wakeup(&self) -> Wakeup;

    /// Asks to end a request early, best effort: exactly one completion still comes, by a later
    /// poll.
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

/// Does a worker's waiting. On the wall clock one turn is one system call that submits what targets
/// prepared and waits; on the virtual clock it jumps.
pub trait Driver {
    /// The current time.
    fn now(&self) -> Time;

    /// Hands prepared work to the kernel, then returns at the first event or at `until`, whichever
    /// is sooner; with `Some` of a time not after now it only looks. `None` waits for an event
    /// alone. Returns the time afterwards.
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
