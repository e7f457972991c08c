//! Clients' files on volumes, on the data thread: the requests that they need at the gate, and the
//! calls that wait until their changes are durable.
//!
//! ```text
//!   session ──► FileTree (names, places) ──► commands ──► gate ──► the volume's tree in the maps
//!      └─ waits for a record ◄── durable ◄────────────────────┘
//! ```
//! A command is for what clients changed. Ceilings and floors hold for it as for any request of the
//! volume, and no statistics have it. Where an administrator's command waits for a volume's
//! records, and for what such a one reads, no policy holds: all of them would wait with it. Nor
//! does one for what a start clears. Clients' reads and writes of files' data do not come here.

mod following;
mod qtrees;
mod reading;
mod requests;

pub(crate) use following::FollowedFile;
use qtrees::Qtree;
pub(crate) use reading::ShardReader;
use requests::{Job, Way};

use crate::mounts::Mounts;
use crate::repeats::Repeats;
use ::nfs::{Attributes, FileKind, Moment, Status, Verifier};
use block::{Buf, ObjectId, Op, Request, Span, Target, Time};
use qos::Gate;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::mpsc::Sender;
use store::Served;
use tree::limits::RECORD_BYTES_MAX;
use tree::{FileTree, NodeId, NodeInfo, NodeKind, TailEnded, TreeCommand, TreeRefusal};
use uring::Io;

/// Requests of this module have this in place of a session's number in the high half of their tags.
pub(crate) const FILES: u32 = u32::MAX;
const _: () = assert!((FILES as u64) << 32 & qos::OWN != 0, "they may pass the gate, and no account has them");

/// The files of one volume.
pub(crate) struct OneVolume {
    /// Its name in access rules: `SVM:/vol/VOLUME/.`.
    pub name: String,
    /// Whether its files were read and found damaged.
    is_damaged: bool,
    /// Bytes that its files may use.
    limit: u64,
    qtrees: Vec<Qtree>,
    /// The qtree that accounts for requests, by the number of its folder.
    realms: HashMap<u32, ObjectId>,
    /// Files that are objects of their own.
    followed: Vec<FollowedFile>,
    /// Those of them that are missing, until it has been reported.
    lost: Vec<ObjectId>,
    /// Its files; `None` until they have been read, or if they are damaged.
    pub tree: Option<Box<FileTree>>,
    /// How often they have been read since the server started.
    readings: u64,
    waiting: Vec<Waiter>,
}

/// A call that waits.
struct Waiter {
    session: u32,
    slot: u32,
    until: Until,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// That a record is durable.
    Record(u64),
    /// That a change of a size has completed.
    Tail(u64),
}

/// Whether what clients changed on a volume is durable, as far as it can be: the error says that
/// there is no space for it.
pub(crate) type Settled = Result<(), NoSpaceForFiles>;

/// The storage has no space for the record of what clients changed on a volume.
pub(crate) struct NoSpaceForFiles;

/// A call that may be answered.
pub(crate) struct Woken {
    pub session: u32,
    pub slot: u32,
    pub result: Result<(), Status>,
}

/// The files of all volumes.
#[derive(Default)]
pub(crate) struct AllFiles {
    volumes: HashMap<ObjectId, OneVolume>,
    /// Files that are objects of their own: their volumes and nodes.
    followed: HashMap<ObjectId, (ObjectId, NodeId)>,
    /// Volumes that were used since the last round.
    touched: BTreeSet<ObjectId>,
    /// Volumes with changes that are not durable.
    loose: BTreeSet<ObjectId>,
    jobs: BTreeMap<u32, Job>,
    next_job: u32,
    /// Requests that the gate or the maps had no room for.
    held: VecDeque<Request>,
    unbuffered: VecDeque<(ObjectId, TreeCommand)>,
    /// A buffer for records, for when clients have claimed all other memory.
    reserve: Option<Buf>,
    /// Buffers of its own requests in flight.
    buffers_out: usize,
    woken: Vec<Woken>,
    /// Who waits until a volume is durable up to a record.
    settling: Vec<(ObjectId, u64, Sender<Settled>)>,
    ended: Vec<TailEnded>,
    /// Which clients have mounted what.
    pub mounts: Mounts,
    /// The duplicate request cache.
    pub repeats: Repeats,
}

impl AllFiles {
    /// Memory that is reserved for records, in bytes.
    pub(crate) const MEMORY: u64 = RECORD_BYTES_MAX as u64;

    pub(crate) fn new(io: &Io) -> AllFiles {
        AllFiles { reserve: io.take(RECORD_BYTES_MAX as u32), ..AllFiles::default() }
    }

    /// Number of its own buffers.
    pub(crate) fn own_buffers(&self) -> usize {
        usize::from(self.reserve.is_some()) + self.buffers_out
    }

    /// Adds or updates a volume: its name, the limit of its files in bytes, and its qtrees; `now`
    /// is the time since 1970.
    pub(crate) fn place(
        &mut self,
        now: Span,
        volume: ObjectId,
        (name, limit): (String, u64),
        qtrees: Vec<(ObjectId, String)>,
    ) {
        let found = self.volumes.entry(volume).or_insert_with(|| OneVolume {
            name: String::new(),
            is_damaged: false,
            limit: 0,
            qtrees: Vec::new(),
            realms: HashMap::new(),
            followed: Vec::new(),
            lost: Vec::new(),
            tree: None,
            readings: 0,
            waiting: Vec::new(),
        });
        (found.name, found.limit) = (name, limit);
        found.tree.iter_mut().for_each(|tree| tree.set_limit(limit));
        found.set_qtrees(now, qtrees);
        self.touched.insert(volume);
    }

    /// Makes the files of a volume available to clients, or tells them that they are damaged if
    /// there is no tree; `now` is the time since 1970.
    pub(crate) fn begin(&mut self, now: Span, volume: ObjectId, mut tree: Option<Box<FileTree>>) {
        let Some(found) = self.volumes.get_mut(&volume) else { return };
        tree.iter_mut().for_each(|tree| tree.set_limit(found.limit));
        found.readings += 1;
        (found.is_damaged, found.tree) = (tree.is_none(), tree);
        found.find_qtrees(now);
        found.find_followed(volume);
        self.touched.insert(volume);
    }

    /// Takes a volume's files away from clients and stops writing to them, because they are about
    /// to be replaced. Calls that wait are answered with an error, since their outcome is unknown.
    pub(crate) fn end(&mut self, now: Time, volume: ObjectId, gate: &mut Gate<Served>, io: &Io) {
        let Some(found) = self.volumes.get_mut(&volume) else { return };
        (found.tree, found.is_damaged) = (None, false);
        let gone = found.waiting.drain(..);
        self.woken.extend(gone.map(|Waiter { session, slot, .. }| Woken { session, slot, result: Err(Status::Stale) }));
        self.unbuffered.retain(|(of, _)| *of != volume);
        let (gone, held): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.held).into_iter().partition(|request| request.object == volume);
        self.held = held.into();
        for Request { tag, op, .. } in gone {
            if let Op::Write(buf) = op {
                self.give(io, buf);
            }
            self.jobs.remove(&(tag as u32));
        }
        for job in self.jobs.values() {
            match *job {
                Job::Command { volume: of, way: Way::Gate(ticket) | Way::Recalled(ticket), .. } if of == volume => {
                    gate.cancel(now, ticket);
                }
                Job::Command { volume: of, way: Way::Passed(ticket), .. } if of == volume => {
                    gate.inner_mut().cancel(now, ticket);
                }
                _ => {}
            }
        }
    }

    /// Removes a volume.
    pub(crate) fn remove(&mut self, now: Time, volume: ObjectId, gate: &mut Gate<Served>, io: &Io) {
        self.end(now, volume, gate, io);
        self.volumes.remove(&volume);
        self.followed.retain(|_, (of, _)| *of != volume);
        self.touched.remove(&volume);
        self.loose.remove(&volume);
    }

    /// A volume.
    pub(crate) fn get(&self, volume: ObjectId) -> Option<&OneVolume> {
        self.volumes.get(&volume)
    }

    /// The files of a volume, if clients may use them. Before they have been read, clients are to
    /// ask again.
    pub(crate) fn tree(&self, volume: ObjectId) -> Result<&FileTree, Status> {
        let found = self.volumes.get(&volume).ok_or(Status::Stale)?;
        found.tree.as_deref().ok_or_else(|| found.why_closed())
    }

    /// The same, mutable.
    pub(crate) fn tree_mut(&mut self, volume: ObjectId) -> Result<&mut FileTree, Status> {
        let found = self.volumes.get_mut(&volume).ok_or(Status::Stale)?;
        let closed = found.why_closed();
        let tree = found.tree.as_deref_mut().ok_or(closed)?;
        self.touched.insert(volume);
        self.loose.insert(volume);
        Ok(tree)
    }

    /// The verifier of writes that no COMMIT has covered; it changes whenever they may have been
    /// lost.
    pub(crate) fn write_verifier(&self, volume: ObjectId, server: Verifier) -> Verifier {
        let readings = self.volumes.get(&volume).map_or(0, |found| found.readings);
        (u64::from_be_bytes(server).wrapping_add(readings)).to_be_bytes()
    }

    /// The number of the present reading of a volume's files.
    pub(crate) fn reading(&self, volume: ObjectId) -> u64 {
        self.volumes.get(&volume).map_or(0, |found| found.readings)
    }

    /// The attributes of a node for clients; `None` if it does not exist.
    pub(crate) fn attributes(&self, volume: ObjectId, node: NodeId) -> Option<Attributes> {
        let tree = self.tree(volume).ok()?;
        tree.info(node).ok().map(|info| attributes(volume, node, &info, tree.used(node)))
    }

    /// Notes a call that waits. If the volume is gone, the call fails with `Stale`.
    pub(crate) fn wait(&mut self, volume: ObjectId, session: u32, slot: u32, until: Until) {
        if let Some(found) = self.volumes.get_mut(&volume) {
            found.waiting.push(Waiter { session, slot, until });
            self.touched.insert(volume);
        } else {
            self.woken.push(Woken { session, slot, result: Err(Status::Stale) });
        }
    }

    /// Starts to make all changes of all volumes durable.
    pub(crate) fn tick(&mut self) {
        for volume in std::mem::take(&mut self.loose) {
            if let Some(tree) = self.volumes.get_mut(&volume).and_then(|found| found.tree.as_mut()) {
                tree.tick();
                self.touched.insert(volume);
            }
        }
    }

    /// Starts to write the missing marks of the logs' ends; returns whether there are any.
    pub(crate) fn mark_ends(&mut self) -> bool {
        let missing: Vec<ObjectId> = (self.volumes.iter_mut())
            .filter_map(|(volume, found)| found.tree.as_mut()?.mark_end().then_some(*volume))
            .collect();
        self.touched.extend(&missing);
        !missing.is_empty()
    }

    /// Whether a tick has anything to do.
    pub(crate) fn is_loose(&self) -> bool {
        !self.loose.is_empty()
    }

    /// Whether requests of its own are in flight or waiting. Records that find no space do not
    /// count.
    pub(crate) fn is_busy(&self) -> bool {
        !self.jobs.is_empty() || !self.unbuffered.is_empty() || !self.touched.is_empty()
    }

    /// Starts what is due and submits it to the gate. Returns the calls that may be answered.
    pub(crate) fn advance(&mut self, now: Time, gate: &mut Gate<Served>, io: &Io) -> Vec<Woken> {
        for request in std::mem::take(&mut self.held) {
            self.hand_over(now, request, gate);
        }
        for volume in std::mem::take(&mut self.touched) {
            let Some(found) = self.volumes.get_mut(&volume) else { continue };
            let Some(tree) = &mut found.tree else { continue };
            tree.advance();
            tree.take_ended(&mut self.ended);
            found.settle_waiters(&mut self.ended, &mut self.woken);
            let tree = found.tree.as_mut().expect("it was there");
            if tree.is_loose() {
                self.loose.insert(volume);
            }
            while let Some(command) = tree.next_command() {
                self.unbuffered.push_back((volume, command));
            }
        }
        self.end_settling();
        for (volume, command) in std::mem::take(&mut self.unbuffered) {
            self.start(now, volume, command, gate, io);
        }
        std::mem::take(&mut self.woken)
    }
}

impl OneVolume {
    /// The answer to a call while its files are not there.
    fn why_closed(&self) -> Status {
        if self.is_damaged { Status::Io } else { Status::Jukebox }
    }

    /// Ends the waits of calls whose change is durable, has failed, or finds no space.
    fn settle_waiters(&mut self, ended: &mut Vec<TailEnded>, woken: &mut Vec<Woken>) {
        let Some(tree) = &self.tree else { return };
        let (durable, failed, full) = (tree.durable(), tree.has_failed(), tree.lacks_space());
        self.waiting.retain_mut(|waiter| {
            let Waiter { session, slot, .. } = *waiter;
            if let Until::Tail(number) = waiter.until
                && let Some(end) = ended.iter().find(|end| end.number == number)
            {
                match end.result {
                    Ok(record) => waiter.until = Until::Record(record),
                    Err(refusal) => {
                        woken.push(Woken { session, slot, result: Err(status_of(refusal)) });
                        return false;
                    }
                }
            }
            let result = match waiter.until {
                Until::Record(record) if record <= durable => Ok(()),
                Until::Record(_) if failed => Err(Status::Io),
                Until::Record(_) if full => Err(Status::NoSpace),
                Until::Record(_) | Until::Tail(_) => return true,
            };
            woken.push(Woken { session, slot, result });
            false
        });
        ended.clear();
    }
}

/// The attributes of a node, in the form of the protocol.
pub(crate) fn attributes(volume: ObjectId, node: NodeId, info: &NodeInfo, used: u64) -> Attributes {
    let kind = match info.kind {
        NodeKind::File => FileKind::Regular,
        NodeKind::Folder => FileKind::Directory,
        NodeKind::Link => FileKind::Link,
    };
    let is_folder = info.kind == NodeKind::Folder;
    Attributes {
        kind,
        mode: info.mode,
        links: info.links,
        uid: info.uid,
        gid: info.gid,
        size: if is_folder { 4096 } else { info.size },
        used,
        device: (0, 0),
        fsid: 1,
        // Distinct from the numbers of LUNs, and between volumes.
        fileid: u64::from(volume.0) << 32 | u64::from(node.number),
        accessed: moment(info.accessed),
        modified: moment(info.modified),
        changed: moment(info.changed),
    }
}

/// A time since 1970, in the form of the protocol.
pub(crate) fn moment(time: Span) -> Moment {
    const SECOND: u64 = 1_000_000_000;
    Moment { seconds: (time.as_nanos() / SECOND) as u32, nanos: (time.as_nanos() % SECOND) as u32 }
}

/// The status for a client.
pub(crate) fn status_of(refusal: TreeRefusal) -> Status {
    match refusal {
        TreeRefusal::NoEntry => Status::NoEntry,
        TreeRefusal::Stale => Status::Stale,
        TreeRefusal::Exists => Status::Exists,
        TreeRefusal::NotFolder => Status::NotDirectory,
        TreeRefusal::IsFolder => Status::IsDirectory,
        TreeRefusal::NotEmpty => Status::NotEmpty,
        TreeRefusal::Invalid => Status::Invalid,
        TreeRefusal::NameTooLong => Status::NameTooLong,
        TreeRefusal::NoSpace => Status::NoSpace,
        TreeRefusal::TooManyLinks => Status::TooManyLinks,
        TreeRefusal::TooBig => Status::TooBig,
        TreeRefusal::NotOwner => Status::NotOwner,
        TreeRefusal::Forbidden => Status::Access,
        TreeRefusal::OtherRealm => Status::CrossDevice,
        TreeRefusal::Busy => Status::Jukebox,
        TreeRefusal::Failed => Status::Io,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A volume's files are asked for before they have been read (as while a volume is restored),
    /// when they have been, and when they are damaged.
    #[test]
    fn files_that_are_being_read_are_asked_for_again() {
        let (mut files, volume, now) = (AllFiles::default(), ObjectId(1), Span::ZERO);
        let found = |files: &mut AllFiles| {
            let [one, other] = [files.tree(volume).map(drop), files.tree_mut(volume).map(drop)];
            assert_eq!(one, other);
            one
        };
        assert_eq!(found(&mut files), Err(Status::Stale));
        files.place(now, volume, ("svm01:/vol/vol1/.".into(), 1 << 20), Vec::new());
        assert_eq!(found(&mut files), Err(Status::Jukebox));
        files.begin(now, volume, Some(Box::new(FileTree::empty())));
        assert_eq!(found(&mut files), Ok(()));
        files.begin(now, volume, None);
        assert_eq!(found(&mut files), Err(Status::Io));
    }
}
