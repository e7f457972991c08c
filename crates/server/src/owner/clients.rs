//! Taking objects offline for clients and back online: who is connected, and how connections end.

use super::Owner;
use crate::session::Session;
use block::{ObjectId, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Number of client connections to each LUN or file; objects without any are missing.
pub(crate) type Connected = BTreeMap<ObjectId, u64>;

impl Owner {
    /// Counts the present connections. Those that are ending do not count: they cannot change
    /// anything any more, or have disconnected.
    pub(super) fn connected(&self) -> Connected {
        let mut connected = Connected::new();
        for object in self.sessions.iter().flatten().flat_map(Session::uses) {
            *connected.entry(object).or_default() += 1;
        }
        connected
    }

    /// Takes objects offline: new connections to them are refused, and existing ones are ended.
    /// Without `force` nothing is done if anybody is connected. Check and action are one step, so
    /// that nobody can connect in between.
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

    /// Ends the connections that use the selected objects.
    pub(super) fn cut(&mut self, now: Time, is_meant: impl Fn(ObjectId) -> bool) {
        self.each_session(now, |session, shard| {
            if session.objects().any(&is_meant) {
                session.cut(shard);
            }
        });
    }
}
