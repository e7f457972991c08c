//! The one rule on what is taken away from clients who are connected (by a delete, a restore, a smaller size): it is
//! refused unless it is forced, and then their connections end with an error before anything is changed.

use super::{Control, ControlError};
use crate::administration::{AdminError, Administration, Effect};
use crate::owner::Connected;
use crate::shard::{Order, ShardGone};
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{FileCommand, LunCommand};
use qos::ObjectKind;

/// Objects that a message names; the rest are counted.
const NAMED_MAX: usize = 3;

impl Control {
    /// Takes away from clients what effects change beneath them, or refuses because somebody is connected. Whose
    /// connections ended is told by name, for the answer.
    pub(super) fn withdraw(
        &self,
        before: &Administration,
        effects: &[Effect],
        forced: bool,
    ) -> Result<String, ControlError> {
        let objects: Vec<ObjectId> = effects.iter().filter_map(Effect::taken_from_clients).collect();
        if objects.is_empty() {
            return Ok(String::new());
        }
        match self.shard.withdraw(objects, forced)? {
            Ok(ended) => Ok(ended.iter().map(|(object, count)| told(before, *object, *count)).collect()),
            Err(connected) => Err(AdminError::Command(refusal(before, &connected)).into()),
        }
    }

    /// Clients may have again what was taken away, as far as it is there and online.
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

/// Whether it is a command that shows connections.
pub(super) fn shows_connections(line: &str) -> bool {
    let command = ontap::parse(line);
    matches!(command, Ok(Command::Lun(LunCommand::Show(_)) | Command::File(FileCommand::Show(_))))
}

fn told(before: &Administration, object: ObjectId, count: u64) -> String {
    let path = before.path_of(object).unwrap_or_default();
    tracing::warn!(export = path, connections = count, "taken away from clients");
    format!("Note: {path}: {} ended with an error.\n", connections(count))
}

fn connections(count: u64) -> String {
    if count == 1 { "1 connection".into() } else { format!("{count} connections") }
}

fn refusal(before: &Administration, connected: &Connected) -> String {
    let named = |(object, count): (&ObjectId, &u64)| {
        format!("{}: is mapped ({})", before.path_of(*object).unwrap_or_default(), connections(*count))
    };
    let mut who: Vec<String> = connected.iter().take(NAMED_MAX).map(named).collect();
    who.extend(connected.len().checked_sub(NAMED_MAX).filter(|more| *more > 0).map(|more| format!("{more} more")));
    let is_lun = |object| before.registry.object(object).is_some_and(|object| object.kind() == ObjectKind::Lun);
    let all_luns = connected.keys().all(|object| is_lun(*object));
    let end = if all_luns { "end them with `lun offline`, or give -force" } else { "or give -force" };
    format!("{}; have clients disconnect, {end}", who.join(", "))
}
