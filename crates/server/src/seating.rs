//! Moves the data thread between processors as its [`Seat`] says, within those that it may use.

use crate::seat::{Move, Seat};
use block::Time;
use uring::usage;

/// With more processors than this none is tried: each try takes a period of turns, and the client would have to come to
/// the one that is tried.
const PROCESSORS_MAX: usize = 8;

/// The calling thread's place.
pub(crate) struct Seating {
    seat: Seat,
    /// Where the thread may run.
    processors: Vec<u32>,
    /// The one it is bound to.
    bound: Option<u32>,
    /// Who asked last, alone, and when.
    last: Option<(u32, Time)>,
}

impl Seating {
    /// The calling thread's; it stays where the system puts it unless `moves`.
    pub(crate) fn new(moves: bool) -> Seating {
        let processors = if moves { usage::allowed() } else { Ok(Vec::new()) };
        Seating::within(processors.unwrap_or_default())
    }

    fn within(processors: Vec<u32>) -> Seating {
        let places = if processors.len() <= PROCESSORS_MAX { processors.len() } else { 0 };
        Seating { seat: Seat::new(places), processors, bound: None, last: None }
    }

    /// The connection with this number asked, and nothing else is under way.
    #[inline]
    pub(crate) fn asked(&mut self, now: Time, connection: u32) {
        let to = match self.last.replace((connection, now)) {
            Some((before, at)) if before == connection => self.seat.turn(now, now.since(at)),
            _ => self.seat.disturb(now),
        };
        to.into_iter().for_each(|to| self.follow(to));
    }

    /// More than one thing is under way.
    #[inline]
    pub(crate) fn disturbed(&mut self, now: Time) {
        self.last = None;
        let to = self.seat.disturb(now);
        to.into_iter().for_each(|to| self.follow(to));
    }

    /// Somebody else may have bound the thread meanwhile (`taskset`); then that counts, and all begins anew within it.
    fn follow(&mut self, to: Move) {
        let Ok(found) = usage::allowed() else { return };
        let left = self.bound.as_ref().map_or(&self.processors[..], std::slice::from_ref);
        if found != left {
            *self = Seating::within(found);
            return;
        }
        let bound = match to {
            Move::To(place) => self.processors.get(place).copied(),
            Move::Free => None,
        };
        let mask = bound.as_ref().map_or(&self.processors[..], std::slice::from_ref);
        match usage::pin(mask) {
            Ok(()) => self.bound = bound,
            // A processor went: the system has freed the thread, or will. Nothing more is tried.
            Err(error) => {
                tracing::info!(%error, "the data thread stays where the system puts it");
                self.seat = Seat::new(0);
            }
        }
        tracing::debug!(processor = ?self.bound, "the data thread's place");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Span;

    /// One client asks a million times in 2 µs each where the thread is bound, and in 20 µs where it is not, until that
    /// has the wanted end; whether it had.
    fn ask(seating: &mut Seating, now: &mut Time, mut is_there: impl FnMut(&Seating) -> bool) -> bool {
        (0..1_000_000).any(|_| {
            *now += Span::from_micros(if seating.bound.is_some() { 2 } else { 20 });
            seating.asked(*now, 7);
            is_there(seating)
        })
    }

    /// What the judge says is what the system knows; what was allowed before is given back, and no more. A thread of its
    /// own, because the test's thread is bound for good by this.
    #[test]
    fn a_thread_is_moved_and_comes_back() {
        let moved = std::thread::spawn(|| {
            let all = usage::allowed().unwrap();
            let (mut seating, mut now) = (Seating::new(true), Time::ZERO);
            if !(2..=PROCESSORS_MAX).contains(&all.len()) {
                assert!(!ask(&mut seating, &mut now, |seating| seating.bound.is_some()), "there is nothing to choose");
                return eprintln!("skipped: 2 to {PROCESSORS_MAX} processors are needed, and here are {}", all.len());
            }
            assert!(ask(&mut seating, &mut now, |seating| seating.bound.is_some()));
            assert_eq!(usage::allowed().unwrap(), [seating.bound.unwrap()]);
            seating.disturbed(now);
            assert_eq!((usage::allowed().unwrap(), seating.bound), (all.clone(), None));
            // Bound again, and then by an administrator to one: that stays, whatever comes.
            assert!(ask(&mut seating, &mut now, |seating| seating.bound.is_some()));
            let other = *all.iter().find(|processor| Some(**processor) != seating.bound).unwrap();
            usage::pin(&[other]).unwrap();
            seating.disturbed(now);
            assert_eq!(usage::allowed().unwrap(), [other]);
            assert!(!ask(&mut seating, &mut now, |seating| seating.bound.is_some()));
            assert_eq!(usage::allowed().unwrap(), [other]);
        });
        moved.join().unwrap();
    }

    #[test]
    fn turned_off_it_never_moves() {
        let (mut seating, mut now) = (Seating::new(false), Time::ZERO);
        assert!(!ask(&mut seating, &mut now, |seating| seating.bound.is_some()));
    }
}
