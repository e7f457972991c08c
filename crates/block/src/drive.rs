//! The one event loop: actors make requests, a driver waits, on the wall clock or a virtual one.
//!
//! ```text
//!   look ─► pass, pass, pass ─► hand over ─► when next? ─► turn ─┐
//!    ▲                                                           │
//!    └───────────────────────────────────────────────────────────┘
//! ```
//! An actor says what is due and when to look again; it never waits. So the same actor runs on real
//! storage and in a simulation, and the program has no other loop of this kind.

use crate::{Driver, Span, Time, Wakeup};

/// Something that makes requests to storage: a plan's host, a load job, a write-cycle machine.
pub trait Actor {
    /// Reaps what has completed and makes the requests that are due. Never waits.
    fn pass(&mut self, now: Time);

    /// When to look again, as of the pass at `now`. Asked only after every actor of the driver had
    /// its pass: one actor's poll of a shared target may have reaped completions of another.
    fn next_wakeup(&self, now: Time) -> Wakeup;

    /// Whether it has made requests that were not yet handed over.
    fn has_fresh(&self) -> bool {
        false
    }

    /// Called when the driver hands over what was made since the last call. `now` is a second
    /// reading of the clock, for actors that record when a request was made and when it was handed
    /// over.
    fn hand_over(&mut self, _now: Time) {}

    /// Whether it has finished: it will make no more requests and waits for nothing.
    fn is_over(&self, now: Time) -> bool;
}

/// Lets actors of several kinds share one driver, as references.
impl<A: Actor + ?Sized> Actor for &mut A {
    fn pass(&mut self, now: Time) {
        (**self).pass(now);
    }

    fn next_wakeup(&self, now: Time) -> Wakeup {
        (**self).next_wakeup(now)
    }

    fn has_fresh(&self) -> bool {
        (**self).has_fresh()
    }

    fn hand_over(&mut self, now: Time) {
        (**self).hand_over(now);
    }

    fn is_over(&self, now: Time) -> bool {
        (**self).is_over(now)
    }
}

/// How long the driver may wait, as the loop's owner decides before each pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Wait at most until this time, then ask the owner again.
    Until(Time),
    /// Wait until an actor needs to run; the owner sets no bound.
    Unbounded,
    /// Another thread wakes the driver about every `tick`, so no timer is armed for what is two
    /// ticks away or further.
    Woken {
        /// The interval between two wake-ups.
        tick: Span,
    },
    /// The pass that follows is the last.
    End,
}

/// Drives `actors` until all of them are over or `look` ends it; returns the time of the last pass.
///
/// `look` is called before each pass and may change the actors. Orders from other threads come in
/// there.
pub fn drive<A: Actor>(
    driver: &mut (impl Driver + ?Sized),
    actors: &mut [A],
    mut look: impl FnMut(Time, &mut [A]) -> Wait,
) -> Time {
    let mut now = driver.now();
    loop {
        let wait = look(now, actors);
        actors.iter_mut().for_each(|actor| actor.pass(now));
        if wait == Wait::End || actors.iter().all(|actor| actor.is_over(now)) {
            return now;
        }
        if actors.iter().any(Actor::has_fresh) {
            let handed = driver.now();
            actors.iter_mut().for_each(|actor| actor.hand_over(handed));
        }
        let wakeup = actors.iter().fold(Wakeup::Idle, |soonest, actor| soonest.sooner(actor.next_wakeup(now)));
        now = driver.turn(until(now, wakeup, wait));
    }
}

/// Until when the driver may wait; `None` for no bound.
fn until(now: Time, wakeup: Wakeup, wait: Wait) -> Option<Time> {
    match (wakeup, wait) {
        (Wakeup::Now, _) | (_, Wait::End) => Some(now),
        (Wakeup::At(at), Wait::Until(end)) => Some(at.min(end)),
        (Wakeup::External | Wakeup::Idle, Wait::Until(end)) => Some(end),
        (Wakeup::At(at), Wait::Unbounded) => Some(at),
        (Wakeup::At(at), Wait::Woken { tick }) if at < now + tick * 2 => Some(at),
        (Wakeup::At(_) | Wakeup::External | Wakeup::Idle, Wait::Unbounded | Wait::Woken { .. }) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// A virtual clock that jumps to the end of each wait (100 ms if it has none) and records the
    /// waits.
    #[derive(Default)]
    struct Jumping(Time, Vec<Option<Time>>);

    impl Driver for Jumping {
        fn now(&self) -> Time {
            self.0
        }
        fn turn(&mut self, until: Option<Time>) -> Time {
            self.1.push(until);
            self.0 = self.0.max(until.unwrap_or(self.0 + Span::from_millis(100)));
            self.0
        }
    }

    /// Runs every `every`, for `left` passes. `mail` counts the messages that one actor has left
    /// for the other.
    struct Clockwork {
        every: Span,
        next: Time,
        left: u32,
        mail: Rc<RefCell<u32>>,
        reads_mail: bool,
        seen: Vec<Time>,
        handed: u32,
    }

    impl Actor for Clockwork {
        fn pass(&mut self, now: Time) {
            if self.reads_mail {
                *self.mail.borrow_mut() = 0;
            }
            if now >= self.next && self.left > 0 {
                self.seen.push(now);
                self.left -= 1;
                self.next = now + self.every;
                *self.mail.borrow_mut() += u32::from(!self.reads_mail);
            }
        }
        fn next_wakeup(&self, _now: Time) -> Wakeup {
            let mail = self.reads_mail && *self.mail.borrow() > 0;
            if mail { Wakeup::Now } else { Wakeup::At(self.next) }
        }
        fn has_fresh(&self) -> bool {
            self.seen.len() as u32 > self.handed
        }
        fn hand_over(&mut self, _now: Time) {
            self.handed = self.seen.len() as u32;
        }
        fn is_over(&self, _now: Time) -> bool {
            self.left == 0
        }
    }

    fn clockwork(every_ms: u64, passes: u32, mail: &Rc<RefCell<u32>>, reads_mail: bool) -> Clockwork {
        let (next, mail) = (Time::ZERO, Rc::clone(mail));
        Clockwork { every: Span::from_millis(every_ms), next, left: passes, mail, reads_mail, seen: vec![], handed: 0 }
    }

    #[test]
    fn every_actor_is_looked_at_when_it_said_and_all_end() {
        let (mut clock, mail) = (Jumping::default(), Rc::default());
        let mut actors = [clockwork(3, 3, &mail, true), clockwork(5, 2, &mail, false)];
        let end = drive(&mut clock, &mut actors, |_, _| Wait::Until(at(1000)));
        assert_eq!(actors[0].seen, [at(0), at(3), at(6)]);
        assert_eq!(actors[1].seen, [at(0), at(5)]);
        assert_eq!(end, at(6));
        // What the second actor left for the first (at 0 and at 5 ms) is picked up without time
        // passing.
        assert_eq!(clock.1, [Some(at(0)), Some(at(3)), Some(at(5)), Some(at(5)), Some(at(6))]);
        // The last pass ends the loop before the hand-over, so what it made is not handed over.
        assert_eq!((actors[0].handed, actors[1].handed), (2, 2));
    }

    #[test]
    fn the_owner_may_end_it_and_says_how_long_to_wait() {
        let (mut clock, mail) = (Jumping::default(), Rc::default());
        let mut actors = [clockwork(30, 100, &mail, false)];
        let look = |now: Time, _: &mut [Clockwork]| if now >= at(50) { Wait::End } else { Wait::Until(at(50)) };
        assert_eq!(drive(&mut clock, &mut actors, look), at(50));
        assert_eq!(actors[0].seen, [at(0), at(30)]);
        assert_eq!(clock.1, [Some(at(30)), Some(at(50))]);
    }

    #[test]
    fn no_timer_is_armed_for_what_a_tick_will_show() {
        let tick = Span::from_millis(100);
        let woken = Wait::Woken { tick };
        assert_eq!(until(at(0), Wakeup::At(at(199)), woken), Some(at(199)));
        assert_eq!(until(at(0), Wakeup::At(at(200)), woken), None);
        assert_eq!(until(at(0), Wakeup::External, woken), None);
        assert_eq!(until(at(7), Wakeup::Now, woken), Some(at(7)));
        assert_eq!(until(at(7), Wakeup::Idle, Wait::Until(at(9))), Some(at(9)));
        assert_eq!(until(at(7), Wakeup::At(at(8)), Wait::Until(at(9))), Some(at(8)));
        assert_eq!(until(at(7), Wakeup::At(at(800)), Wait::Unbounded), Some(at(800)));
        assert_eq!(until(at(7), Wakeup::External, Wait::Unbounded), None);
    }
}
