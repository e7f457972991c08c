//! Receives of a client that has replies to read are put off, so that one takes several requests
//! (receive coalescing).
//!
//! A client with many requests in flight that is slower than this thread would be served one
//! request a turn: it reads a reply and asks again, and that is received at once, while dozens of
//! replies lie in its socket. A receive, a send and a look at everything for each request cost more
//! than the request. So receives are held for [`HOLD`] where the client has replies to read for
//! [`RUNWAY`] meanwhile.
//!
//! Only Unix sockets tell what their peers have not read. Where several clients ask, or a disk is
//! slower than they are, turns have more to do by themselves.

use crate::session::reply::Replies;
use block::{Span, Time};

/// How long receives are held after the last ones: a handful of requests, and several times what it
/// takes to sleep and to be woken by a timer.
const HOLD: Span = Span::from_micros(40);

/// The client must have replies for at least this long at its present pace: should it become faster
/// by half, it still does not run out of them.
const RUNWAY: Span = Span::from_micros(100);

/// Cycles that take longer bring several requests anyway, or few are asked for.
const CYCLE_MAX: Span = Span::from_micros(80);

/// Memory of the kernel for a message beside its bytes, about.
const MESSAGE_BYTES: u64 = 1024;

/// Turns in which the kernel is not asked, after a client that had too little to read.
const SKIPPED_TURNS: u32 = 7;

/// Whether receives are held.
#[derive(Debug)]
pub(super) struct Holding {
    is_on: bool,
    /// The last turn in which something came, and from which session; `None` where it was several.
    at: Time,
    from: Option<u32>,
    /// How long before it something else had come, if that was from the same session alone.
    cycle: Option<Span>,
    skipped: u32,
    holds: u64,
}

impl Holding {
    /// `is_on` where the engine can hold receives while sends end silently.
    pub(super) fn new(is_on: bool) -> Holding {
        Holding { is_on, at: Time::ZERO, from: None, cycle: None, skipped: 0, holds: 0 }
    }

    /// Something came from the session of that index.
    pub(super) fn heard(&mut self, now: Time, index: u32) {
        let is_same = self.from == Some(index);
        if now > self.at {
            self.cycle = is_same.then(|| now.since(self.at));
            (self.at, self.from) = (now, Some(index));
        } else if !is_same {
            self.from = None;
        }
    }

    /// The session that alone was heard in this turn, and soon after it was heard before.
    pub(super) fn candidate(&self, now: Time) -> Option<u32> {
        let is_quick = self.is_on && self.at == now && self.cycle.is_some_and(|cycle| cycle < CYCLE_MAX);
        self.from.filter(|_| is_quick)
    }

    /// Until when no receive begins, at the end of a turn in which there was a candidate. `replies`
    /// tells of its replies, at the cost of a system call; `None` where that is not known.
    ///
    /// A client with many requests in flight reads as much in a cycle as it is sent for one. So for
    /// what it has not read it takes `cycle * unread / answered`.
    pub(super) fn until(&mut self, now: Time, replies: impl FnOnce() -> Option<Replies>) -> Option<Time> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        let (cycle, Replies { answered, unread }) = self.cycle.zip(replies())?;
        if cycle.as_nanos() * unread < RUNWAY.as_nanos() * (answered + MESSAGE_BYTES) {
            self.skipped = SKIPPED_TURNS;
            return None;
        }
        self.holds += 1;
        Some(now + HOLD)
    }

    /// How often receives were held since this was last asked.
    pub(super) fn take_holds(&mut self) -> u64 {
        std::mem::take(&mut self.holds)
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

    /// After what was heard at these times of these sessions.
    fn after(heard: impl IntoIterator<Item = (u64, u32)>) -> Holding {
        let mut holding = Holding::new(true);
        heard.into_iter().for_each(|(at, index)| holding.heard(us(at), index));
        holding
    }

    #[test]
    fn receives_wait_for_a_client_that_has_enough_to_read() {
        // One request in 6 us, so 30 replies are read in 180 us, 16 in 96 us.
        let until = |at, replies| {
            let mut holding = after([(1000, 3), (at, 3)]);
            assert_eq!(holding.candidate(us(at)), Some(3));
            holding.until(us(at), || replies)
        };
        assert_eq!(until(1006, of_4_kib(1, 30)), Some(us(1046)));
        assert_eq!(until(1006, of_4_kib(1, 16)), None);
        // Eight in 44 us: twenty more in 110 us.
        assert_eq!(until(1044, of_4_kib(8, 20)), Some(us(1084)));
        assert_eq!(until(1044, of_4_kib(8, 12)), None);
        assert_eq!(until(1006, of_4_kib(1, 0)), None, "it waits for a reply");
        assert_eq!(until(1006, None), None, "it does not tell");
        // Answers to writes are small, and the kernel's memory for them is not.
        let writes = Replies { answered: 16, unread: 7 * (16 + MESSAGE_BYTES) };
        assert_eq!(until(1006, Some(writes)), None);
    }

    #[test]
    fn one_client_alone_is_a_candidate_where_it_asks_in_quick_succession() {
        let candidate = |heard: &[(u64, u32)], now| after(heard.iter().copied()).candidate(us(now));
        assert_eq!(candidate(&[(1000, 3), (1006, 3)], 1006), Some(3));
        assert_eq!(candidate(&[(1000, 3), (1006, 3)], 1008), None, "nobody was heard");
        assert_eq!(candidate(&[(1000, 3), (1006, 3), (1006, 4)], 1006), None, "two in a turn");
        assert_eq!(candidate(&[(1000, 3), (1000, 4), (1006, 3)], 1006), None, "two in the one before");
        assert_eq!(candidate(&[(1000, 4), (1006, 3)], 1006), None, "another one before");
        assert_eq!(candidate(&[(1000, 3), (1080, 3)], 1080), None, "after a pause");
        assert_eq!(candidate(&[(1000, 3)], 1000), None, "for the first time");
        let mut off = Holding::new(false);
        [1000, 1006].into_iter().for_each(|at| off.heard(us(at), 3));
        assert_eq!(off.candidate(us(1006)), None, "off");
    }

    #[test]
    fn the_kernel_is_not_asked_each_turn_about_a_client_without_replies_to_read() {
        let mut holding = after([(1000, 3)]);
        let mut asked = 0;
        for turn in 1..=64 {
            holding.heard(us(1000 + 6 * turn), 3);
            let held = holding.until(us(1000 + 6 * turn), || {
                asked += 1;
                of_4_kib(1, 2)
            });
            assert_eq!(held, None);
        }
        assert_eq!((asked, holding.take_holds()), (8, 0));
    }
}
