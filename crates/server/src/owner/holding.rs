//! For how long a client's next requests are left in its socket, so that one receive takes several.
//!
//! A client with many requests in flight that is slower than this thread would be served one request
//! a turn: it reads a reply and asks again, and that is received at once, while dozens of replies lie
//! in its socket. A receive, a send and a look at everything for each request cost more than the
//! request. So receives wait for [`SPAN`] where the client has replies to read for [`ENOUGH`]
//! meanwhile.
//!
//! Only Unix sockets say what their peers have not read. Where several clients ask, or a disk is
//! slower than they are, turns have more to do by themselves.

use block::{Span, Time};

/// How long receives wait after the last ones: a handful of requests, and several times what it
/// takes to sleep and to be woken by a timer.
const SPAN: Span = Span::from_micros(40);

/// So long the client goes on reading at its pace, at least: should it become faster by half, it
/// still does not run out of replies.
const ENOUGH: Span = Span::from_micros(100);

/// Cycles that take longer bring several requests anyway, or few are asked for.
const CYCLE_MAX: Span = Span::from_micros(80);

/// Memory of the kernel for a message beside its bytes, about.
const MESSAGE_BYTES: u64 = 1024;

/// Turns in which nothing is asked after one in which the client had too little to read.
const RESTS: u32 = 7;

/// Replies of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replies {
    /// Bytes that are sent from this turn on.
    pub answered: u64,
    /// Memory of those that were sent before and that the client has not read, in bytes.
    pub unread: u64,
}

/// Whether receives wait.
#[derive(Debug, Default)]
pub(super) struct Holding {
    /// The last turn in which something came, and how long before it something else had come.
    at: Time,
    cycle: Span,
    /// From which session it came; `None` where it was several.
    one: Option<u32>,
    rests: u32,
}

impl Holding {
    /// Something came from the session of that index.
    pub(super) fn heard(&mut self, now: Time, index: u32) {
        if now > self.at {
            (self.cycle, self.at) = (now.since(self.at), now);
            self.one = Some(index);
        } else if self.one != Some(index) {
            self.one = None;
        }
    }

    /// Until when no receive begins, at the end of a turn. `replies` tells of a session's, at the
    /// cost of a system call; `None` where that is not known.
    ///
    /// A client with many requests in flight reads as much in a cycle as it is sent for one. So for
    /// what it has not read it takes `cycle * unread / answered`.
    pub(super) fn until(&mut self, now: Time, replies: impl FnOnce(u32) -> Option<Replies>) -> Option<Time> {
        let index = self.one.filter(|_| self.at == now && self.cycle < CYCLE_MAX)?;
        if self.rests > 0 {
            self.rests -= 1;
            return None;
        }
        let is_enough = replies(index).is_some_and(|Replies { answered, unread }| {
            self.cycle.as_nanos() * unread >= ENOUGH.as_nanos() * (answered + MESSAGE_BYTES)
        });
        if !is_enough {
            self.rests = RESTS;
            return None;
        }
        Some(now + SPAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// Replies of 4 KiB: `sent` are about to go, `unread` were sent one by one before.
    fn of_4_kib(sent: u64, unread: u64) -> Option<Replies> {
        Some(Replies { answered: sent * 4112, unread: unread * (4112 + MESSAGE_BYTES) })
    }

    /// A session heard at these two times, and what is said of its replies then.
    fn after(first: u64, then: u64, replies: Option<Replies>) -> Option<Time> {
        let mut holding = Holding::default();
        holding.heard(us(first), 3);
        assert_eq!(holding.until(us(first), |_| unreachable!("too long ago to be asked")), None);
        holding.heard(us(then), 3);
        holding.until(us(then), |index| {
            assert_eq!(index, 3);
            replies
        })
    }

    #[test]
    fn receives_wait_for_a_client_that_has_enough_to_read() {
        // One request in 6 us, so 30 replies are read in 180 us, 16 in 96 us.
        assert_eq!(after(1000, 1006, of_4_kib(1, 30)), Some(us(1046)));
        assert_eq!(after(1000, 1006, of_4_kib(1, 16)), None);
        // Eight in 44 us: twenty more in 110 us.
        assert_eq!(after(1000, 1044, of_4_kib(8, 20)), Some(us(1084)));
        assert_eq!(after(1000, 1044, of_4_kib(8, 12)), None);
    }

    #[test]
    fn nobody_waits_who_has_nothing_to_read_or_does_not_say() {
        assert_eq!(after(1000, 1006, of_4_kib(1, 0)), None);
        assert_eq!(after(1000, 1006, None), None);
        // Answers to writes are small, and the kernel's memory for them is not.
        let writes = Replies { answered: 16, unread: 7 * (16 + MESSAGE_BYTES) };
        assert_eq!(after(1000, 1006, Some(writes)), None);
    }

    #[test]
    fn a_turn_in_which_nobody_or_several_were_heard_holds_nothing() {
        let ask = |_| unreachable!("nobody is asked");
        let mut holding = Holding::default();
        [(1000, 3), (1006, 3), (1006, 4)].into_iter().for_each(|(at, index)| holding.heard(us(at), index));
        assert_eq!(holding.until(us(1006), ask), None, "two in one turn");
        assert_eq!(holding.until(us(1008), ask), None, "nobody");
        holding.heard(us(1200), 3);
        assert_eq!(holding.until(us(1200), ask), None, "after a pause");
    }

    #[test]
    fn a_client_without_replies_to_read_is_not_asked_about_each_turn() {
        let mut holding = Holding::default();
        let mut asked = 0;
        for turn in 0..64 {
            holding.heard(us(1000 + 6 * turn), 3);
            let held = holding.until(us(1000 + 6 * turn), |_| {
                asked += 1;
                of_4_kib(1, 2)
            });
            assert_eq!(held, None);
        }
        assert_eq!(asked, 8);
    }
}
