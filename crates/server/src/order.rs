//! Orders of the administration to the data thread.

use crate::exports::Export;
use crate::link_meter::LinkSettings;
use crate::owner::Connected;
use crate::shard::Account;
use crate::volume_files::{FollowedFile, Settled};
use admin::{CacheSeen, FilesSeen, Junction, LinkSeen, MemoryPart, SecondSeen};
use block::{Bytes, Fault, ObjectId};
use map::{Owned, What};
use qos::Edit;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::vec::IntoIter;
use store::MappedPool;
use tree::{FileTree, NodeId, SetNode};

/// An account that is being collected over several turns.
pub(crate) struct Accounting {
    pub objects: Vec<qos::ObjectAccount>,
    pub objects_told: bool,
    pub groups: Vec<qos::GroupAccount>,
    /// The next shared group to collect.
    pub next_group: Option<u32>,
    pub answer: Sender<Account>,
}

/// An order of the control to the shard, or the rest of one that takes several turns.
pub(crate) enum Order {
    /// All exports are known: start to accept clients.
    LetIn,
    Edit(IntoIter<Edit>),
    /// Begin to count what each object experiences, for recording.
    Record,
    /// Serve the pool's LUNs from these maps.
    Maps(Box<MappedPool>),
    Open(Export),
    /// Change a tree of the maps; answered when the change is durable.
    Administer {
        object: ObjectId,
        what: What,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Change several trees of the maps atomically.
    ChangeAll {
        changes: Vec<(ObjectId, What)>,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Have the maps store the state of the catalogue that they agree with.
    Agree {
        agreed: map::Agreed,
        answer: Sender<Result<(), map::MapRefusal>>,
    },
    /// Count the bytes that would be freed if all of these trees were deleted together.
    Owned {
        trees: IntoIter<ObjectId>,
        /// The tree that is being counted.
        owned: Option<Owned>,
        /// Bytes of the trees counted before.
        bytes: u64,
        answer: Sender<u64>,
    },
    /// Count the bytes that objects occupy in the maps.
    Used {
        objects: IntoIter<ObjectId>,
        /// The counts of the objects before.
        used: Vec<u64>,
        answer: Sender<Vec<u64>>,
    },
    Resize {
        object: ObjectId,
        size: u64,
    },
    /// Add a volume: its name, the limit of its files in bytes, its qtrees, and those files of
    /// clients that are objects.
    Volume {
        object: ObjectId,
        svm: String,
        volume: String,
        since: u64,
        limit: u64,
        qtrees: Vec<(ObjectId, String)>,
        files: Vec<FollowedFile>,
    },
    /// Replace the set of a volume's files that are objects.
    Follow {
        volume: ObjectId,
        files: Vec<FollowedFile>,
    },
    /// Report renamed and deleted files that are objects; `None` stands for a deleted one.
    Followed(Sender<Vec<(ObjectId, Option<String>)>>),
    /// Report the node at a path of a volume and the bytes that it occupies, if it is a file.
    ClientFile {
        volume: ObjectId,
        path: String,
        answer: Sender<Option<(NodeId, u64)>>,
    },
    /// Report the length in bytes of a file that is an object.
    Length {
        file: ObjectId,
        answer: Sender<u64>,
    },
    /// Open a volume's files to clients; `None` if they are damaged.
    Files {
        object: ObjectId,
        tree: Option<Box<FileTree>>,
    },
    /// Set owner and mode of a volume's top folder.
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
    /// Make all changes that clients made on a volume durable; answered when they are, or when
    /// there is no space for them.
    SettleFiles {
        volume: ObjectId,
        answer: Sender<Settled>,
    },
    /// Report figures of the files that clients made on a volume.
    FilesSeen {
        volume: ObjectId,
        answer: Sender<FilesSeen>,
    },
    /// Report whether a volume's files are available, that is, their tree has been read.
    HasFiles {
        volume: ObjectId,
        answer: Sender<bool>,
    },
    /// Report whether clients made an entry of that name in the top folder of a volume.
    HasFile {
        volume: ObjectId,
        name: String,
        answer: Sender<bool>,
    },
    /// Offer an object by another name; existing connections stay.
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
        /// Partitions that do not use the second level.
        memory_only: Vec<u32>,
    },
    /// Report the parts of the thread's memory.
    Memory(Sender<Vec<MemoryPart>>),
    /// Limit the cache to this size. While memory is short, unused buffers are returned sooner.
    Limit {
        cache: Bytes,
        is_short: bool,
    },
    /// Keep an object's pages in that partition.
    Place {
        object: ObjectId,
        partition: u32,
    },
    /// Place a volume in the name space of NFS clients, or remove it from there.
    Join(ObjectId, Option<Junction>),
    /// Report the counters of each partition of the cache, by number.
    Cache(Sender<BTreeMap<u32, CacheSeen>>),
    /// Report the state of the cache's second level.
    SecondLevel(Sender<Option<SecondSeen>>),
    /// Set the bandwidth limits of each connection and of all together, with full credit.
    LimitLink(LinkSettings),
    /// Report the bandwidth limits and their counters.
    Link(Sender<LinkSeen>),
    /// Set the space for the pool's data, in bytes, including what is used.
    Room(Bytes),
    /// Report the space that the pool's data uses.
    Space(Sender<Option<map::Usage>>),
    /// Answer when all earlier orders have been carried out.
    Reach(Sender<()>),
    /// Report the number of connections to each object.
    Connected(Sender<Connected>),
    /// Take objects offline for clients. Without `force` nothing is done if anybody is connected.
    /// The answer has the connections to each.
    Withdraw {
        objects: Vec<ObjectId>,
        force: bool,
        answer: Sender<Result<Connected, Connected>>,
    },
    /// Let clients use these objects again.
    Offer {
        objects: Vec<ObjectId>,
    },
    Account(Box<Accounting>),
}
