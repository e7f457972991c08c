//! The rule for changes that take data away from connected clients (a delete, a restore, a smaller
//! size). They are refused unless forced. If forced, the connections end with an error before
//! anything is changed.

use super::{Control, ControlError};
use crate::order::Order;
use crate::owner::Connected;
use crate::shard::ShardGone;
use admin::{AdminError, Administration, Effect, EventKind, Note, Noticed, Objection, Obstacle, Taken};
use block::ObjectId;
use std::collections::BTreeMap;

/// How many objects a message names; the others are only counted.
const NAMED_MAX: usize = 3;

impl Control {
    /// Takes objects that a change affects offline for clients, or refuses because somebody is
    /// connected. Returns notes that name the clients whose connections ended, for the answer.
    pub(super) fn withdraw(&self, taken: &BTreeMap<ObjectId, Taken>, forced: bool) -> Result<Vec<Note>, ControlError> {
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        match self.shard.withdraw(taken.keys().copied().collect(), forced)? {
            Ok(ended) => Ok(ended.iter().map(|(object, count)| self.told(taken, *object, *count)).collect()),
            Err(connected) => Err(AdminError::from(refusal(taken, &connected)).into()),
        }
    }

    fn told(&self, taken: &BTreeMap<ObjectId, Taken>, object: ObjectId, connections: u64) -> Note {
        let path = taken.get(&object).map(|taken| taken.path.clone()).unwrap_or_default();
        tracing::warn!(export = path, connections, "taken away from clients");
        let note = Note::Disconnected { object, path: path.clone(), connections };
        self.events.note(Noticed::once(EventKind::ClientDisconnected, path, note.to_string()));
        note
    }

    /// Puts these objects online again, if they exist and are not offline.
    pub(super) fn offer(&self, effects: &[Effect]) -> Result<(), ShardGone> {
        let again = |effect: &Effect| match *effect {
            Effect::Offer { object, .. } => Some(object),
            effect => effect.taken_from_clients(),
        };
        let Administration { registry, offline, .. } = &self.administration;
        let is_there = |object: &ObjectId| registry.object(*object).is_some() && !offline.contains(object);
        let objects: Vec<ObjectId> = effects.iter().filter_map(again).filter(is_there).collect();
        if objects.is_empty() { Ok(()) } else { self.shard.order(Order::Offer { objects }) }
    }
}

fn connections(count: u64) -> String {
    if count == 1 { "1 connection".into() } else { format!("{count} connections") }
}

fn refusal(taken: &BTreeMap<ObjectId, Taken>, connected: &Connected) -> Objection {
    let named = |(object, count): (&ObjectId, &u64)| {
        let path = taken.get(object).map(|taken| taken.path.as_str()).unwrap_or_default();
        format!("{path}: is mapped ({})", connections(*count))
    };
    let mut who: Vec<String> = connected.iter().take(NAMED_MAX).map(named).collect();
    who.extend(connected.len().checked_sub(NAMED_MAX).filter(|more| *more > 0).map(|more| format!("{more} more")));
    let all_luns = connected.keys().all(|object| taken.get(object).is_some_and(|taken| taken.is_lun));
    let end = if all_luns { "end them with `lun offline`, or give -force" } else { "or give -force" };
    let text = format!("{}; have clients disconnect, {end}", who.join(", "));
    let first = connected.keys().next().and_then(|object| taken.get(object));
    Obstacle::Connected.told(text).about(first.map(|taken| taken.path.as_str()).unwrap_or_default())
}
