//! A queue of requests in order of arrival, from which any can be removed early: one by its ticket,
//! or all of a LUN.

use block::Ticket;
use std::collections::VecDeque;

/// An entry of a queue.
pub(crate) trait Waits {
    /// Its ticket.
    fn ticket(&self) -> Ticket;
    /// The LUN that it is for.
    fn lun(&self) -> u32;
}

/// Requests in order of their tickets. Removing one from the middle leaves an empty place, so
/// nothing has to move: a client that goes away cancels thousands at once.
pub(crate) struct Line<T> {
    places: VecDeque<Place<T>>,
    filled: usize,
}

struct Place<T> {
    ticket: Ticket,
    queued: Option<T>,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Line { places: VecDeque::new(), filled: 0 }
    }
}

impl<T: Waits> Line<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.filled
    }

    pub(crate) fn push_back(&mut self, queued: T) {
        debug_assert!(self.places.back().is_none_or(|last| last.ticket.0 < queued.ticket().0), "in order of arrival");
        self.filled += 1;
        self.places.push_back(Place { ticket: queued.ticket(), queued: Some(queued) });
    }

    /// Puts back the request that was popped last.
    pub(crate) fn push_front(&mut self, queued: T) {
        self.filled += 1;
        self.places.push_front(Place { ticket: queued.ticket(), queued: Some(queued) });
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        loop {
            if let Some(queued) = self.places.pop_front()?.queued {
                self.filled -= 1;
                return Some(queued);
            }
        }
    }

    /// Removes a request.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<T> {
        let place = self.places.binary_search_by_key(&ticket.0, |place| place.ticket.0).ok()?;
        let queued = self.places[place].queued.take()?;
        self.filled -= 1;
        Some(queued)
    }

    /// Removes all requests of a LUN.
    pub(crate) fn take_all(&mut self, lun: u32) -> Vec<T> {
        let of_lun = |place: &mut Place<T>| place.queued.take_if(|queued| queued.lun() == lun);
        let taken: Vec<_> = self.places.iter_mut().filter_map(of_lun).collect();
        self.filled -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Waits for (u64, u32) {
        fn ticket(&self) -> Ticket {
            Ticket(self.0)
        }
        fn lun(&self) -> u32 {
            self.1
        }
    }

    #[test]
    fn those_taken_out_early_are_passed_over() {
        let mut line = Line::default();
        [(1, 7), (4, 8), (5, 7), (9, 8)].into_iter().for_each(|(ticket, lun)| line.push_back((ticket, lun)));
        assert_eq!(line.take(Ticket(4)).unwrap().0, 4);
        assert!(line.take(Ticket(4)).is_none() && line.take(Ticket(6)).is_none());
        let first = line.pop_front().unwrap();
        assert_eq!(first.0, 1);
        line.push_front(first);
        assert_eq!(line.take_all(7).iter().map(|queued| queued.0).collect::<Vec<_>>(), [1, 5]);
        assert!(!line.is_empty());
        assert_eq!(line.pop_front().unwrap().0, 9);
        assert!(line.is_empty() && line.pop_front().is_none());
    }
}
