//! A line of requests in order of arrival, out of which any may be taken early: by its ticket, or all of a LUN.

use super::Queued;
use block::Ticket;
use std::collections::VecDeque;

/// Requests in order of their tickets. Taking one out of the middle leaves an empty place, so that nothing moves: a
/// client that goes away cancels thousands at once.
#[derive(Default)]
pub(super) struct Line {
    places: VecDeque<Place>,
    filled: usize,
}

struct Place {
    ticket: Ticket,
    queued: Option<Queued>,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub(super) fn push_back(&mut self, queued: Queued) {
        debug_assert!(self.places.back().is_none_or(|last| last.ticket.0 < queued.ticket.0), "in order of arrival");
        self.filled += 1;
        self.places.push_back(Place { ticket: queued.ticket, queued: Some(queued) });
    }

    /// Puts back what was popped last.
    pub(super) fn push_front(&mut self, queued: Queued) {
        self.filled += 1;
        self.places.push_front(Place { ticket: queued.ticket, queued: Some(queued) });
    }

    pub(super) fn pop_front(&mut self) -> Option<Queued> {
        loop {
            if let Some(queued) = self.places.pop_front()?.queued {
                self.filled -= 1;
                return Some(queued);
            }
        }
    }

    /// Takes a request out.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Queued> {
        let place = self.places.binary_search_by_key(&ticket.0, |place| place.ticket.0).ok()?;
        let queued = self.places[place].queued.take()?;
        self.filled -= 1;
        Some(queued)
    }

    /// Takes all requests of a LUN out.
    pub(super) fn take_all(&mut self, lun: u32) -> Vec<Queued> {
        let of_lun = |place: &mut Place| place.queued.take_if(|queued| queued.lun == lun);
        let taken: Vec<_> = self.places.iter_mut().filter_map(of_lun).collect();
        self.filled -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{ObjectId, Op, Request, Time};

    fn queued(ticket: u64, lun: u32) -> Queued {
        let request =
            Request { tag: ticket, object: ObjectId(lun), at: 0, len: 0, op: Op::Flush, fua: false, due: Time::ZERO };
        Queued { ticket: Ticket(ticket), taken: Time::ZERO, lun, by_hand: false, request }
    }

    #[test]
    fn those_taken_out_early_are_passed_over() {
        let mut line = Line::default();
        [(1, 7), (4, 8), (5, 7), (9, 8)].into_iter().for_each(|(ticket, lun)| line.push_back(queued(ticket, lun)));
        assert_eq!(line.take(Ticket(4)).unwrap().request.tag, 4);
        assert!(line.take(Ticket(4)).is_none() && line.take(Ticket(6)).is_none());
        let first = line.pop_front().unwrap();
        assert_eq!(first.request.tag, 1);
        line.push_front(first);
        assert_eq!(line.take_all(7).iter().map(|queued| queued.request.tag).collect::<Vec<_>>(), [1, 5]);
        assert!(!line.is_empty());
        assert_eq!(line.pop_front().unwrap().request.tag, 9);
        assert!(line.is_empty() && line.pop_front().is_none());
    }
}
