//! What will happen and when: a heap ordered by (time, sequence), so that what falls on one instant
//! happens in the order in which it was noted, in every run alike.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use block::Time;

/// Future events.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    noted: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> Agenda<E> {
    pub(crate) fn new() -> Agenda<E> {
        Agenda { heap: BinaryHeap::new(), noted: 0 }
    }

    pub(crate) fn note(&mut self, at: Time, event: E) {
        self.heap.push(Reverse(Entry { at, sequence: self.noted, event }));
        self.noted += 1;
    }

    /// When the first event is.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes the first event if it is not after `now`.
    pub(crate) fn take_due(&mut self, now: Time) -> Option<E> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry.event)
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Entry<E>) -> Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Entry<E>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Entry<E>) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_at_one_time_in_the_order_noted() {
        let mut agenda = Agenda::new();
        for (ns, name) in [(5, 'c'), (3, 'a'), (5, 'd'), (3, 'b')] {
            agenda.note(Time::from_nanos(ns), name);
        }
        assert_eq!(agenda.take_due(Time::from_nanos(2)), None);
        let order: String = std::iter::from_fn(|| agenda.take_due(Time::from_nanos(5))).collect();
        assert_eq!(order, "abcd");
    }
}
