//! What a command leads to for data: told here, done by whoever has a pool.

use crate::{Answer, Snapshots, Undo};
use block::ObjectId;
use qos::Edit;
use std::collections::BTreeMap;

/// What has to happen to a LUN's or file's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is new.
    Make {
        /// Which.
        object: ObjectId,
        /// Its size in bytes.
        size: u64,
    },
    /// It has another size.
    Resize {
        /// Which.
        object: ObjectId,
        /// Its new size in bytes.
        size: u64,
        /// What it was.
        was: u64,
    },
    /// It has another name; its path is the registry's.
    Rename {
        /// Which.
        object: ObjectId,
    },
    /// It is new, and shares all that another has. Those of one command are made at one moment.
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
    /// It shares all that a snapshot has, and what it had is gone; at the same moment as
    /// [`Effect::Share`].
    Restore {
        /// Which.
        object: ObjectId,
        /// The snapshot's tree.
        from: ObjectId,
        /// Its size in bytes from now on.
        size: u64,
    },
    /// It is gone: an object, or a tree of a snapshot.
    Remove {
        /// Which.
        object: ObjectId,
    },
    /// Clients lose it, or may have it again; its data stays.
    Offer {
        /// Which.
        object: ObjectId,
        /// They may have it.
        online: bool,
    },
    /// The cache has other partitions, or of other sizes: those of [`crate::Partitions::sizes`].
    Divide,
    /// Its pages belong to another partition of the cache.
    Place {
        /// Which.
        object: ObjectId,
        /// The partition's number; 0 for the default one.
        partition: u32,
    },
    /// The folder at the top of a volume is somebody else's, or others may do something there; what
    /// is `None` stays.
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
    /// A volume has another place in its SVM's name space, or none:
    /// [`crate::Administration::junction`].
    Junction {
        /// The volume.
        object: ObjectId,
    },
}

impl Effect {
    /// The LUN or file that it takes away from clients who are connected, whole or in part: the one
    /// rule on that is [`Outcome::forced`]'s.
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

/// What a command did.
#[derive(Debug, Default)]
#[must_use = "the edits must reach the scheduler"]
pub struct Outcome {
    /// For whoever asked.
    pub answer: Answer,
    /// For the scheduler, in this order.
    pub edits: Vec<Edit>,
    /// For the store, in this order.
    pub effects: Vec<Effect>,
    /// What it takes away from clients, as it was called before.
    pub taken: BTreeMap<ObjectId, Taken>,
    /// That goes although clients are connected. Without, the command must be refused where one is.
    pub forced: bool,
    /// The way back, for whoever cannot keep what it did. It holds until the next command.
    pub undo: Undo,
}

/// A LUN or file that is taken away from clients, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its path.
    pub path: String,
    /// It is a LUN.
    pub is_lun: bool,
}
