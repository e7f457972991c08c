//! Future events, ordered by (time, sequence): events at one instant happen in the order in which
//! they were noted, the same in every run.
//!
//! ```text
//!   note ─┬─ no sooner than the last of a line ──► [line] [line] ─┐
//!         └─ sooner than the last of each ───────► [heap] ────────┴─► the first of all
//! ```
//! Most waits are as long as the one before, or as that of the other kind of request: a core's work
//! on reads and on writes, a page's read, a wire's latency. Their events come in order and go to
//! one of two lines, which need no sorting. All others go to a heap, which has to move its entries
//! for each event.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use block::Time;

/// Lines beside the heap: one for each of two lengths of time.
const LINES: usize = 2;

/// The value of `Agenda::first` without events.
const NONE: (Time, usize) = (Time::MAX, LINES);

/// Future events. One at the end of time never happens.
#[derive(Debug)]
pub(crate) struct Agenda<E> {
    /// Events in order.
    lines: [VecDeque<Entry<E>>; LINES],
    /// Events that came out of order.
    heap: BinaryHeap<Reverse<Entry<E>>>,
    /// When the first event is, and in which line; [`LINES`] stands for the heap. Never without
    /// events.
    first: (Time, usize),
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
        Agenda { lines: [VecDeque::new(), VecDeque::new()], heap: BinaryHeap::new(), first: NONE, noted: 0 }
    }

    pub(crate) fn note(&mut self, at: Time, event: E) {
        let entry = Entry { at, sequence: self.noted, event };
        self.noted += 1;
        // It is noted later, so it goes behind all others of its instant.
        let line = self.lines.iter().position(|line| match line.back() {
            Some(last) => last.at <= at,
            None => true,
        });
        if at < self.first.0 {
            self.first = (at, line.unwrap_or(LINES));
        }
        match line {
            Some(line) => self.lines[line].push_back(entry),
            None => self.heap.push(Reverse(entry)),
        }
    }

    /// When the first event is; [`Time::MAX`] is never.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.first.0
    }

    /// Takes the first event if it is not after `now`.
    #[inline]
    pub(crate) fn take_due(&mut self, now: Time) -> Option<E> {
        if self.first.0 > now { None } else { self.take() }
    }

    fn take(&mut self) -> Option<E> {
        let (_, line) = self.first;
        let taken = match self.lines.get_mut(line) {
            Some(line) => line.pop_front(),
            None => self.heap.pop().map(|Reverse(entry)| entry),
        };
        self.first = self.look();
        taken.map(|entry| entry.event)
    }

    /// The time of the first event, and where it is.
    #[inline]
    fn look(&self) -> (Time, usize) {
        let [one, two] = &self.lines;
        let first = match (one.front(), two.front()) {
            (Some(one), Some(two)) if two.is_before(one) => Some((two, 1)),
            (Some(one), _) => Some((one, 0)),
            (None, two) => two.map(|two| (two, 1)),
        };
        match (first, self.heap.peek()) {
            (Some((first, _)), Some(Reverse(other))) if other.is_before(first) => (other.at, LINES),
            (Some((first, line)), _) => (first.at, line),
            (None, Some(Reverse(other))) => (other.at, LINES),
            (None, None) => NONE,
        }
    }
}

impl<E> Entry<E> {
    #[inline]
    fn is_before(&self, other: &Entry<E>) -> bool {
        self.at < other.at || self.at == other.at && self.sequence < other.sequence
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

    /// Times in any order, some taken between notes: the order is that of a sorted list of (time,
    /// order noted).
    #[test]
    fn what_comes_in_any_order_goes_in_the_order_of_time() {
        let (mut agenda, mut list, mut state) = (Agenda::new(), Vec::new(), 7u64);
        let mut now = 0;
        for number in 0..2000u64 {
            // xorshift64 (Marsaglia, 2003).
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = now + state % 20;
            agenda.note(Time::from_nanos(at), number);
            list.push((at, number));
            if state % 3 == 0 {
                now += state % 9;
                list.sort_unstable();
                let due = list.iter().take_while(|(at, _)| *at <= now).count();
                let wanted: Vec<u64> = list.drain(..due).map(|(_, number)| number).collect();
                let found: Vec<u64> = std::iter::from_fn(|| agenda.take_due(Time::from_nanos(now))).collect();
                assert_eq!(found, wanted, "at {now}");
                let next = list.iter().map(|(at, _)| Time::from_nanos(*at)).min();
                assert_eq!(agenda.next(), next.unwrap_or(Time::MAX));
            }
        }
    }
}
