//! The virtual clock: waiting costs nothing, because waiting *is* jumping.

use std::cell::Cell;
use std::rc::Rc;

use block::{Driver, Time};

/// A [`Driver`] whose turn jumps to the time asked for. Clones share one time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock {
    now: Rc<Cell<Time>>,
}

impl VirtualClock {
    /// A clock that stands at the epoch.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }
}

impl Driver for VirtualClock {
    fn now(&self) -> Time {
        self.now.get()
    }

    /// Jumps to `until`, or stays where that has passed.
    ///
    /// # Panics
    /// On `None`: no kernel will ever end that wait, so the caller has work that nobody will
    /// finish.
    fn turn(&mut self, until: Option<Time>) -> Time {
        let Some(until) = until else {
            panic!(
                "virtual time stands still at {:?}: asked to wait without a time, and nothing else can happen",
                self.now()
            );
        };
        self.now.set(self.now.get().max(until));
        self.now.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_time_and_it_never_goes_back() {
        let mut clock = VirtualClock::new();
        let other = clock.clone();
        assert_eq!(clock.turn(Some(Time::from_nanos(7))), Time::from_nanos(7));
        assert_eq!(clock.turn(Some(Time::from_nanos(3))), Time::from_nanos(7));
        assert_eq!(other.now(), Time::from_nanos(7));
    }

    #[test]
    #[should_panic(expected = "virtual time stands still")]
    fn waiting_for_nothing_is_a_broken_caller() {
        VirtualClock::new().turn(None);
    }
}
