//! Reads that have ended and whose bytes are still in the pool's file: the client's buffer only stands for them.
//!
//! Their blocks must not be given to anybody else meanwhile, so the read's pin stays until the buffer was sent or given
//! back. A pin that stays keeps freed blocks of the whole pool from being used, and how long a client takes to read is its
//! own affair; so after [`VIEW_TIME`] the bytes are copied into the buffer, as if they had been read.

use super::MappedVolumes;
use block::{Span, Time, Wakeup};
use map::Pin;
use std::collections::VecDeque;
use uring::ViewId;

/// So long a client may take before its bytes are copied. Far longer than one that reads takes for 32 MiB.
pub(super) const VIEW_TIME: Span = Span::from_millis(200);

/// The reads, the earliest first.
#[derive(Default)]
pub(super) struct Views(VecDeque<Shown>);

struct Shown {
    since: Time,
    view: ViewId,
    pin: Pin,
}

impl Views {
    /// A read has ended, and its buffer stands for its bytes.
    pub(super) fn show(&mut self, now: Time, view: ViewId, pin: Pin) {
        self.0.push_back(Shown { since: now, view, pin });
    }

    /// When something has to be copied.
    pub(super) fn next_wakeup(&self) -> Wakeup {
        self.0.front().map_or(Wakeup::Idle, |first| Wakeup::At(first.since + VIEW_TIME))
    }
}

impl MappedVolumes {
    /// Ends the pins of those that were sent, and copies those that stay too long.
    pub(super) fn end_views(&mut self, now: Time) {
        for _ in 0..self.views.0.len() {
            let Some(shown) = self.views.0.pop_front() else { return };
            let is_late = now >= shown.since + VIEW_TIME;
            match self.io.is_viewed(shown.view) && (!is_late || self.io.fetch(shown.view).is_err()) {
                // What cannot be copied cannot be sent either, and goes with its connection.
                true if is_late => self.views.show(now, shown.view, shown.pin),
                true => self.views.0.push_back(shown),
                false => self.core.unpin(shown.pin),
            }
        }
    }
}
