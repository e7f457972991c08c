//! The tree: a node for each object, a record for each shared group, and the index from numbers to
//! slots.

use block::ObjectId;

use super::turns::Position;
use crate::edit::{GroupId, Limits};
use crate::slab::NONE;

/// The backend itself, parent of all.
pub(crate) const ROOT: u32 = 0;

/// Where a node or group with waiting work waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: it has no work, or is on its way.
    #[default]
    Out,
    /// Behind its own limit.
    Held,
    /// At its parent's turn queue; a group, at the root's.
    Parent,
    /// At its group's turn queue.
    Group,
}

/// What is on the path from a node up to the root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Something may hold requests back: a limit, a group, or turns.
    pub has_policy: bool,
    /// How many levels up the first node is that counts requests: outstanding ones for a floor, or
    /// those in flight for turns without a limit.
    pub counted_above: u8,
}

impl Path {
    /// No node on the path counts.
    pub const UNCOUNTED: u8 = u8::MAX;
}

impl Default for Path {
    fn default() -> Path {
        Path { has_policy: false, counted_above: Path::UNCOUNTED }
    }
}

/// One object. An idle one costs only this and its entry in the index. Two cache lines: the first
/// has all that a request looks at, unless its object is in a shared group.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Node {
    pub parent: u32,
    /// Slots, or [`NONE`].
    pub limit: u32,
    pub group: u32,
    pub turn_queue: u32,
    pub meter: u32,
    pub floor: u32,
    /// The first and last request of its own queue.
    pub head: u32,
    pub tail: u32,
    pub queued: u32,
    /// Requests addressed to it that have not ended.
    pub outstanding: u32,
    /// Its position in its parent's turn queue.
    pub position: Position,
    pub place: Place,
    /// The first request of its own queue has an appointment, so the queue waits nowhere.
    pub appointed: bool,
    pub path: Path,
    /// The epoch for which `path` is valid.
    pub path_epoch: u32,
    /// Its position in its group's turn queue.
    pub group_position: Position,
    pub id: ObjectId,
    /// Children that were not removed.
    pub children: u32,
    /// Removed children whose requests have not ended.
    pub lingering: u32,
    /// The number of its appointment's entry, while `appointed`.
    pub appointment: u32,
    /// How often since its last appointment its turn came and it was sent away.
    pub misses: u8,
    /// Removed; the slot is freed when the last outstanding request has ended.
    pub dead: bool,
}

impl Node {
    pub fn new(id: ObjectId, parent: u32) -> Node {
        Node {
            id,
            parent,
            children: 0,
            limit: NONE,
            group: NONE,
            turn_queue: NONE,
            meter: NONE,
            floor: NONE,
            head: NONE,
            tail: NONE,
            queued: 0,
            outstanding: 0,
            lingering: 0,
            path_epoch: 0,
            path: Path::default(),
            position: Position::default(),
            group_position: Position::default(),
            place: Place::Out,
            appointed: false,
            misses: 0,
            appointment: 0,
            dead: false,
        }
    }
}

/// One shared group.
#[derive(Debug)]
pub(crate) struct Group {
    pub id: GroupId,
    pub dead: bool,
    pub limits: Limits,
    pub limit: u32,
    pub turn_queue: u32,
    pub members: u32,
    /// Its position in the root's turn queue.
    pub position: Position,
    pub place: Place,
}

/// A node or a group: the owner of a turn queue or a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    Node(u32),
    Group(u32),
}

/// A waiter in a turn queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A child of the turn queue's node, or a member of its group.
    Node(u32),
    /// The requests addressed to the turn queue's node itself.
    Own(u32),
    /// A group, in the root's turn queue.
    Group(u32),
}

impl Waiter {
    const OWN: u32 = 1 << 31;
    const GROUP: u32 = 1 << 30;

    /// As the id of a heap's entry.
    pub fn to_bits(self) -> u32 {
        match self {
            Waiter::Node(n) => n,
            Waiter::Own(n) => n | Self::OWN,
            Waiter::Group(g) => g | Self::GROUP,
        }
    }

    pub fn from_bits(bits: u32) -> Waiter {
        match bits {
            b if b & Self::OWN != 0 => Waiter::Own(b & !Self::OWN),
            b if b & Self::GROUP != 0 => Waiter::Group(b & !Self::GROUP),
            b => Waiter::Node(b),
        }
    }
}

/// From numbers to slots, in pages of 4096 that are allocated on use. Dense numbers cost 4 bytes
/// each.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pages: Vec<Option<Box<[u32; Index::PAGE]>>>,
}

impl Index {
    const PAGE: usize = 4096;

    /// The slot of a number, [`NONE`] if it has none.
    pub fn get(&self, number: u32) -> u32 {
        let number = number as usize;
        match self.pages.get(number / Self::PAGE) {
            Some(Some(page)) => page[number % Self::PAGE],
            _ => NONE,
        }
    }

    /// Sets a number's slot; [`NONE`] removes it.
    pub fn set(&mut self, number: u32, slot: u32) {
        let number = number as usize;
        let page = number / Self::PAGE;
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page].get_or_insert_with(|| Box::new([NONE; Self::PAGE]))[number % Self::PAGE] = slot;
    }
}
