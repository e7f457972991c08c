//! The trees of the maps that a command's effects touch, and the changes that are applied
//! atomically.

use admin::Effect;
use block::ObjectId;
use map::What;
use std::collections::BTreeSet;

/// The trees that effects make, remove or change.
pub(super) fn touched(effects: &[Effect]) -> BTreeSet<u32> {
    let of = |effect: &Effect| match *effect {
        Effect::Make { object, .. }
        | Effect::Resize { object, .. }
        | Effect::Share { object, .. }
        | Effect::Restore { object, .. }
        | Effect::Remove { object } => Some(object.0),
        Effect::Rename { .. } | Effect::Offer { .. } | Effect::Divide | Effect::Place { .. } => None,
        Effect::Junction { .. } | Effect::Permit { .. } => None,
    };
    let before = AtomicChanges::of(effects).before.into_iter().map(|tree| tree.0);
    effects.iter().filter_map(of).chain(before).collect()
}

/// The changes of one command that are applied atomically.
#[derive(Default)]
pub(super) struct AtomicChanges {
    pub changes: Vec<(ObjectId, What)>,
    /// Trees that hold the state before a restore, until the catalogue is written.
    pub before: Vec<ObjectId>,
    /// The changes that restore that state.
    pub back: Vec<(ObjectId, What)>,
}

impl AtomicChanges {
    pub fn of(effects: &[Effect]) -> AtomicChanges {
        let mut all = AtomicChanges::default();
        for effect in effects {
            match *effect {
                Effect::Share { object, from, frozen, .. } => {
                    all.changes.push((object, What::Share { from: from.0, frozen }));
                }
                Effect::Restore { object, from, .. } => {
                    // Numbers from the upper end, which no snapshot's tree reaches.
                    let before = ObjectId(u32::MAX - all.before.len() as u32);
                    all.changes.push((before, What::Share { from: object.0, frozen: true }));
                    all.changes.push((object, What::Restore { from: from.0 }));
                    all.before.push(before);
                    all.back.push((object, What::Restore { from: before.0 }));
                }
                Effect::Make { .. }
                | Effect::Resize { .. }
                | Effect::Rename { .. }
                | Effect::Remove { .. }
                | Effect::Offer { .. }
                | Effect::Divide
                | Effect::Place { .. }
                | Effect::Junction { .. }
                | Effect::Permit { .. } => {}
            }
        }
        all
    }
}
