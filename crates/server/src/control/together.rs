//! The trees of the maps that the effects of one command concern, and those that are changed at one
//! moment.

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
    let before = Together::of(effects).before.into_iter().map(|tree| tree.0);
    effects.iter().filter_map(of).chain(before).collect()
}

/// What the effects of one command change at one moment.
#[derive(Default)]
pub(super) struct Together {
    pub changes: Vec<(ObjectId, What)>,
    /// Trees that hold what was there before a restore, until the catalogue has it all.
    pub before: Vec<ObjectId>,
    /// What brings that back.
    pub back: Vec<(ObjectId, What)>,
}

impl Together {
    pub fn of(effects: &[Effect]) -> Together {
        let mut all = Together::default();
        for effect in effects {
            match *effect {
                Effect::Share { object, from, frozen, .. } => {
                    all.changes.push((object, What::Share { from: from.0, frozen }));
                }
                Effect::Restore { object, from, .. } => {
                    // Numbers from the end: no snapshot's tree gets that far.
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
