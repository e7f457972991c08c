//! On which processor the data thread sits while it serves one client that asks one thing at a time.
//!
//! Client, server and disk then take turns, and much of a request's time goes into waking each other's processors. Where
//! one processor takes the interrupts of the disk, a server that sits there is woken sooner; where a client is alone on
//! one, a server beside it is. But it is the system that places the client, and a client that computes would stand in the
//! way, so no rule says beforehand what is best. This tries it out and keeps what is faster:
//!
//! ```text
//!   Free ── a period ──► Trying 0 ── a period ──► … Trying n ──► Seated on the best, if it beats Free
//!    ▲ ▲                                           │               │
//!    │ └── no better: rest, longer each time ──────┘               │
//!    ├──── it became slower than Free, or it is time to judge anew ┘
//!    └──── at once when anything else comes ◄── from anywhere; afterwards the best one so far is tried first
//! ```
//!
//! It decides from times that it is told; who tells it also moves the thread.

use block::{Span, Time};

/// Turns of which one mean is made. Turns differ by about a third of their mean, so it is right within 3 %.
const PERIOD: u32 = 512;
/// The same for a seat that was chosen: there is time, and leaving it for nothing costs a round.
const PERIOD_SEATED: u32 = 4 * PERIOD;
/// So many turns after a move are not counted: the thread and its client find their places.
const SETTLING: u32 = 32;
/// A longer turn is a client that paused, and tells nothing of places.
const PAUSE: Span = Span::from_millis(1);
/// With more pauses in a period the client does something else between its requests, for all we know on this processor.
const PAUSES_MOST: u32 = 8;
/// A place must be faster than none by one part in so many to be taken, and slower by as much to be left: less is noise.
const DIFFERENCE: u64 = 16;
/// The first rest after nothing was gained, or after something came between; the next one is twice as long, up to the most.
const REST_LEAST: Span = Span::from_millis(50);
const REST_MOST: Span = Span::from_secs(60);
/// A seat is judged again after so long, and each time it is confirmed twice as late, up to the most.
const TERM_LEAST: Span = Span::from_secs(2);
const TERM_MOST: Span = Span::from_secs(60);

/// Where the thread is to be from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// On this one of the places.
    To(usize),
    /// Wherever it might before.
    Free,
}

/// The judge.
pub(crate) struct Seat {
    /// How many places there are to try.
    places: usize,
    phase: Phase,
    /// Turns since the last move or period.
    turns: u32,
    /// Time of those that count.
    spent: Span,
    /// Pauses among them, which do not.
    pauses: u32,
    /// The mean turn when free, and the best place of this round with its mean.
    free: Span,
    best: Option<(usize, Span)>,
    /// Where it sat when something came between.
    kept: Option<usize>,
    rest: Span,
    term: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Free, and not judged before then.
    Resting(Time),
    /// Free, to be compared with.
    Free,
    Trying(usize),
    /// Trying the one where it sat before.
    Returning(usize),
    /// Judged again at that time.
    Seated(Time),
}

impl Seat {
    /// A judge of so many places; with fewer than two there is nothing to choose.
    pub(crate) fn new(places: usize) -> Seat {
        let phase = Phase::Free;
        let (turns, spent, pauses, free) = (0, Span::ZERO, 0, Span::ZERO);
        Seat { places, phase, turns, spent, pauses, free, best: None, kept: None, rest: REST_LEAST, term: TERM_LEAST }
    }

    /// The one client asked again, `turn` after it asked before.
    #[inline]
    pub(crate) fn turn(&mut self, now: Time, turn: Span) -> Option<Move> {
        if self.places < 2 {
            return None;
        }
        if turn > PAUSE {
            self.pauses = self.pauses.saturating_add(1);
            return if self.pauses > PAUSES_MOST { self.disturb(now) } else { None };
        }
        if let Phase::Resting(until) = self.phase {
            if now < until {
                return None;
            }
            self.enter(Phase::Free);
        }
        self.turns += 1;
        if self.turns > SETTLING {
            self.spent += turn;
        }
        let period = if let Phase::Seated(_) = self.phase { PERIOD_SEATED } else { PERIOD };
        if self.turns < SETTLING + period {
            return None;
        }
        let mean = Span::from_nanos(self.spent.as_nanos() / u64::from(period));
        self.begin_period();
        self.judge(now, mean)
    }

    /// Something else came: another client, or a second request at a time.
    #[inline]
    pub(crate) fn disturb(&mut self, now: Time) -> Option<Move> {
        match self.phase {
            Phase::Resting(_) => None,
            Phase::Free => {
                self.enter(Phase::Free);
                None
            }
            Phase::Trying(_) | Phase::Returning(_) => self.leave(now),
            Phase::Seated(_) => {
                self.kept = self.best.map(|(place, _)| place);
                self.leave(now)
            }
        }
    }

    fn judge(&mut self, now: Time, mean: Span) -> Option<Move> {
        match self.phase {
            Phase::Resting(_) => None,
            Phase::Free => {
                (self.free, self.best) = (mean, None);
                match self.kept.take() {
                    Some(place) => self.move_to(place, Phase::Returning(place)),
                    None => self.move_to(0, Phase::Trying(0)),
                }
            }
            Phase::Returning(place) => {
                if !self.is_gain(mean) {
                    return self.move_to(0, Phase::Trying(0));
                }
                self.best = Some((place, mean));
                self.choose(now)
            }
            Phase::Trying(place) => {
                if self.best.is_none_or(|(_, best)| mean < best) {
                    self.best = Some((place, mean));
                }
                match place + 1 < self.places {
                    true => self.move_to(place + 1, Phase::Trying(place + 1)),
                    false => self.choose(now),
                }
            }
            Phase::Seated(_) if mean > self.free + self.difference() => self.leave(now),
            Phase::Seated(until) if now < until => None,
            Phase::Seated(_) => {
                self.enter(Phase::Free);
                Some(Move::Free)
            }
        }
    }

    /// Sits down on the best place, if it is worth it.
    fn choose(&mut self, now: Time) -> Option<Move> {
        let Some((place, _)) = self.best.filter(|(_, mean)| self.is_gain(*mean)) else { return self.leave(now) };
        let term = self.term;
        self.term = (term + term).min(TERM_MOST);
        self.rest = REST_LEAST;
        self.move_to(place, Phase::Seated(now + term))
    }

    fn move_to(&mut self, place: usize, phase: Phase) -> Option<Move> {
        self.enter(phase);
        Some(Move::To(place))
    }

    fn leave(&mut self, now: Time) -> Option<Move> {
        self.enter(Phase::Resting(now + self.rest));
        self.rest = (self.rest + self.rest).min(REST_MOST);
        self.term = TERM_LEAST;
        Some(Move::Free)
    }

    fn is_gain(&self, mean: Span) -> bool {
        mean + self.difference() < self.free
    }

    fn difference(&self) -> Span {
        Span::from_nanos(self.free.as_nanos() / DIFFERENCE)
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.begin_period();
    }

    fn begin_period(&mut self) {
        (self.turns, self.spent, self.pauses) = (0, Span::ZERO, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client whose turn lasts so long, in microseconds, by where the server is.
    struct Client<F> {
        seat: Seat,
        now: Time,
        at: Option<usize>,
        turn_us: F,
        moves: u32,
    }

    impl<F: Fn(Time, Option<usize>) -> u64> Client<F> {
        fn new(places: usize, turn_us: F) -> Client<F> {
            Client { seat: Seat::new(places), now: Time::ZERO, at: None, turn_us, moves: 0 }
        }

        fn follow(&mut self, to: Option<Move>) {
            self.moves += u32::from(to.is_some());
            match to {
                Some(Move::To(place)) => self.at = Some(place),
                Some(Move::Free) => self.at = None,
                None => {}
            }
        }

        /// Asks for so long; returns the share of that time spent in each place, the last one free.
        fn ask(&mut self, span: Span) -> [f64; 3] {
            let (until, mut shares) = (self.now + span, [0.0; 3]);
            while self.now < until {
                let turn = Span::from_micros((self.turn_us)(self.now, self.at));
                shares[self.at.unwrap_or(2)] += turn.as_nanos() as f64 / span.as_nanos() as f64;
                self.now += turn;
                let to = self.seat.turn(self.now, turn);
                self.follow(to);
            }
            shares
        }
    }

    /// A round takes 544 turns each free (20 µs), on place 0 (19 µs) and on place 1 (10 µs): 27 ms. Then it sits on 1. The
    /// rounds of the next minute come about 2, 6, 14 and 30 s later and spend 544 × 39 µs = 21 ms elsewhere, 0.14 % in all.
    #[test]
    fn the_best_place_is_taken_and_judged_again_seldom() {
        let mut client = Client::new(2, |_, at| [19, 10, 20][at.unwrap_or(2)]);
        client.ask(Span::from_millis(30));
        assert_eq!(client.at, Some(1));
        let [_, best, free] = client.ask(Span::from_secs(60));
        assert!(best > 0.998 && free > 0.0, "{best} {free}");
    }

    /// A sixteenth is asked for: 19 µs of 20 are not enough. It rests 50 ms, 100 ms and so on, so the eleventh round of a
    /// first minute comes after some 51 s; each spends 2 × 544 × 19 µs = 21 ms in places, 0.38 % in all.
    #[test]
    fn what_gains_little_is_tried_ever_more_seldom() {
        let mut client = Client::new(2, |_, at| if at.is_some() { 19 } else { 20 });
        let [first, second, _] = client.ask(Span::from_secs(60));
        assert!((0.0034..0.0042).contains(&(first + second)), "{first} {second}");
        assert_eq!(client.at, None);
    }

    /// From the fifth second on the client computes on the same processor.
    #[test]
    fn a_seat_that_became_worse_is_left() {
        let begin = Time::ZERO + Span::from_secs(5);
        let mut client = Client::new(2, |now, at| if at.is_some() { if now < begin { 10 } else { 40 } } else { 20 });
        client.ask(Span::from_secs(5));
        assert!(client.at.is_some());
        // At most the rest of the period under way and one more: 2 × 2080 × 40 µs = 166 ms.
        client.ask(Span::from_millis(170));
        assert_eq!(client.at, None);
    }

    /// It rests for 50 ms, judges again for 544 × 20 µs = 10.9 ms, and goes back to where it sat: place 1.
    #[test]
    fn anything_else_frees_it_at_once_and_it_comes_back() {
        let mut client = Client::new(2, |_, at| [19, 10, 20][at.unwrap_or(2)]);
        client.ask(Span::from_millis(40));
        assert_eq!(client.at, Some(1));
        let to = client.seat.disturb(client.now);
        assert_eq!(to, Some(Move::Free));
        client.follow(to);
        assert_eq!(client.seat.disturb(client.now), None, "it is free already");
        client.ask(Span::from_millis(60));
        assert_eq!(client.at, None);
        client.ask(Span::from_millis(2));
        assert_eq!(client.at, Some(1));
        let moves = client.moves;
        client.ask(Span::from_secs(1));
        // The end of the trial is told as a move to the same place.
        assert_eq!((client.at, client.moves), (Some(1), moves + 1));
    }

    /// Where it sat before is no better now: all places are tried again.
    #[test]
    fn a_seat_that_is_worth_nothing_any_more_is_not_taken_again() {
        let change = Time::ZERO + Span::from_millis(40);
        let mut client = Client::new(2, |now, at| match (at, now < change) {
            (None, _) => 20,
            (Some(place), before) => {
                if (place == 1) == before {
                    10
                } else {
                    20
                }
            }
        });
        client.ask(Span::from_millis(40));
        assert_eq!(client.at, Some(1));
        let to = client.seat.disturb(client.now);
        client.follow(to);
        client.ask(Span::from_millis(120));
        assert_eq!(client.at, Some(0));
    }

    /// Eight pauses are borne, the ninth frees it.
    #[test]
    fn a_client_that_pauses_again_and_again_gets_no_seat() {
        let pauses = Time::ZERO + Span::from_millis(40);
        let mut client = Client::new(2, |now, at| if now < pauses { at.map_or(20, |_| 10) } else { 5000 });
        client.ask(Span::from_millis(40));
        assert!(client.at.is_some());
        client.ask(Span::from_millis(40));
        assert!(client.at.is_some());
        client.ask(Span::from_millis(5));
        assert_eq!(client.at, None);
    }

    /// A disturbance in the free period begins it anew, so that periods are of one client alone.
    #[test]
    fn a_period_is_of_turns_in_a_row() {
        let mut client = Client::new(2, |_, _| 10);
        for _ in 0..100 {
            // 5 ms are 500 turns, and a period takes 544.
            client.ask(Span::from_millis(5));
            assert_eq!(client.seat.disturb(client.now), None);
        }
        assert_eq!(client.moves, 0);
    }

    #[test]
    fn pauses_tell_nothing_and_one_processor_is_no_choice() {
        let mut client = Client::new(2, |_, _| 1001);
        client.ask(Span::from_secs(10));
        assert_eq!(client.moves, 0);
        let mut client = Client::new(1, |_, at| if at.is_some() { 10 } else { 20 });
        client.ask(Span::from_secs(10));
        assert_eq!(client.moves, 0);
    }
}
