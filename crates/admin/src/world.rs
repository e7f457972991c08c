//! The world as commands see it: the time, and what they may ask.

use crate::{CacheSeen, CertificateSeen, Event, FileNode, LinkSeen, Login, LoginChange, Sample, SecondSeen};
use ::history::{Figures, Slot};
use block::{Bytes, ObjectId, Span, Time};
use qos::GroupId;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The time at which a command runs, and the world that it may ask.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The time on the scheduler's clock.
    pub now: Time,
    /// The date of the clock's zero, in seconds since 1970.
    pub began: u64,
    /// Asked only for what a row of the answer or a rule needs.
    pub world: &'a dyn World,
}

impl At<'_> {
    /// The present date, in seconds since 1970.
    pub fn date(&self) -> u64 {
        self.date_of(self.now)
    }

    /// The date of a time on the scheduler's clock; the same whenever it is asked for.
    pub fn date_of(&self, time: Time) -> u64 {
        self.began + time.as_nanos() / Span::SECOND.as_nanos()
    }
}

/// What the administration does not know itself. Answers may be expensive.
pub trait World {
    /// Bytes that a LUN or file, or clients' files on a volume, use now.
    fn used(&self, leaf: ObjectId) -> u64;

    /// Figures of clients' files on a volume; for a qtree, the number of entries at its top. Zero
    /// if there are no clients.
    fn files(&self, _volume: ObjectId) -> FilesSeen {
        FilesSeen::default()
    }

    /// Whether clients made an entry of that name at the top of a volume or qtree: `NAME`,
    /// `QTREE/NAME`.
    fn has_file(&self, _volume: ObjectId, _path: &str) -> bool {
        false
    }

    /// The clients' file at a path of a volume, `/FOLDER/…/NAME`.
    fn client_file(&self, _volume: ObjectId, _path: &str) -> Option<ClientFile> {
        None
    }

    /// The length in bytes of a clients' file that is an object.
    fn length(&self, _file: ObjectId) -> u64 {
        0
    }

    /// Bytes that deleting these snapshots' trees together would free.
    fn owned(&self, trees: &mut dyn Iterator<Item = ObjectId>) -> u64;

    /// Number of client connections to a LUN or file.
    fn connections(&self, leaf: ObjectId) -> u64;

    /// The gate's account of the last second.
    fn sample(&self) -> Arc<Sample>;

    /// The slots of the last day that began at `since` or later, oldest first: for each object with
    /// everything in it.
    fn day(&self, _since: Time) -> Vec<Arc<Slot>> {
        Vec::new()
    }

    /// What an object and everything in it did since the server started.
    fn counted(&self, _object: ObjectId) -> Figures {
        Figures::default()
    }

    /// What an object and everything in it did by the hour, as far as the pool has it. Hours are
    /// counted from 1970. An error is a sentence.
    fn hours(&self, _named: &Named, _hours: Range<u64>) -> Result<Vec<HourDone>, String> {
        Ok(Vec::new())
    }

    /// Figures of the server as a whole, if there is one.
    fn server(&self) -> Option<ServerSeen> {
        None
    }

    /// A new unique identifier.
    fn uuid(&self) -> u128;

    /// Counters of each cache partition since it was made, by number; `None` if there is no cache.
    fn cache(&self) -> Option<BTreeMap<u32, CacheSeen>> {
        None
    }

    /// The bandwidth limits of connections and their counters, if there are connections.
    fn link(&self) -> Option<LinkSeen> {
        None
    }

    /// State of the cache's second level, if there is one.
    fn second_level(&self) -> Option<SecondSeen> {
        None
    }

    /// The parts of the server's memory; empty if there is no server.
    fn memory(&self) -> Vec<MemoryPart> {
        Vec::new()
    }

    /// Most memory for all of these together, if it is known.
    fn memory_most(&self) -> Option<Bytes> {
        None
    }

    /// All users, by name; empty if there is no server. An error is a sentence.
    fn logins(&self) -> Result<Vec<Login>, String> {
        Ok(Vec::new())
    }

    /// Changes a user, durably. The world knows the password, if one is needed. An error is a
    /// sentence, and nothing has changed.
    fn change_login(&self, _change: &LoginChange) -> Result<(), String> {
        Err("users belong to a server, and there is none here".into())
    }

    /// The certificates that the server uses, each once; empty if there is no server.
    fn certificates(&self) -> Vec<CertificateSeen> {
        Vec::new()
    }

    /// The log of events, oldest first; empty if there is no server.
    fn events(&self) -> Vec<Arc<Event>> {
        Vec::new()
    }

    /// The pool's name, if there is a pool.
    fn aggregate_name(&self) -> Option<String> {
        None
    }

    /// The pool's name and space, if there is a pool.
    fn aggregate(&self) -> Option<Aggregate> {
        None
    }

    /// Bytes that can still be written to a volume of `size` bytes that has `used`: at most what
    /// the pool has left, because volumes are thin-provisioned.
    fn left(&self, size: u64, used: u64) -> u64 {
        let of_pool = self.aggregate().map_or(u64::MAX, |pool| pool.available);
        size.saturating_sub(used).min(of_pool)
    }
}

/// Figures of clients' files on a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilesSeen {
    /// Files, folders and symbolic links.
    pub count: u64,
    /// Bytes of data in them.
    pub bytes: u64,
    /// Owner and mode of the top folder; `None` if there are no clients.
    pub top: Option<Top>,
}

/// A clients' file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientFile {
    /// Its node in its volume's tree.
    pub node: FileNode,
    /// Bytes that it uses.
    pub used: u64,
}

/// Owner and mode of a volume's top folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Top {
    /// Owner.
    pub user: u32,
    /// Group.
    pub group: u32,
    /// Permissions, as Unix has them.
    pub mode: u32,
}

/// The figures of a server since it started: for objects and groups that still exist, and in total.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSeen {
    /// By object, with everything in it.
    pub counted: BTreeMap<ObjectId, Figures>,
    /// By the nearest policy group above; `None` for what is in none.
    pub by_group: BTreeMap<Option<GroupId>, Figures>,
    /// In total, including deleted objects.
    pub all: Figures,
    /// Processor time that the data thread used.
    pub cpu: Span,
    /// Time by which it woke up later than it had asked to.
    pub stalled: Span,
    /// Time that it busy-polled for a client in ping-pong.
    pub awake: Span,
    /// Turns of its event loop.
    pub turns: u64,
    /// How often receives were held back so that one takes several requests.
    pub holds: u64,
    /// Open connections.
    pub connections: u32,
    /// Memory that clients' requests claim.
    pub claimed: Bytes,
    /// Whether a flush of the pool has failed.
    pub flush_failed: bool,
    /// Failed additions to the hourly totals.
    pub totals_failed: u64,
}

/// A part of the server's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryPart {
    /// Its name.
    pub name: &'static str,
    /// The most that it may take; `None` where that grows with the pool.
    pub limit: Option<Bytes>,
    /// Its present limit, which is lower while memory is short.
    pub allowed: Option<Bytes>,
    /// Its present use.
    pub used: Bytes,
}

/// The names of an object and its volume in the hourly totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The object's path.
    pub path: String,
    /// Its volume's path.
    pub volume: String,
}

/// What an object did in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HourDone {
    /// The hour, counted from 1970.
    pub hour: u64,
    /// Seconds of it for which the object was served.
    pub seconds: u64,
    /// The figures.
    pub figures: Figures,
}

/// The space of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// Its name.
    pub name: String,
    /// Space for its data, in bytes.
    pub size: u64,
    /// Unused space for its data, in bytes.
    pub available: u64,
}

/// The world of tests: what they set exists, and nothing else.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct TestWorld {
    pub pool: Option<&'static str>,
    pub logins: Vec<Login>,
    pub day: Option<history::History>,
}

#[cfg(test)]
impl World for TestWorld {
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

    fn aggregate_name(&self) -> Option<String> {
        self.pool.map(str::to_owned)
    }
}

/// A world that knows only sizes: no clients, no statistics.
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

    /// Nobody looks a group up by its identifier here.
    fn uuid(&self) -> u128 {
        0
    }
}
