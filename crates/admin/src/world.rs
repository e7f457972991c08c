//! What a command is told of the world: when it runs, and what it may ask.

use crate::{CacheSeen, Event, FileNode, LinkSeen, Login, LoginChange, Sample, SecondSeen};
use ::history::{Figures, Slot};
use block::{Bytes, ObjectId, Span, Time};
use qos::GroupId;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The moment that a command runs at, and whom it asks.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// By the scheduler's clock.
    pub now: Time,
    /// The date of the clock's zero, in seconds since the beginning of 1970.
    pub began: u64,
    /// Asked only for what a row of the answer or a rule needs.
    pub world: &'a dyn World,
}

impl At<'_> {
    /// The date of now, in seconds since the beginning of 1970, for what is made now.
    pub fn date(&self) -> u64 {
        self.date_of(self.now)
    }

    /// The date of a time of the scheduler's clock: the same whenever it is asked for.
    pub fn date_of(&self, time: Time) -> u64 {
        self.began + time.as_nanos() / Span::SECOND.as_nanos()
    }
}

/// What the administration does not know by itself. Answers may cost something to get.
pub trait World {
    /// Bytes that a LUN or file takes now, or what clients made on a volume.
    fn used(&self, leaf: ObjectId) -> u64;

    /// What clients made on a volume; of a qtree, how much is at its top. Nothing where there are
    /// no clients.
    fn files(&self, _volume: ObjectId) -> FilesSeen {
        FilesSeen::default()
    }

    /// Whether clients made something of that name at the top of a volume or qtree: `NAME`,
    /// `QTREE/NAME`.
    fn has_file(&self, _volume: ObjectId, _path: &str) -> bool {
        false
    }

    /// The file that clients made at a path of a volume, `/FOLDER/…/NAME`.
    fn client_file(&self, _volume: ObjectId, _path: &str) -> Option<ClientFile> {
        None
    }

    /// Bytes that a file is long that clients made and that is an object.
    fn length(&self, _file: ObjectId) -> u64 {
        0
    }

    /// Bytes that would come free with each of some snapshots' trees, together.
    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64;

    /// Connections that clients have to a LUN or file.
    fn connections(&self, leaf: ObjectId) -> u64;

    /// What the gate said of the last second.
    fn sample(&self) -> Arc<Sample>;

    /// What is kept of the last day and began at a moment or later, the oldest first: of each
    /// object with all that is in it.
    fn day(&self, _since: Time) -> Vec<Arc<Slot>> {
        Vec::new()
    }

    /// What an object did with all that is in it since the server began.
    fn counted(&self, _object: ObjectId) -> Figures {
        Figures::default()
    }

    /// What an object did by the hour, with all that is in it, as far as the pool has it; hours are
    /// counted from the beginning of 1970. An error is a sentence.
    fn hours(&self, _named: &Named, _hours: Range<u64>) -> Result<Vec<HourDone>, String> {
        Ok(Vec::new())
    }

    /// The server as a whole; nothing where there is none.
    fn server(&self) -> Option<ServerSeen> {
        None
    }

    /// An identifier that nobody else has.
    fn uuid(&self) -> u128;

    /// What came of each partition of the cache since it was made, by number; `None` where there is
    /// no cache.
    fn cache(&self) -> Option<BTreeMap<u32, CacheSeen>> {
        None
    }

    /// The limits of connections and what came of them, where there are connections.
    fn link(&self) -> Option<LinkSeen> {
        None
    }

    /// The second level of the cache, where there is one.
    fn second_level(&self) -> Option<SecondSeen> {
        None
    }

    /// What the server's memory is for; nothing where there is no server.
    fn memory(&self) -> Vec<MemoryPart> {
        Vec::new()
    }

    /// The most that all of these may take together, where something tells it.
    fn memory_most(&self) -> Option<Bytes> {
        None
    }

    /// Who may log in, by name; nobody where there is no server. An error is a sentence.
    fn logins(&self) -> Result<Vec<Login>, String> {
        Ok(Vec::new())
    }

    /// Changes a user, durably; its password, where it needs one, is known there. An error is a
    /// sentence, and nothing changed.
    fn change_login(&self, _change: &LoginChange) -> Result<(), String> {
        Err("users belong to a server, and there is none here".into())
    }

    /// What the server noticed, the oldest first; nothing where there is no server.
    fn events(&self) -> Vec<Arc<Event>> {
        Vec::new()
    }

    /// The pool's name, where there is a pool.
    fn aggregate_name(&self) -> Option<String> {
        None
    }

    /// The pool's name and space, where there is a pool.
    fn aggregate(&self) -> Option<Aggregate> {
        None
    }

    /// What can still be written to a volume of `size` bytes that has `used`: no more than the pool
    /// has left, because volumes are thin.
    fn left(&self, size: u64, used: u64) -> u64 {
        let of_pool = self.aggregate().map_or(u64::MAX, |pool| pool.available);
        size.saturating_sub(used).min(of_pool)
    }
}

/// What clients made on a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesSeen {
    /// Files, folders and symbolic links.
    pub count: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Whose the folder at the top is; nothing where there are no clients.
    pub top: Option<Top>,
}

/// A file that clients made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFile {
    /// What it is in its volume's tree.
    pub node: FileNode,
    /// Bytes that it takes.
    pub used: u64,
}

/// Whose the folder at the top of a volume is, and who may do what there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Permissions, as Unix has them.
    pub mode: u32,
}

/// A server, and what was done since it began: sums of what there still is, and of everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSeen {
    /// By object, with all that is in it.
    pub counted: BTreeMap<ObjectId, Figures>,
    /// By policy group, the nearest one above; `None` where there is none.
    pub by_group: BTreeMap<Option<GroupId>, Figures>,
    /// Altogether, of what is deleted too.
    pub all: Figures,
    /// Processor time that the data thread used.
    pub cpu: Span,
    /// Time by which it went on later than it asked to.
    pub stalled: Span,
    /// Time that it waited awake for the next request of a client in ping-pong.
    pub awake: Span,
    /// How often it looked for work.
    pub turns: u64,
    /// How often receives were held, so that one takes several requests.
    pub holds: u64,
    /// Connections that are open.
    pub connections: u32,
    /// Memory that clients claim.
    pub claimed: Bytes,
    /// A flush of the pool has failed.
    pub flush_failed: bool,
    /// Additions to the hourly totals that failed.
    pub totals_failed: u64,
}

/// What some of the server's memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Its name.
    pub name: &'static str,
    /// The most that it may take; `None` where that grows with the pool.
    pub limit: Option<Bytes>,
    /// The most that it may take now, while memory is short.
    pub allowed: Option<Bytes>,
    /// What it takes.
    pub used: Bytes,
}

/// What an object and its volume are called in what is kept by the hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The object's path.
    pub path: String,
    /// Its volume's.
    pub volume: String,
}

/// What an object did in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourDone {
    /// Which, counted from the beginning of 1970.
    pub hour: u64,
    /// Seconds of it that it was served.
    pub seconds: u64,
    /// What was done.
    pub figures: Figures,
}

/// A pool, as far as its space goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its name.
    pub name: String,
    /// What its data may take, in bytes.
    pub size: u64,
    /// What they do not take of it, in bytes.
    pub available: u64,
}

/// What tests say that there is; nothing else is.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct Said {
    pub logins: Vec<Login>,
    pub day: Option<history::History>,
}

#[cfg(test)]
impl World for Said {
    fn used(&self, _: ObjectId) -> u64 {
        0
    }

    fn owned(&self, _: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        0
    }

    fn connections(&self, _: ObjectId) -> u64 {
        0
    }

    fn sample(&self) -> Arc<Sample> {
        Arc::default()
    }

    fn uuid(&self) -> u128 {
        1
    }

    fn day(&self, since: Time) -> Vec<Arc<Slot>> {
        self.day.as_ref().map_or_else(Vec::new, |day| day.since(since))
    }

    fn logins(&self) -> Result<Vec<Login>, String> {
        Ok(self.logins.clone())
    }
}

/// A world of sizes alone: no clients, no statistics.
pub(crate) struct Told<'a>(pub &'a dyn Fn(ObjectId) -> u64);

impl World for Told<'_> {
    fn used(&self, leaf: ObjectId) -> u64 {
        self.0(leaf)
    }

    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64 {
        trees.map(self.0).sum()
    }

    fn connections(&self, _: ObjectId) -> u64 {
        0
    }

    fn sample(&self) -> Arc<Sample> {
        Arc::default()
    }

    /// Nobody looks a group up by it in a run that ends with its process.
    fn uuid(&self) -> u128 {
        0
    }
}
