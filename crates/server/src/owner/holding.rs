//! Receive coalescing: delays the receives of a client that still has replies to read, so that one
//! receive takes several requests.
//!
//! A client with many requests in flight that is slower than this thread would be served one
//! request a turn: it reads a reply and sends the next request, which is received at once, while
//! dozens of replies lie in its socket. The receive, the send and the pass of the event loop then
//! cost more than the request. So receives are held for [`HOLD`] if the client still has replies to
//! read for at least [`RUNWAY`].
//!
//! Only Unix sockets report how much the peer has not read yet. With several busy clients, or a
//! disk that is slower than the client, each turn has several requests anyway.

use crate::session::reply::Replies;
use block::{Span, Time};

/// How long receives are held: the time of a handful of requests, and several times what it takes
/// to sleep and be woken by a timer.
const HOLD: Span = Span::from_micros(40);

/// The client must have unread replies for at least this long at its present pace, so that it does
/// not run dry even if it becomes half as fast again.
const RUNWAY: Span = Span::from_micros(100);

/// Longest cycle for which receives are held. Longer ones bring several requests anyway, or the
/// client sends few.
const CYCLE_MAX: Span = Span::from_micros(80);

/// Kernel memory for a message beyond its bytes, approximately.
const MESSAGE_BYTES: u64 = 1024;

/// Turns in which the kernel is not asked again after a client had too little to read.
const SKIPPED_TURNS: u32 = 7;

/// Decides whether receives are held.
#[derive(Debug)]
pub(super) struct Holding {
    is_on: bool,
    /// The last turn in which something was received, and from which session; `None` if from
    /// several.
    at: Time,
    from: Option<u32>,
    /// Time between that turn and the one before, if both received from the same session only.
    cycle: Option<Span>,
    skipped: u32,
    holds: u64,
}

impl Holding {
    /// `is_on` if the backend can hold receives while sends complete silently.
    pub(super) fn new(is_on: bool) -> Holding {
        Holding { is_on, at: Time::ZERO, from: None, cycle: None, skipped: 0, holds: 0 }
    }

    /// Notes that something was received from a session.
    pub(super) fn heard(&mut self, now: Time, index: u32) {
        let is_same = self.from == Some(index);
        if now > self.at {
            self.cycle = is_same.then(|| now.since(self.at));
            (self.at, self.from) = (now, Some(index));
        } else if !is_same {
            self.from = None;
        }
    }

    /// The session to consider: the only one heard in this turn, and soon after it was last heard.
    pub(super) fn candidate(&self, now: Time) -> Option<u32> {
        let is_quick = self.is_on && self.at == now && self.cycle.is_some_and(|cycle| cycle < CYCLE_MAX);
        self.from.filter(|_| is_quick)
    }

    /// Until when receives are held, asked at the end of a turn that had a candidate. `replies`
    /// reports on its replies, at the cost of a system call; `None` if that is not known.
    ///
    /// A client with many requests in flight reads as much in a cycle as it is sent in one. So it
    /// takes `cycle * unread / answered` to read what it has not read yet.
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

    /// How often receives were held since this was last called.
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

    /// Replies of 4 KiB: `sent` are about to be sent, `unread` were sent one by one before.
    fn of_4_kib(sent: u64, unread: u64) -> Option<Replies> {
        Some(Replies { answered: sent * 4112, unread: unread * (4112 + MESSAGE_BYTES) })
    }

    /// The state after sessions were heard at these times.
    fn after(heard: impl IntoIterator<Item = (u64, u32)>) -> Holding {
        let mut holding = Holding::new(true);
        heard.into_iter().for_each(|(at, index)| holding.heard(us(at), index));
        holding
    }

    #[test]
    fn receives_wait_for_a_client_that_has_enough_to_read() {
        // One request in 6 us: 30 replies are read in 180 us, 16 in 96 us.
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
        // Replies to writes are small, but the kernel's memory for each of them is not.
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
