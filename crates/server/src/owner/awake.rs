//! `latency`: how long the thread busy-polls for the next request before it sleeps.
//!
//! A client in ping-pong sends one request, waits for the reply, and sends the next. At each step
//! either the client or this thread has to be woken, which takes longer than the request. So while
//! requests complete one at a time, with no other in flight, and follow each other within [`NEAR`],
//! the thread polls instead of sleeping, until [`NEAR`] after the last completion: always with
//! `"low"`, and with `"auto"` if that takes hardly more processor time ([`Cheaper`]). If nothing
//! has come by then, the thread sleeps, and polls again only after [`ROUNDS`] such requests.
//!
//! So the cost is bounded: one processor for as long as the ping-pong lasts, and [`NEAR`] beyond.

use block::{Span, Time};

use super::cheaper::Cheaper;
use crate::starting::Latency;

/// Completions at most this far apart count as consecutive: a request that a disk serves, with the
/// round trip to the client.
pub(super) const NEAR: Span = Span::from_micros(200);

/// Requests in ping-pong before it busy-polls, so that a short exchange costs nothing.
pub(super) const ROUNDS: u32 = 8;

/// When the thread should wake up at the latest, if it waits until `until` in a turn that began at
/// `began`. A time that had passed before the turn began is the time of the wait itself, which
/// `clock` tells: the thread did not oversleep by what it was behind before.
pub(super) fn due(until: Time, began: Time, clock: impl FnOnce() -> Time) -> Time {
    if until > began { until } else { clock() }
}

/// Tracks whether a client is in ping-pong, and how long the thread has busy-polled for it.
#[derive(Debug, Default)]
pub(super) struct Awake {
    latency: Latency,
    cheaper: Cheaper,
    /// Consecutive requests in ping-pong.
    rounds: u32,
    last: Time,
    spent: Span,
}

impl Awake {
    pub(super) fn new(latency: Latency) -> Awake {
        Awake { latency, ..Awake::default() }
    }

    /// Notes that `ended` requests completed while `others` are outstanding. `cpu` returns the
    /// thread's processor time so far.
    pub(super) fn ended(&mut self, now: Time, ended: usize, others: u64, cpu: impl FnOnce() -> Span) {
        if ended == 0 || self.latency == Latency::Normal {
            return;
        }
        let is_alone = ended == 1 && others == 0;
        let is_near = now.since(self.last) <= NEAR;
        self.rounds = if is_alone && is_near { self.rounds.saturating_add(1) } else { 0 };
        self.last = now;
        if self.latency == Latency::Auto {
            match is_alone {
                true => self.cheaper.ended(now, cpu),
                false => self.cheaper.broken(),
            }
        }
    }

    /// Until when to busy-poll; `None` to sleep.
    pub(super) fn until(&mut self, now: Time) -> Option<Time> {
        if self.rounds < ROUNDS || self.latency == Latency::Auto && !self.cheaper.waits_awake() {
            return None;
        }
        let until = self.last + NEAR;
        if until <= now {
            self.rounds = 0;
            return None;
        }
        Some(until)
    }

    /// Notes how long the thread busy-polled.
    pub(super) fn waited(&mut self, span: Span) {
        self.spent += span;
    }

    /// How long the thread busy-polled since the last call.
    pub(super) fn take_spent(&mut self) -> Span {
        std::mem::take(&mut self.spent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    /// The state after single requests completed at these times, with no others outstanding.
    fn after(ends: impl IntoIterator<Item = u64>) -> Awake {
        let mut awake = Awake::new(Latency::Low);
        ends.into_iter().for_each(|at| ended(&mut awake, at, 1, 0));
        awake
    }

    /// Notes completions while others are outstanding.
    fn ended(awake: &mut Awake, at: u64, ended: usize, others: u64) {
        awake.ended(us(at), ended, others, || Span::ZERO);
    }

    /// Twenty turns of 2 ms, each behind a deadline that passed 100 ms ago: no turn is late by more
    /// than its own wait of 1 ms.
    #[test]
    fn being_behind_is_not_oversleeping() {
        let late = |until: u64, began: u64| us(began + 2000).since(due(us(until), us(began), || us(began + 1000)));
        let turns = (0..20).map(|turn| late(100_000 + 2000 * turn, 200_000 + 2000 * turn));
        assert_eq!(turns.fold(Span::ZERO, |sum, late| sum + late), Span::from_millis(20));
        assert_eq!(late(200_500, 200_000), Span::from_micros(1500), "the deadline was still to come");
    }

    #[test]
    fn ping_pong_is_waited_for_until_it_pauses() {
        // The first of nine completions has no other shortly before it.
        let mut awake = after((0..8).map(|n| 1000 + n * 50));
        assert_eq!(awake.until(us(1350)), None, "seven rounds");
        ended(&mut awake, 1400, 1, 0);
        assert_eq!(awake.until(us(1401)), Some(us(1600)));
        ended(&mut awake, 1580, 1, 0);
        assert_eq!(awake.until(us(1581)), Some(us(1780)));
        // Nothing came: from then on it sleeps, and needs eight rounds again.
        assert_eq!(awake.until(us(1780)), None);
        (0..8).for_each(|n| ended(&mut awake, 1790 + n, 1, 0));
        assert_eq!(awake.until(us(1797)), None);
        ended(&mut awake, 1798, 1, 0);
        assert_eq!(awake.until(us(1799)), Some(us(1998)));
    }

    #[test]
    fn depth_pauses_and_a_server_that_was_not_asked_to_sleep() {
        let quick = || (0..20).map(|n| 1000 + n * 20);
        let mut awake = after(quick());
        ended(&mut awake, 1400, 2, 0);
        assert_eq!(awake.until(us(1401)), None, "two at a time");
        let mut awake = after(quick());
        ended(&mut awake, 1400, 1, 1);
        assert_eq!(awake.until(us(1401)), None, "another one waits");
        assert_eq!(after((0..20).map(|n| n * 201)).until(us(19 * 201 + 1)), None, "one by one, but slowly");
        let mut awake = Awake::new(Latency::Normal);
        quick().for_each(|at| ended(&mut awake, at, 1, 0));
        assert_eq!(awake.until(us(1381)), None, "off");
    }

    #[test]
    fn what_was_waited_is_told_once() {
        let mut awake = Awake::new(Latency::Low);
        awake.waited(Span::from_micros(5));
        awake.waited(Span::from_micros(7));
        assert_eq!((awake.take_spent(), awake.take_spent()), (Span::from_micros(12), Span::ZERO));
    }

    /// The processor time per request decides, with polling and with sleeping.
    #[test]
    fn by_itself_it_waits_awake_where_that_takes_hardly_more() {
        for (think, is_worth_it) in [(20, true), (100, false)] {
            let mut awake = Awake::new(Latency::Auto);
            let (mut now, mut cpu, mut waited) = (Time::ZERO, Span::ZERO, 0);
            for _ in 0..10_000 {
                let is_awake = awake.until(now).is_some();
                waited += u32::from(is_awake);
                // Sleeping takes longer, and 35 us of processor time.
                let (round, took) = if is_awake { (think + 10, think + 10) } else { (think + 50, 35) };
                (now, cpu) = (now + Span::from_micros(round), cpu + Span::from_micros(took));
                awake.ended(now, 1, 0, || cpu);
            }
            assert_eq!(waited > 9_000, is_worth_it, "{think} us, {waited} awake");
            assert!(is_worth_it || waited < 1_000, "{think} us, {waited} awake");
        }
    }
}
