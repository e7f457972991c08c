//! Reads that have ended and whose bytes are still in the pool's file: the client's buffer only
//! stands for them.
//!
//! Their blocks must not be given to anybody else meanwhile, so the read's pin stays until the
//! buffer was sent or given back. How long a client takes to read is its own affair, and while
//! nothing was freed its pin costs nobody anything. A pin keeps freed blocks of the whole pool from
//! being used, though; so where some wait, the bytes of those that stand for longer than
//! [`VIEW_TIME`] are copied into their buffers, as if they had been read.
//!
//! Copying is work for a client that does not read, done in the time of those who do. So it is done
//! at a slow rate, unless a write waits for the blocks.

use super::MappedVolumes;
use block::{Span, Time, Wakeup};
use map::Pin;
use std::collections::VecDeque;
use uring::ViewId;

/// So long a client may take before its bytes are copied. Far longer than one that reads takes for
/// 32 MiB.
const VIEW_TIME: Span = Span::from_millis(200);

/// How often it is looked which of them were sent: each is asked, and nobody waits for the answer.
const LOOK_TIME: Span = Span::from_millis(20);

/// Bytes that are copied in a second while nobody waits for blocks: some 3 % of a processor with
/// memory that is touched first.
const COPIED_PER_SECOND: u64 = 40 << 20;

/// Bytes that are copied at a time while a write waits for blocks; one buffer in any case.
const COPIED_AT_ONCE: u64 = 2 << 20;

/// The reads, the earliest first.
#[derive(Default)]
pub(super) struct Views {
    shown: VecDeque<Shown>,
    /// When they are looked at next.
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

/// What is to be done about those that were not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Nothing waits for them.
    None,
    /// Freed blocks do.
    Blocks,
    /// A write waits for the blocks.
    Write,
}

impl Views {
    /// A read has ended, and its buffer of `len` bytes stands for its bytes.
    pub(super) fn show(&mut self, now: Time, (view, len): (ViewId, u32), pin: Pin) {
        self.shown.push_back(Shown { since: now, view, len, pin });
    }
}

impl MappedVolumes {
    /// When the views have to be looked at, or one of them copied.
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

    /// Ends the pins of those that were sent, and copies those that stay too long, if anything
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
                // What cannot be copied cannot be sent either, and goes with its connection.
                Err(_) => self.views.shown.push_back(Shown { since: now, ..shown }),
            }
            copied += u64::from(shown.len);
            self.views.copy = now + Span::SECOND * u64::from(shown.len) / COPIED_PER_SECOND;
        }
    }
}
