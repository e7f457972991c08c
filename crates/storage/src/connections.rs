//! The connections of a target: those in use, those being re-established, and those that were given
//! up.
//!
//! ```text
//!   Up ──lost──► Down ──found────► Up
//!     │            └──too late───► Gone
//!     └──lost, and not to be looked for──► Gone
//! ```
//! The protocol decides what happens to the requests of a lost connection. Here it is counted, in
//! [`Losses`], that a connection was lost, found again or given up.

use crate::search::Search;
use block::{Span, Time, Wakeup};
use stats::job::Losses;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// How long a request waits for memory before it is tried again.
pub(crate) const RETRY: Span = Span::from_millis(1);

/// A connection in use, with its requests.
pub(crate) trait Carrier {
    /// Why the connection was lost, once it is.
    fn loss(&self) -> Option<&Arc<str>>;
    /// Whether the connection is lost.
    fn is_lost(&self) -> bool {
        self.loss().is_some()
    }
    /// Whether it is lost and has nothing left at the kernel.
    fn is_over(&self) -> bool;
    /// Number of requests without a reply.
    fn outstanding(&self) -> usize;
    /// Whether it has work for the next turn.
    fn has_news(&self) -> bool;
    /// Starts the sends and receives that are possible.
    fn go(&mut self);
}

/// A target's connections: links `L`, and the result `C` of a search for a lost one.
pub(crate) struct Connections<L, C> {
    places: Vec<Place<L, C>>,
    losses: Rc<RefCell<Losses>>,
    /// Why the last one was lost, or not made again.
    last: Arc<str>,
}

/// The state of a connection.
enum Place<L, C> {
    Up(Box<L>),
    /// Lost at `since`; the search is given up at `until`.
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
        Connections { places, losses: Rc::default(), last: "".into() }
    }

    /// The losses so far. The counts continue to grow.
    pub(crate) fn losses(&self) -> &Rc<RefCell<Losses>> {
        &self.losses
    }

    /// The number of connections, in whatever state.
    pub(crate) fn count(&self) -> usize {
        self.places.len()
    }

    fn links(&self) -> impl Iterator<Item = &L> {
        self.places.iter().filter_map(|place| match place {
            Place::Up(link) => Some(&**link),
            _ => None,
        })
    }

    /// The links, including lost ones, which still have requests.
    pub(crate) fn links_mut(&mut self) -> impl Iterator<Item = &mut L> {
        self.places.iter_mut().filter_map(|place| match place {
            Place::Up(link) => Some(&mut **link),
            _ => None,
        })
    }

    /// The link with this number, if it can take requests.
    pub(crate) fn usable_mut(&mut self, number: usize) -> Option<&mut L> {
        match &mut self.places[number] {
            Place::Up(link) if !link.is_lost() => Some(link),
            _ => None,
        }
    }

    /// Whether any connection can take requests.
    pub(crate) fn is_up(&self) -> bool {
        self.links().any(|link| !link.is_lost())
    }

    /// Whether all of them can.
    pub(crate) fn are_all_up(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Up(link) if !link.is_lost()))
    }

    /// Whether all connections were given up.
    pub(crate) fn is_gone(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Place::Gone))
    }

    /// Why the connection that was lost last was lost, or was not made again.
    pub(crate) fn last_loss(&self) -> &Arc<str> {
        &self.last
    }

    /// Takes out a link that is over, and starts `search` in its place, for that long, or gives it
    /// up.
    pub(crate) fn take_lost(&mut self, now: Time, search: impl FnOnce() -> Option<(Search<C>, Span)>) -> Option<L> {
        let is_over = |place: &&mut Place<L, C>| matches!(place, Place::Up(link) if link.is_over());
        let place = self.places.iter_mut().find(is_over)?;
        let next = match search() {
            Some((search, reconnect)) => Place::Down { since: now, until: now + reconnect, search },
            None => Place::Gone,
        };
        let Place::Up(link) = std::mem::replace(place, next) else { return None };
        if let Some(why) = link.loss() {
            self.losses.borrow_mut().lose(why);
            self.last = Arc::clone(why);
        }
        Some(*link)
    }

    /// Makes links of connections that searches have found, and gives up searches that took too
    /// long. `link` may refuse a connection with a reason; then it is given up as well.
    pub(crate) fn adopt_found(&mut self, now: Time, mut link: impl FnMut(C) -> Result<L, String>) {
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
                    self.last = format!("{}, and no connection could be made again: {why}", self.last).into();
                    losses.given_up = Some(why);
                    Place::Gone
                }
            };
        }
    }

    /// When to look again, if that is known. `has_backlog`: requests wait for a connection or for
    /// memory.
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
