//! What the administration orders of the data thread.

use crate::exports::Export;
use crate::link_meter::LinkSettings;
use crate::owner::Connected;
use crate::shard::Account;
use crate::volume_files::FollowedFile;
use admin::{CacheSeen, FilesSeen, Junction, LinkSeen, MemoryPart, SecondSeen};
use block::{Bytes, Fault, ObjectId};
use map::{Owned, What};
use qos::Edit;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::vec::IntoIter;
use store::MappedPool;
use tree::{FileTree, NodeId, SetNode};

/// An account on its way.
pub(crate) struct Accounting {
    pub objects: Vec<qos::ObjectAccount>,
    pub objects_told: bool,
    pub groups: Vec<qos::GroupAccount>,
    /// The shared group that is told next.
    pub next_group: Option<u32>,
    pub answer: Sender<Account>,
}

/// What the control asks of the shard; or what is left of it, where it takes several turns.
pub(crate) enum Order {
    /// All exports are known: let clients in.
    LetIn,
    Edit(IntoIter<Edit>),
    /// Count what each object sees, for whoever records it.
    Record,
    /// The pool's LUNs are in maps.
    Maps(Box<MappedPool>),
    Open(Export),
    /// Change a tree of the maps; the answer comes when it is durable.
    Administer {
        object: ObjectId,
        what: What,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Change several trees at one moment, or none.
    Together {
        changes: Vec<(ObjectId, What)>,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Have the maps keep what is known of the catalogue.
    Agree {
        agreed: map::Agreed,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Bytes that would come free with each of some trees of the maps, together.
    Owned {
        trees: IntoIter<ObjectId>,
        /// The one that is counted.
        owned: Option<Owned>,
        /// What was counted.
        bytes: u64,
        answer: Sender<u64>,
    },
    /// Bytes that objects take in the maps.
    Used {
        objects: IntoIter<ObjectId>,
        /// Those of the objects before.
        used: Vec<u64>,
        answer: Sender<Vec<u64>>,
    },
    Resize {
        object: ObjectId,
        size: u64,
    },
    /// A volume is there, by that name, with room for so many bytes of files, these qtrees, and
    /// these files of clients that are objects.
    Volume {
        object: ObjectId,
        svm: String,
        volume: String,
        limit: u64,
        qtrees: Vec<(ObjectId, String)>,
        files: Vec<FollowedFile>,
    },
    /// Only these files of a volume are objects.
    Follow {
        volume: ObjectId,
        files: Vec<FollowedFile>,
    },
    /// Tell what became of files that are objects: another name, or none of what is gone.
    Followed(Sender<Vec<(ObjectId, Option<String>)>>),
    /// Tell what clients made at a path of a volume, if it is a file, and the bytes that it takes.
    ClientFile {
        volume: ObjectId,
        path: String,
        answer: Sender<Option<(NodeId, u64)>>,
    },
    /// Tell how many bytes a file is long that is an object.
    Length {
        file: ObjectId,
        answer: Sender<u64>,
    },
    /// A volume has these files, and clients may have them.
    Files {
        object: ObjectId,
        tree: Box<FileTree>,
    },
    /// Set whose the folder at a volume's top is.
    SetTop {
        volume: ObjectId,
        set: SetNode,
    },
    /// Read bytes of a volume's tree.
    ReadTree {
        volume: ObjectId,
        at: u64,
        len: u64,
        answer: Sender<Result<Vec<u8>, Fault>>,
    },
    /// Have all that clients changed on a volume be durable; told when it is.
    SettleFiles {
        volume: ObjectId,
        answer: Sender<()>,
    },
    /// Tell what clients made on a volume.
    FilesSeen {
        volume: ObjectId,
        answer: Sender<FilesSeen>,
    },
    /// Tell whether a volume has its files, and they are not being read.
    HasFiles {
        volume: ObjectId,
        answer: Sender<bool>,
    },
    /// Tell whether clients made something of that name at the top of a volume.
    HasFile {
        volume: ObjectId,
        name: String,
        answer: Sender<bool>,
    },
    /// Offer it by another name; who is connected stays so.
    Rename {
        object: ObjectId,
        svm: String,
        path: String,
    },
    Close {
        object: ObjectId,
    },
    /// Divide the cache into these partitions, by number.
    Divide {
        sizes: Vec<(u32, Bytes)>,
        /// Those that have no second level.
        memory_only: Vec<u32>,
    },
    /// Tell what memory is for.
    Memory(Sender<Vec<MemoryPart>>),
    /// Keep so much in the cache at most, and unused buffers no longer than needed while memory is
    /// short.
    Limit {
        cache: Bytes,
        is_short: bool,
    },
    /// Keep an object's pages in that partition.
    Place {
        object: ObjectId,
        partition: u32,
    },
    /// A volume's place in the name space that NFS clients see.
    Join(ObjectId, Option<Junction>),
    /// Tell what came of each partition of the cache, by number.
    Cache(Sender<BTreeMap<u32, CacheSeen>>),
    /// Tell of the second level of the cache.
    SecondLevel(Sender<Option<SecondSeen>>),
    /// Limit each connection, and all together, with full credit.
    LimitLink(LinkSettings),
    /// Tell of the limits of connections.
    Link(Sender<LinkSeen>),
    /// There is so much for the pool's data, what is taken included.
    Room(Bytes),
    /// Tell what is taken of the pool's data.
    Space(Sender<Option<map::Usage>>),
    /// Tell when all orders before are done.
    Reach(Sender<()>),
    /// Tell who is connected.
    Connected(Sender<Connected>),
    /// Take them away from clients: with `force` from all, else from nobody if one is connected.
    /// Told is who was.
    Withdraw {
        objects: Vec<ObjectId>,
        force: bool,
        answer: Sender<Result<Connected, Connected>>,
    },
    /// Clients may have them again.
    Offer {
        objects: Vec<ObjectId>,
    },
    Account(Box<Accounting>),
}
