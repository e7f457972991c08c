//! Which waiting session runs next, and how many requests are admitted at a time.
//!
//! One client may have sent thousands of requests, another one only one. So sessions admit a few
//! requests each in turn, and no more in all than the store can start soon. The store works in
//! order of arrival, so whatever waits there cannot be reordered; what waits in the sessions can.

use super::Owner;
use crate::session::Session;
use block::Time;

/// Requests that may be queued before the kernel and the page cache when more are admitted: as many
/// as one turn of the ring reads from the page cache (64 of 4 KiB), and as many again so that the
/// next turn has work.
const BACKLOG: u32 = 128;

/// Sessions that are retried in one turn after room was released.
const TRIED: usize = 16;

impl Owner {
    /// How many requests may be admitted now.
    pub(super) fn room(&self) -> u32 {
        let backlog = self.gate.inner().backlog() + self.io.untried();
        BACKLOG.saturating_sub(u32::try_from(backlog).unwrap_or(u32::MAX))
    }

    /// Sets how many requests may be admitted from sessions with new events before those that wait
    /// for their turn: none, if any session waits.
    pub(super) fn open_round(&mut self) {
        self.room = if self.waiting.has_turns() { 0 } else { self.room() };
    }

    /// Gives waiting sessions their turns while there is room. Requests that are due for a floor
    /// are admitted first, whether there is room or not: the gate can only prioritise what it has
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

    /// Runs sessions that wait for a resource, as far as it was released.
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

    /// Whether a waiting session or order could run now that was not tried since.
    pub(super) fn has_work(&self) -> bool {
        self.order.is_some()
            || self.ordered
            || self.freed_for_sessions && self.waiting.for_room() > 0
            || self.waiting.may_claim(self.claims.free())
            || self.waiting.has_turns() && self.room() > 0
            || self.freed_for_store && self.gate.inner().lacks_memory()
    }

    /// Whether anything waits for one of the sends that were started since the last turn. If not,
    /// their completions may be collected with the next event. An earlier send that has not
    /// completed raises an event of its own.
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
