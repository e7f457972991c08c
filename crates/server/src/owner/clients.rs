//! What is taken away from clients, and given back: who is connected, and how their connections
//! end.

use super::Owner;
use crate::session::Session;
use block::{ObjectId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Connections that clients have to each LUN or file; who has none is not there.
pub(crate) type Connected = BTreeMap<ObjectId, u64>;

impl Owner {
    /// Who is connected now. A connection that is ending does not count: it can change nothing any
    /// more, or has said goodbye.
    pub(super) fn connected(&self) -> Connected {
        let mut connected = Connected::new();
        for object in self.sessions.iter().flatten().flat_map(Session::uses) {
            *connected.entry(object).or_default() += 1;
        }
        connected
    }

    /// Takes them away from clients: no new one is let in, and the connections of those who are
    /// there end. Without `force` nothing is done if anybody is there. Looking and doing are one
    /// step, so that nobody comes in between.
    pub(super) fn withdraw(&mut self, now: Time, objects: &[ObjectId], force: bool) -> Result<Connected, Connected> {
        let objects: BTreeSet<ObjectId> = objects.iter().copied().collect();
        let mut connected = self.connected();
        connected.retain(|object, _| objects.contains(object));
        if !force && !connected.is_empty() {
            return Err(connected);
        }
        objects.iter().for_each(|object| self.exports.offer(*object, false));
        self.cut(now, |object| objects.contains(&object));
        objects.iter().for_each(|object| self.files.end(now, *object, &mut self.gate, &self.io));
        Ok(connected)
    }

    /// Ends the connections to what is meant.
    pub(super) fn cut(&mut self, now: Time, is_meant: impl Fn(ObjectId) -> bool) {
        self.each_session(now, |session, around| {
            if session.objects().any(&is_meant) {
                session.cut(around);
            }
        });
    }
}
