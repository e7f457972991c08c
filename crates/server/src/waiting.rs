//! The sessions that wait for a resource or for their turn, and which of them runs next.
//!
//! Many sessions of clients that do not read their replies may wait here for a long time. So
//! sessions are not polled: each states in advance what it waits for.
//!
//! ```text
//!   turns    it has more requests to admit: round robin, a few each; at once if its object's floor is due
//!   memory   a number of unclaimed bytes: the longest wait first, of those for which there are enough
//!   room     in the gate or the ring, or a free slot of the slab: round robin, a few when something was released
//!   link     the time at which its bandwidth limit, or that of all connections, opens
//! ```

use block::{ObjectId, Time};
use std::collections::{BTreeSet, VecDeque};

/// What a session waits for that its own completions will not announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Its turn: it has more requests to admit.
    Turn {
        /// Its object, if that has a floor.
        floor: Option<ObjectId>,
    },
    /// Room in the gate or the ring, or a free slot of the slab.
    Room {
        /// Whether it holds no memory.
        starving: bool,
    },
    /// Unclaimed memory of the shard.
    Memory {
        /// How many bytes.
        free: u64,
        /// Whether it holds no memory.
        starving: bool,
    },
    /// The bandwidth limits of connections.
    Link {
        /// When they open again.
        until: Time,
        /// Its priority among those that wait for the same time: the lowest goes first.
        turn: u64,
    },
}

impl Wait {
    fn is_starving(self) -> bool {
        matches!(self, Wait::Room { starving: true } | Wait::Memory { starving: true, .. })
    }
}

/// All waiting sessions, by number; each is listed once.
#[derive(Default)]
pub(crate) struct Waiting {
    turns: VecDeque<Turn>,
    /// Waits for turns of sessions with a floor; their numbers order them among all turns.
    floors: VecDeque<(Turn, ObjectId)>,
    /// Number of waits for turns so far.
    count: u64,
    room: VecDeque<(u32, bool)>,
    memory: VecDeque<Claimant>,
    links: BTreeSet<(Time, u64, u32)>,
    /// No session that waits for memory can continue with less.
    least: u64,
    starving: u32,
}

/// A wait for a turn.
#[derive(Clone, Copy)]
struct Turn {
    number: u64,
    index: u32,
}

struct Claimant {
    index: u32,
    free: u64,
    starving: bool,
}

impl Waiting {
    /// Changes what a session waits for, or ends its wait. One that still waits for memory keeps
    /// its place.
    pub(crate) fn change(&mut self, index: u32, from: Option<Wait>, to: Option<Wait>) {
        self.starving -= u32::from(from.is_some_and(Wait::is_starving));
        self.starving += u32::from(to.is_some_and(Wait::is_starving));
        match (from, to) {
            (Some(Wait::Memory { .. }), Some(Wait::Memory { free, starving })) => {
                let place = self.memory.iter_mut().find(|claimant| claimant.index == index);
                place.into_iter().for_each(|place| (place.free, place.starving) = (free, starving));
                self.least = self.least.min(free);
                return;
            }
            (Some(Wait::Memory { .. }), _) => self.memory.retain(|claimant| claimant.index != index),
            (Some(Wait::Room { .. }), _) => self.room.retain(|(other, _)| *other != index),
            (Some(Wait::Turn { floor: None }), _) => self.turns.retain(|turn| turn.index != index),
            (Some(Wait::Turn { floor: Some(_) }), _) => self.floors.retain(|(turn, _)| turn.index != index),
            (Some(Wait::Link { until, turn }), _) => drop(self.links.remove(&(until, turn, index))),
            (None, _) => {}
        }
        match to {
            Some(Wait::Turn { floor }) => {
                let turn = Turn { number: self.count, index };
                self.count += 1;
                match floor {
                    None => self.turns.push_back(turn),
                    Some(object) => self.floors.push_back((turn, object)),
                }
            }
            Some(Wait::Room { starving }) => self.room.push_back((index, starving)),
            Some(Wait::Memory { free, starving }) => {
                self.least = if self.memory.is_empty() { free } else { self.least.min(free) };
                self.memory.push_back(Claimant { index, free, starving });
            }
            Some(Wait::Link { until, turn }) => drop(self.links.insert((until, turn, index))),
            None => {}
        }
    }

    /// When the first of the sessions that wait for the link can continue.
    pub(crate) fn link_opens(&self) -> Option<Time> {
        self.links.first().map(|(until, ..)| *until)
    }

    /// Removes and returns a session for which the link is open.
    pub(crate) fn next_for_link(&mut self, now: Time) -> Option<u32> {
        let (until, _, index) = *self.links.first()?;
        (until <= now).then(|| {
            self.links.pop_first();
            index
        })
    }

    /// Removes and returns the session whose turn it is.
    pub(crate) fn next_turn(&mut self) -> Option<u32> {
        let (turn, floor) = (self.turns.front(), self.floors.front().map(|(turn, _)| turn));
        match (turn, floor) {
            (Some(turn), Some(floor)) if floor.number < turn.number => {
                self.floors.pop_front().map(|(turn, _)| turn.index)
            }
            (None, Some(_)) => self.floors.pop_front().map(|(turn, _)| turn.index),
            _ => self.turns.pop_front().map(|turn| turn.index),
        }
    }

    /// Removes and returns the session that has waited longest of those whose floor is due.
    pub(crate) fn next_due(&mut self, mut is_due: impl FnMut(ObjectId) -> bool) -> Option<u32> {
        let place = self.floors.iter().position(|&(_, object)| is_due(object))?;
        self.floors.remove(place).map(|(turn, _)| turn.index)
    }

    /// Removes and returns the session that has waited longest for room, or was tried least
    /// recently.
    pub(crate) fn next_for_room(&mut self) -> Option<u32> {
        let (index, starving) = self.room.pop_front()?;
        self.starving -= u32::from(starving);
        Some(index)
    }

    /// Removes and returns the session that has waited longest of those for which `free` bytes are
    /// enough. While any session starves, those that hold memory stand back.
    pub(crate) fn next_for_memory(&mut self, free: u64) -> Option<u32> {
        if !self.may_claim(free) {
            return None;
        }
        let only_starving = self.is_starving();
        let may_go = |claimant: &Claimant| claimant.free <= free && (claimant.starving || !only_starving);
        let Some(place) = self.memory.iter().position(may_go) else {
            self.least = self.memory.iter().map(|claimant| claimant.free).min().unwrap_or(u64::MAX);
            return None;
        };
        let claimant = self.memory.remove(place)?;
        self.starving -= u32::from(claimant.starving);
        Some(claimant.index)
    }

    /// Whether a session may be able to continue with `free` bytes. A false yes is possible.
    pub(crate) fn may_claim(&self, free: u64) -> bool {
        !self.memory.is_empty() && self.least <= free
    }

    /// Number of sessions that wait for room.
    pub(crate) fn for_room(&self) -> usize {
        self.room.len()
    }

    /// Whether any session waits for its turn.
    pub(crate) fn has_turns(&self) -> bool {
        !self.turns.is_empty() || !self.floors.is_empty()
    }

    /// Whether any session that holds no memory waits.
    pub(crate) fn is_starving(&self) -> bool {
        self.starving > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(free: u64) -> Option<Wait> {
        Some(Wait::Memory { free, starving: false })
    }

    const TURN: Option<Wait> = Some(Wait::Turn { floor: None });

    /// Sessions with a floor have turns like all others, and run before them when the floor is due.
    #[test]
    fn a_floor_that_is_due_goes_before_all_turns_and_else_waits_its_own() {
        let floor = |object| Some(Wait::Turn { floor: Some(ObjectId(object)) });
        let mut waiting = Waiting::default();
        for (index, wait) in [(1, TURN), (2, floor(20)), (3, TURN), (4, floor(40)), (5, floor(50))] {
            waiting.change(index, None, wait);
        }
        assert_eq!(waiting.next_due(|_| false), None);
        assert_eq!(waiting.next_due(|object| object.0 >= 40), Some(4));
        waiting.change(5, floor(50), None);
        assert_eq!(waiting.next_due(|object| object.0 >= 40), None);
        assert_eq!([(); 4].map(|()| waiting.next_turn()), [Some(1), Some(2), Some(3), None]);
        waiting.change(6, None, floor(60));
        assert!(waiting.has_turns());
        assert_eq!(waiting.next_turn(), Some(6));
    }

    #[test]
    fn turns_go_round_and_who_ended_is_left_out() {
        let mut waiting = Waiting::default();
        (1..=3).for_each(|index| waiting.change(index, None, TURN));
        assert_eq!(waiting.next_turn(), Some(1));
        waiting.change(1, None, TURN);
        waiting.change(2, TURN, None);
        assert_eq!([(); 3].map(|()| waiting.next_turn()), [Some(3), Some(1), None]);
        assert!(!waiting.has_turns());
    }

    #[test]
    fn the_link_opens_for_each_at_its_time() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let link = |ms, turn| Some(Wait::Link { until: at(ms), turn });
        let mut waiting = Waiting::default();
        for (index, until, turn) in [(1, 30, 0), (2, 10, 9), (3, 20, 2), (4, 10, 3)] {
            waiting.change(index, None, link(until, turn));
        }
        assert_eq!((waiting.link_opens(), waiting.next_for_link(at(9))), (Some(at(10)), None));
        assert_eq!([(); 3].map(|()| waiting.next_for_link(at(10))), [Some(4), Some(2), None]);
        // One now waits for an earlier time, one ends its wait.
        waiting.change(1, link(30, 0), link(15, 0));
        waiting.change(3, link(20, 2), None);
        assert_eq!((waiting.next_for_link(at(100)), waiting.next_for_link(at(100))), (Some(1), None));
    }

    /// Only sessions for which it is enough continue, the longest wait first. If it is enough for
    /// none, none is tried.
    #[test]
    fn memory_goes_to_the_longest_wait_for_which_it_is_enough() {
        let mut waiting = Waiting::default();
        [(1, 900), (2, 500), (3, 400)].into_iter().for_each(|(index, free)| waiting.change(index, None, memory(free)));
        assert!(!waiting.may_claim(399));
        assert_eq!(waiting.next_for_memory(399), None);
        // It needs less, since some of its replies were sent meanwhile; it keeps its place.
        waiting.change(1, memory(900), memory(450));
        assert_eq!(waiting.next_for_memory(450), Some(1));
        assert_eq!(waiting.next_for_memory(450), Some(3));
        assert_eq!(waiting.next_for_memory(450), None);
        assert!(!waiting.may_claim(450), "it was looked at once");
        assert_eq!(waiting.next_for_memory(500), Some(2));
        assert!(!waiting.may_claim(u64::MAX));
    }

    #[test]
    fn who_holds_something_stands_back_while_somebody_starves() {
        let mut waiting = Waiting::default();
        waiting.change(1, None, memory(10));
        waiting.change(2, None, Some(Wait::Room { starving: true }));
        waiting.change(3, None, Some(Wait::Memory { free: 50, starving: true }));
        assert_eq!(waiting.next_for_memory(40), None);
        assert_eq!(waiting.next_for_memory(50), Some(3));
        assert_eq!(waiting.next_for_memory(50), None);
        assert_eq!((waiting.for_room(), waiting.next_for_room()), (1, Some(2)));
        assert!(!waiting.is_starving());
        assert_eq!(waiting.next_for_memory(50), Some(1));
    }
}
