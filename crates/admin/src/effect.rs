//! The effects of commands on data. They are only described here; the owner of a pool carries them
//! out.

use crate::{Answer, Snapshots, Undo};
use block::ObjectId;
use qos::Edit;
use std::collections::BTreeMap;

/// An effect on the data of a LUN, file or volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is new.
    Make {
        /// Which.
        object: ObjectId,
        /// Its size in bytes.
        size: u64,
    },
    /// It gets another size.
    Resize {
        /// Which.
        object: ObjectId,
        /// Its new size in bytes.
        size: u64,
        /// What it was.
        was: u64,
    },
    /// It gets another name, which the registry has already.
    Rename {
        /// Which.
        object: ObjectId,
    },
    /// It is new and shares all blocks of another. Those of one command are applied atomically.
    Share {
        /// Which: an object, or a tree of a snapshot.
        object: ObjectId,
        /// The other.
        from: ObjectId,
        /// Its size in bytes.
        size: u64,
        /// It belongs to a snapshot: it never changes and is not served.
        frozen: bool,
    },
    /// It gets the contents of a snapshot in place of its own, atomically with each
    /// [`Effect::Share`] of the command.
    Restore {
        /// Which.
        object: ObjectId,
        /// The snapshot's tree.
        from: ObjectId,
        /// Its size in bytes from now on.
        size: u64,
    },
    /// It is deleted: an object, or a tree of a snapshot.
    Remove {
        /// Which.
        object: ObjectId,
    },
    /// It goes offline or online for clients; its data stays.
    Offer {
        /// Which.
        object: ObjectId,
        /// Whether clients may use it.
        online: bool,
    },
    /// The partitions of the cache change to those of [`crate::Partitions::sizes`].
    Divide,
    /// Its pages belong to another partition of the cache.
    Place {
        /// Which.
        object: ObjectId,
        /// The partition's number; 0 for the default one.
        partition: u32,
    },
    /// Owner or permissions of a volume's top folder change; a field that is `None` stays.
    Permit {
        /// The volume.
        object: ObjectId,
        /// Owner.
        user: Option<u32>,
        /// Group.
        group: Option<u32>,
        /// Permissions, as Unix has them.
        mode: Option<u32>,
    },
    /// A volume's place in its SVM's name space changes or is removed:
    /// [`crate::Administration::junction`].
    Junction {
        /// The volume.
        object: ObjectId,
    },
}

impl Effect {
    /// The LUN or file that connected clients would lose, whole or in part. The rule for that is at
    /// [`Outcome::forced`].
    pub fn taken_from_clients(&self) -> Option<ObjectId> {
        match *self {
            Effect::Remove { object } => (!Snapshots::is_tree(object)).then_some(object),
            Effect::Restore { object, .. } | Effect::Offer { object, online: false } => Some(object),
            Effect::Resize { object, size, was } => (size < was).then_some(object),
            Effect::Make { .. } | Effect::Share { .. } | Effect::Rename { .. } | Effect::Offer { .. } => None,
            Effect::Divide | Effect::Place { .. } | Effect::Junction { .. } | Effect::Permit { .. } => None,
        }
    }
}

/// The outcome of a command.
#[derive(Debug, Default)]
#[must_use = "the edits must reach the scheduler"]
pub struct Outcome {
    /// The answer.
    pub answer: Answer,
    /// Edits for the scheduler, in this order.
    pub edits: Vec<Edit>,
    /// Effects for the store, in this order.
    pub effects: Vec<Effect>,
    /// The objects that clients would lose, with their paths before the command.
    pub taken: BTreeMap<ObjectId, Taken>,
    /// Whether clients may be disconnected. If not, the command must be refused when any client is
    /// connected to an object of `taken`.
    pub forced: bool,
    /// The inverse change, in case the outcome cannot be made durable. It is valid until the next
    /// command.
    pub undo: Undo,
}

/// A LUN or file that clients would lose, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its path.
    pub path: String,
    /// It is a LUN.
    pub is_lun: bool,
}
