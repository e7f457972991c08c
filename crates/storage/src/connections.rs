//! The connections of one target: those that carry requests, those that are looked for, and those
//! that were given up.
//!
//! ```text
//!   Up ──lost──► Down ──found────► Up
//!     │            └──too late───► Gone
//!     └──lost, and not to be looked for──► Gone
//! ```
//! What becomes of the requests of a lost connection is the protocol's affair; that it was lost,
//! found again or given up is counted here, in [`Losses`].

use crate::search::Search;
use block::{Span, Time, Wakeup};
use stats::job::Losses;
use std::cell::RefCell;
use std::rc::Rc;

/// How long a request waits for memory before it is tried again.
pub(crate) const RETRY: Span = Span::from_millis(1);

/// One connection in use, and the requests on it.
pub(crate) trait Carrier {
    /// Whether the connection broke.
    fn is_lost(&self) -> bool;
    /// Whether it broke, and the kernel has nothing of it any more.
    fn is_over(&self) -> bool;
    /// Requests without an answer.
    fn outstanding(&self) -> usize;
    /// Whether something waits for the next turn.
    fn has_news(&self) -> bool;
    /// Gives the kernel what is there to send, and a place for what comes.
    fn go(&mut self);
}

/// A target's connections: links `L`, and what a search for a lost one finds, `C`.
pub(crate) struct Connections<L, C> {
    places: Vec<Place<L, C>>,
    losses: Rc<RefCell<Losses>>,
}

/// Where a connection is, or was.
enum Place<L, C> {
    Up(Box<L>),
    /// Lost at a time, and looked for until another.
    Down {
        since: Time,
        until: Time,
        search: Search<C>,
    },
    Gone,
}

impl<L: Carrier, C: Send + 'static> Connections<L, C> {
    pub(crate) fn new(links: Vec<L>) -> Connections<L, C> {
        let places = links.into_iter().map(|link| Place::Up(Box::new(link))).collect();
        Connections { places, losses: Rc::default() }
    }

    /// What was lost so far; it goes on counting.
    pub(crate) fn losses(&self) -> &Rc<RefCell<Losses>> {
        &self.losses
    }

    /// Connections, whether or not they are there.
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    fn links(&self) -> impl Iterator<Item = &L> {
        self.places.iter().filter_map(|place| match place {
            Place::Up(link) => Some(&**link),
            _ => None,
        })
    }

    /// Those that are there, or were until now: a lost one still has requests.
    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = &mut L> {
        self.places.iter_mut().filter_map(|place| match place {
            Place::Up(link) => Some(&mut **link),
            _ => None,
        })
    }

    /// The one of this number, if it can take requests.
    pub(crate) fn usable_mut(&mut self, number: usize) -> Option<&mut L> {
        match &mut self.places[number] {
            Place::Up(link) if !link.is_lost() => Some(link),
            _ => None,
        }
    }

    /// Whether one can take requests.
    pub(crate) fn is_up(&self) -> bool {
        self.links().any(|link| !link.is_lost())
    }

    /// Whether all can.
    pub(crate) fn are_all_up(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Up(link) if !link.is_lost()))
    }

    /// Whether there is none, and none is looked for.
    pub(crate) fn is_gone(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Gone))
    }

    /// Takes out a link that is over. In its place is `search`, for so long, or nothing.
    pub(crate) fn bury(&mut self, now: Time, search: impl FnOnce() -> Option<(Search<C>, Span)>) -> Option<L> {
        let is_over = |place: &&mut Place<L, C>| matches!(place, Place::Up(link) if link.is_over());
        let place = self.places.iter_mut().find(is_over)?;
        let next = match search() {
            Some((search, reconnect)) => Place::Down { since: now, until: now + reconnect, search },
            None => Place::Gone,
        };
        let Place::Up(link) = std::mem::replace(place, next) else { return None };
        self.losses.borrow_mut().lost += 1;
        Some(*link)
    }

    /// Makes links of what searches have found, and gives up those that took too long. `link` may
    /// refuse, with the reason: then that connection is given up as well.
    pub(crate) fn regain(&mut self, now: Time, mut link: impl FnMut(C) -> Result<L, String>) {
        for place in &mut self.places {
            let Place::Down { since, until, search } = place else { continue };
            let found = match search.take() {
                Some(connection) => link(connection),
                None if now >= *until => Err(search.last.take().unwrap_or_else(|| "no answer".into())),
                None => continue,
            };
            let mut losses = self.losses.borrow_mut();
            losses.away += now.since(*since);
            *place = match found {
                Ok(link) => {
                    losses.regained += 1;
                    Place::Up(Box::new(link))
                }
                Err(why) => {
                    losses.given_up = Some(why);
                    Place::Gone
                }
            };
        }
    }

    /// When something is to be done, where that is known. `has_backlog`: requests wait for a
    /// connection or for memory.
    pub(crate) fn next_wakeup(&self, has_backlog: bool) -> Wakeup {
        if self.links().any(Carrier::has_news) {
            return Wakeup::Now;
        }
        let is_busy = has_backlog || self.links().any(|link| link.outstanding() > 0 || link.is_lost());
        let own = if is_busy { Wakeup::External } else { Wakeup::Idle };
        let ends = self.places.iter().filter_map(|place| match place {
            Place::Down { until, .. } => Some(*until),
            _ => None,
        });
        ends.fold(own, |wakeup, end| wakeup.sooner(Wakeup::At(end)))
    }
}
