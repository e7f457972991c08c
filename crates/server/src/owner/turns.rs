//! Who of those that wait goes on, and how much of what clients ask comes in at a time.
//!
//! A client may have asked for thousands of things at once, and another one for one. So each comes
//! in with a portion of its requests at a time, in turns, and no more than the store can begin with
//! soon: what lies before the store is done in order of arrival, and what lies in the sessions is
//! done in turns.

use super::Owner;
use crate::session::Session;
use block::Time;

/// Requests that may lie before the kernel and the page cache when others come in: what is read
/// from the page cache in one turn of the ring, 64 of 4 KiB, and as many again, so that the next
/// turn has work.
const BACKLOG: u32 = 128;

/// Sessions that are tried at a time for room, after something was given back.
const TRIED: usize = 16;

impl Owner {
    /// How many requests may come in now.
    pub(super) fn room(&self) -> u32 {
        let backlog = self.gate.inner().backlog() + self.io.untried();
        BACKLOG.saturating_sub(u32::try_from(backlog).unwrap_or(u32::MAX))
    }

    /// How many requests may come in from those who said something before those who wait for their
    /// turn had it: none if there are any of these.
    pub(super) fn open_round(&mut self) {
        self.room = if self.waiting.has_turns() { 0 } else { self.room() };
    }

    /// Lets sessions take their turns, a portion each, as long as there is room. What a floor is
    /// due comes in before, whether there is room or not: the gate can send first only what it has
    /// seen.
    pub(super) fn take_turns(&mut self, now: Time) {
        while let Some(index) = self.waiting.next_for_link(now) {
            self.room = self.room();
            self.let_go_on(now, index);
        }
        self.room = 0;
        while let Some(index) = self.waiting.next_due(|object| self.gate.is_floor_due(now, object)) {
            self.let_go_on(now, index);
        }
        self.room = self.room();
        while self.room > 0
            && let Some(index) = self.waiting.next_turn()
        {
            self.let_go_on(now, index);
        }
    }

    /// Lets those go on who wait for what others hold, as far as it was given back.
    pub(super) fn try_those_who_wait(&mut self, now: Time) {
        if std::mem::take(&mut self.freed_for_sessions) {
            for _ in 0..self.waiting.for_room().min(TRIED) {
                let Some(index) = self.waiting.next_for_room() else { break };
                self.let_go_on(now, index);
            }
        }
        while let Some(index) = self.waiting.next_for_memory(self.claims.free()) {
            self.let_go_on(now, index);
        }
    }

    /// Whether somebody may go on who was not asked since.
    pub(super) fn has_work(&self) -> bool {
        self.order.is_some()
            || self.ordered
            || self.freed_for_sessions && self.waiting.for_room() > 0
            || self.waiting.may_claim(self.claims.free())
            || self.waiting.has_turns() && self.room() > 0
            || self.freed_for_store && self.gate.inner().lacks_memory()
    }

    /// Whether somebody goes on when a reply that was handed over since the last turn is on its
    /// way: otherwise its end may be told with whatever comes next. One that was handed over
    /// earlier and is not on its way says so by itself.
    pub(super) fn is_send_awaited(&self) -> bool {
        self.send_awaited
            || self.waiting.for_room() > 0
            || self.waiting.may_claim(self.claims.free() + self.leaving)
            || self.gate.inner().lacks_memory()
            || self.stopping.is_some()
    }

    fn let_go_on(&mut self, now: Time, index: u32) {
        if let Some(Some(session)) = self.sessions.get_mut(index as usize) {
            session.listed = None;
            self.claims.starving = self.waiting.is_starving();
            self.with_session(now, index, Session::take_turn);
        }
    }
}
