//! Completed reads whose bytes are still in the pool's file: the client's buffer is only a view of
//! them.
//!
//! Their blocks must not be reused meanwhile, so the read's pin stays until the buffer was sent or
//! given back. How long that takes is up to the client, and as long as nothing was freed its pin
//! does no harm. But a pin keeps freed blocks of the whole pool from being used. So if some wait,
//! the bytes of views that are older than [`VIEW_TIME`] are copied into their buffers, as if they
//! had been read.
//!
//! Copying is work for a slow client at the expense of the others. So it is done at a limited rate,
//! unless a write waits for the blocks.

use super::MappedVolumes;
use block::{Span, Time, Wakeup};
use map::Pin;
use std::collections::VecDeque;
use uring::ViewId;

/// How long a client may take before its bytes are copied: far longer than an active one takes for
/// 32 MiB.
const VIEW_TIME: Span = Span::from_millis(200);

/// How often the views are checked: each must be asked, and nobody waits for the result.
const LOOK_TIME: Span = Span::from_millis(20);

/// Bytes copied per second while no write waits: some 3 % of a processor, with memory that is
/// touched for the first time.
const COPIED_PER_SECOND: u64 = 40 << 20;

/// Bytes copied at a time while a write waits for blocks; at least one buffer.
const COPIED_AT_ONCE: u64 = 2 << 20;

/// The reads, oldest first.
#[derive(Default)]
pub(super) struct Views {
    shown: VecDeque<Shown>,
    /// When they are checked next.
    look: Time,
    /// When one may be copied next.
    copy: Time,
}

struct Shown {
    since: Time,
    view: ViewId,
    len: u32,
    pin: Pin,
}

/// What is to be done about views that were not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Nothing waits for them.
    None,
    /// Freed blocks wait for them.
    Blocks,
    /// A write waits for freed blocks.
    Write,
}

impl Views {
    /// A read has ended, and its buffer of `len` bytes is a view.
    pub(super) fn show(&mut self, now: Time, (view, len): (ViewId, u32), pin: Pin) {
        self.shown.push_back(Shown { since: now, view, len, pin });
    }
}

impl MappedVolumes {
    /// When the views must be checked next, or one of them copied.
    pub(super) fn next_look(&self) -> Wakeup {
        let Some(first) = self.views.shown.front() else { return Wakeup::Idle };
        match self.need() {
            Need::None => Wakeup::Idle,
            Need::Blocks => Wakeup::At(self.views.look),
            Need::Write => Wakeup::At(self.views.look.min(first.since + VIEW_TIME)),
        }
    }

    fn need(&self) -> Need {
        match self.core.holds_back() {
            false => Need::None,
            true if self.core.is_starved() => Need::Write,
            true => Need::Blocks,
        }
    }

    /// Ends the pins of views that were sent, and copies those that stay too long, if anything
    /// waits for their blocks.
    pub(super) fn end_views(&mut self, now: Time) {
        let need = self.need();
        if self.views.shown.is_empty() || now < self.views.look && need != Need::Write {
            return;
        }
        self.views.look = now + LOOK_TIME;
        let mut copied = 0;
        for _ in 0..self.views.shown.len() {
            let Some(shown) = self.views.shown.pop_front() else { return };
            if !self.io.is_viewed(shown.view) {
                self.core.unpin(shown.pin);
                continue;
            }
            let may_copy = match need {
                Need::None => false,
                Need::Blocks => now >= self.views.copy,
                Need::Write => copied < COPIED_AT_ONCE,
            };
            if !may_copy || now < shown.since + VIEW_TIME {
                self.views.shown.push_back(shown);
                continue;
            }
            match self.io.fetch(shown.view) {
                Ok(()) => self.core.unpin(shown.pin),
                // What cannot be copied cannot be sent either; it ends with its connection.
                Err(_) => self.views.shown.push_back(Shown { since: now, ..shown }),
            }
            copied += u64::from(shown.len);
            self.views.copy = now + Span::SECOND * u64::from(shown.len) / COPIED_PER_SECOND;
        }
    }
}
