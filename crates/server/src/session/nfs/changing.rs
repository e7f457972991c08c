//! Calls that change names and attributes. A change is visible at once, and is answered when it is
//! durable.

use super::answer::{Outcome, Service};
use super::nodes::handle_of;
use crate::folders::Node;
use crate::volume_files::{Until, status_of};
use ::nfs::{CreateHow, Entry, FileHandle, Moment, Post, Reply, SetAttributes, SetMoment, Status, Wcc, WccAttributes};
use block::{ObjectId, Span};
use tree::permission::{EXECUTE, WRITE};
use tree::{FileTree, NewNode, NodeId, NodeKind, Ownership, SetDone, SetNode, TreeRefusal};

/// A node in a volume's tree.
type Place = (ObjectId, NodeId);

impl Service<'_> {
    /// The folder of an entry that a client wants to change, if the client may change that folder.
    /// Entries that administrators made cannot be changed.
    fn place_of(&self, entry: &Entry<'_>, taken: Status) -> Result<Place, Status> {
        let folder = self.node(&entry.directory)?;
        let (place, is_taken) = match folder {
            Node::File(_) => return Err(Status::NotDirectory),
            Node::Made(volume, id) => ((volume, id), false),
            Node::Folder(id) => (self.made_at(id).ok_or(Status::Access)?, self.own_entry(id, entry.name).is_some()),
        };
        self.may_write(place.0)?;
        match self.check(folder, WRITE | EXECUTE) {
            _ if is_taken => Err(taken),
            Err(status) => Err(status),
            Ok(()) => Ok(place),
        }
    }

    /// The same for a new entry. If the entry exists, that is reported even to a caller without
    /// permission, as `mkdir -p` expects.
    fn place_of_new(&self, entry: &Entry<'_>) -> Result<Place, Status> {
        match self.place_of(entry, Status::Exists) {
            Err(Status::Access) if self.entry(entry).is_ok() => Err(Status::Exists),
            place => place,
        }
    }

    /// Checks that the caller may remove a name from a folder that it may change: a sticky folder
    /// protects entries of others. A missing name is reported later.
    fn check_gives_up(&self, (volume, folder): Place, name: &[u8]) -> Result<(), Status> {
        let tree = self.files.tree(volume)?;
        let owned = Ownership::from(&tree.info(folder).map_err(status_of)?);
        let owner = tree.look_up(folder, name).and_then(|id| tree.info(id)).map(|info| info.uid);
        match owner {
            Ok(owner) if !owned.may_remove_name(&self.who(volume), owner) => Err(Status::Access),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The attributes before a change, for clients that cache them.
    fn before(&self, (volume, id): Place) -> Option<WccAttributes> {
        let attributes = self.attributes(self.made(volume, id));
        let (size, modified, changed) = (attributes.size, attributes.modified, attributes.changed);
        Some(WccAttributes { size, modified, changed })
    }

    fn after(&self, (volume, id): Place) -> Post {
        let node = self.made(volume, id);
        let is_there = self.files.tree(volume).is_ok_and(|tree| tree.info(id).is_ok());
        is_there.then(|| self.attributes(node))
    }

    fn wcc(&self, place: Place, before: Option<WccAttributes>) -> Wcc {
        Wcc { before, after: self.after(place) }
    }

    fn tree(&mut self, volume: ObjectId) -> Result<&mut FileTree, Status> {
        self.files.tree_mut(volume)
    }

    /// A reply that is sent when all changes so far are durable.
    fn durable(&mut self, volume: ObjectId, reply: Reply<'static>) -> Outcome<'_> {
        match self.files.tree_mut(volume).map(FileTree::want) {
            Ok(record) => Outcome::Later(reply, volume, Until::Record(record)),
            Err(_) => Outcome::Reply(reply),
        }
    }

    pub(super) fn make(
        &mut self,
        entry: &Entry<'_>,
        kind: NodeKind,
        set: &SetAttributes,
        target: &[u8],
    ) -> Outcome<'_> {
        let place = match self.place_of_new(entry) {
            Ok(place) => place,
            Err(status) => return Outcome::Reply(Reply::Made(Wcc::default(), Err(status))),
        };
        let mode = if kind == NodeKind::File { 0o644 } else { 0o755 };
        self.make_at(place, entry.name, NewNode { kind, mode, uid: 0, gid: 0, verifier: 0, target }, set)
    }

    /// Makes a node that belongs to the caller.
    fn make_at(&mut self, place: Place, name: &[u8], new: NewNode<'_>, set: &SetAttributes) -> Outcome<'_> {
        let (before, now, who) = (self.before(place), self.now, self.who(place.0));
        let set = set_of(set, now);
        let made = self.tree(place.0).and_then(|tree| {
            let folder = Ownership::from(&tree.info(place.1).map_err(status_of)?);
            let new = folder.attributes_of_new(&who, new, &set);
            let node = tree.make(now, place.1, name, &new).map_err(status_of)?;
            let times = SetNode { size: None, mode: None, uid: None, gid: None, ..set };
            let size = set.size.filter(|_| new.kind == NodeKind::File);
            if times != SetNode::default() || size.is_some_and(|size| size > 0) {
                // The file has no data, so there is nothing to wait for, and it does not count as
                // written.
                tree.set(now, node, &SetNode { size, mode: Some(new.mode), ..times }).map_err(status_of)?;
            }
            Ok(node)
        });
        let wcc = self.wcc(place, before);
        match made {
            Err(status) => Outcome::Reply(Reply::Made(wcc, Err(status))),
            Ok(node) => {
                let handle = handle_of(Node::Made(place.0, node));
                let reply = Reply::Made(wcc, Ok((Some(handle), self.after((place.0, node)))));
                self.durable(place.0, reply)
            }
        }
    }

    pub(super) fn create(&mut self, entry: &Entry<'_>, how: CreateHow) -> Outcome<'_> {
        let found = self.entry(entry).map(|(_, node)| node);
        match (found, how) {
            (Ok(node @ Node::File(_)), CreateHow::Unchecked(_)) => {
                let made = Ok((Some(handle_of(node)), Some(self.attributes(node))));
                Outcome::Reply(Reply::Made(Wcc::default(), made))
            }
            (Ok(node @ Node::Made(volume, id)), CreateHow::Unchecked(set)) => self.open(node, (volume, id), &set),
            (Ok(node @ Node::Made(volume, id)), CreateHow::Exclusive(verifier))
                if self
                    .files
                    .tree(volume)
                    .and_then(|tree| tree.info(id).map_err(status_of))
                    .is_ok_and(|info| info.kind == NodeKind::File && info.verifier == u64::from_be_bytes(verifier)) =>
            {
                let reply = Reply::Made(Wcc::default(), Ok((Some(handle_of(node)), self.after((volume, id)))));
                self.durable(volume, reply)
            }
            (Ok(_), _) => Outcome::Reply(Reply::Made(Wcc::default(), Err(Status::Exists))),
            (Err(Status::NoEntry), CreateHow::Unchecked(set) | CreateHow::Guarded(set)) => {
                self.make(entry, NodeKind::File, &set, b"")
            }
            (Err(Status::NoEntry), CreateHow::Exclusive(verifier)) => match self.place_of_new(entry) {
                Ok(place) => {
                    let (kind, verifier) = (NodeKind::File, u64::from_be_bytes(verifier));
                    let new = NewNode { kind, mode: 0o600, uid: 0, gid: 0, verifier, target: b"" };
                    self.make_at(place, entry.name, new, &SetAttributes::default())
                }
                Err(status) => Outcome::Reply(Reply::Made(Wcc::default(), Err(status))),
            },
            (Err(status), _) => Outcome::Reply(Reply::Made(Wcc::default(), Err(status))),
        }
    }

    /// A CREATE of an existing file: it is opened, and gets the size that is asked for.
    fn open(&mut self, node: Node, (volume, id): Place, set: &SetAttributes) -> Outcome<'_> {
        let is_file =
            self.files.tree(volume).is_ok_and(|tree| tree.info(id).is_ok_and(|info| info.kind == NodeKind::File));
        let opened = match set.size {
            _ if !is_file => Err(Status::Exists),
            None => Ok(SetDone::Now),
            size => self.set_node((volume, id), &SetNode { size, ..SetNode::default() }, true),
        };
        match opened {
            Err(status) => Outcome::Reply(Reply::Made(Wcc::default(), Err(status))),
            Ok(SetDone::Now) => {
                let reply = Reply::Made(Wcc::default(), Ok((Some(handle_of(node)), self.after((volume, id)))));
                self.durable(volume, reply)
            }
            Ok(SetDone::Later(number)) => {
                let reply = Reply::Made(Wcc::default(), Ok((Some(handle_of(node)), None)));
                Outcome::Later(reply, volume, Until::Tail(number))
            }
        }
    }

    pub(super) fn set_attributes(
        &mut self,
        handle: &FileHandle,
        set: &SetAttributes,
        guard: Option<Moment>,
    ) -> Outcome<'_> {
        let refuse = |status| Outcome::Reply(Reply::Done(Wcc::default(), Err(status)));
        let place = match self.node(handle) {
            Ok(Node::Made(volume, id)) => (volume, id),
            Ok(Node::Folder(id)) => match self.made_at(id) {
                Some(place) => place,
                None => return refuse(Status::Access),
            },
            Ok(Node::File(object)) => {
                let done = self.set_of_own(object, set);
                return Outcome::Reply(Reply::Done(Wcc::default(), done));
            }
            Err(status) => return refuse(status),
        };
        let (before, now) = (self.before(place), self.now);
        let done = self.may_write(place.0).and_then(|()| match guard {
            Some(guard) if before.is_none_or(|before| before.changed != guard) => Err(Status::NotSync),
            _ => {
                let is_now = |time: SetMoment| !matches!(time, SetMoment::To(_));
                self.set_node(place, &set_of(set, now), is_now(set.accessed) && is_now(set.modified))
            }
        });
        match done {
            Err(status) => Outcome::Reply(Reply::Done(self.wcc(place, before), Err(status))),
            Ok(SetDone::Now) => {
                let reply = Reply::Done(self.wcc(place, before), Ok(()));
                self.durable(place.0, reply)
            }
            // The attributes after the change are not known yet.
            Ok(SetDone::Later(number)) => {
                Outcome::Later(Reply::Done(Wcc::default(), Ok(())), place.0, Until::Tail(number))
            }
        }
    }

    /// Sets the attributes that the caller may set.
    fn set_node(&mut self, (volume, id): Place, set: &SetNode, times_are_now: bool) -> Result<SetDone, Status> {
        self.may_write(volume)?;
        let (now, who) = (self.now, self.who(volume));
        let tree = self.tree(volume)?;
        let info = tree.info(id).map_err(status_of)?;
        let mut set = Ownership::from(&info).judge(&who, set, times_are_now).map_err(status_of)?;
        if info.kind == NodeKind::Link {
            // Accepted but ignored.
            set.mode = None;
        }
        tree.set(now, id, &set).map_err(status_of)
    }

    /// A LUN has no attributes but its size, which belongs to the administrators.
    fn set_of_own(&self, object: ObjectId, set: &SetAttributes) -> Result<(), Status> {
        let times = (set.accessed, set.modified) != (SetMoment::Keep, SetMoment::Keep);
        let has_more = set.mode.is_some() || set.uid.is_some() || set.gid.is_some() || times;
        let size = self.exports.get(object).map(|export| export.size);
        match set.size {
            _ if has_more => Err(Status::NotSupported),
            Some(wanted) if Some(wanted) != size => Err(Status::NotSupported),
            _ => Ok(()),
        }
    }

    pub(super) fn remove(&mut self, entry: &Entry<'_>, is_folder: bool) -> Outcome<'_> {
        let place = match self.place_of(entry, Status::Access) {
            Ok(place) => place,
            Err(status) => return Outcome::Reply(Reply::Done(Wcc::default(), Err(status))),
        };
        let (before, now) = (self.before(place), self.now);
        let done = self.check_gives_up(place, entry.name).and_then(|()| self.tree(place.0)).and_then(|tree| {
            let done = match is_folder {
                true => tree.remove_folder(now, place.1, entry.name),
                false => tree.remove(now, place.1, entry.name),
            };
            done.map_err(status_of)
        });
        let reply = Reply::Done(self.wcc(place, before), done);
        if done.is_ok() { self.durable(place.0, reply) } else { Outcome::Reply(reply) }
    }

    pub(super) fn rename(&mut self, from: &Entry<'_>, to: &Entry<'_>) -> Outcome<'_> {
        let none = Wcc::default();
        let places = self.place_of(from, Status::Access).and_then(|old| Ok((old, self.place_of(to, Status::Exists)?)));
        let (old, new) = match places {
            Ok((old, new)) if old.0 != new.0 => {
                return Outcome::Reply(Reply::Rename(none, none, Err(Status::CrossDevice)));
            }
            Ok(places) => places,
            Err(status) => return Outcome::Reply(Reply::Rename(none, none, Err(status))),
        };
        let (before, now) = ((self.before(old), self.before(new)), self.now);
        let may = self.may_move((old, from.name), (new, to.name));
        let done = may.and_then(|()| self.tree(old.0)).and_then(|tree| {
            tree.rename(now, (old.1, from.name), (new.1, to.name)).map_err(|refusal| match refusal {
                // RFC 1813: if source and target are not compatible, the target exists.
                TreeRefusal::IsFolder | TreeRefusal::NotFolder => Status::Exists,
                refusal => status_of(refusal),
            })
        });
        let reply = Reply::Rename(self.wcc(old, before.0), self.wcc(new, before.1), done);
        if done.is_ok() { self.durable(old.0, reply) } else { Outcome::Reply(reply) }
    }

    /// Checks that the caller may move an entry: out of one folder, over what is in the other, and,
    /// for a folder, change its parent.
    fn may_move(&self, from: (Place, &[u8]), to: (Place, &[u8])) -> Result<(), Status> {
        self.check_gives_up(from.0, from.1)?;
        self.check_gives_up(to.0, to.1)?;
        let (volume, old) = from.0;
        let tree = self.files.tree(volume)?;
        match tree.look_up(old, from.1).and_then(|id| tree.info(id)) {
            Ok(info) if info.kind == NodeKind::Folder && old != to.0.1 => {
                if Ownership::from(&info).may(&self.who(volume), WRITE) { Ok(()) } else { Err(Status::Access) }
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    pub(super) fn link(&mut self, handle: &FileHandle, to: &Entry<'_>) -> Outcome<'_> {
        let refuse = |status| Outcome::Reply(Reply::Link(None, Wcc::default(), Err(status)));
        let node = match self.node(handle) {
            Ok(Node::Made(volume, id)) => (volume, id),
            Ok(Node::Folder(_)) => return refuse(Status::IsDirectory),
            Ok(Node::File(_)) => return refuse(Status::Access),
            Err(status) => return refuse(status),
        };
        let place = match self.place_of_new(to) {
            Ok(place) if place.0 != node.0 => return refuse(Status::CrossDevice),
            Ok(place) => place,
            Err(status) => return refuse(status),
        };
        let (before, now) = (self.before(place), self.now);
        let done = self.tree(place.0).and_then(|tree| tree.link(now, node.1, place.1, to.name).map_err(status_of));
        let reply = Reply::Link(self.after(node), self.wcc(place, before), done);
        if done.is_ok() { self.durable(place.0, reply) } else { Outcome::Reply(reply) }
    }
}

fn set_of(set: &SetAttributes, now: Span) -> SetNode {
    let time = |moment: SetMoment| match moment {
        SetMoment::Keep => None,
        SetMoment::Now => Some(now),
        SetMoment::To(Moment { seconds, nanos }) => {
            Some(Span::from_secs(seconds.into()) + Span::from_nanos(u64::from(nanos.min(999_999_999))))
        }
    };
    let SetAttributes { mode, uid, gid, size, accessed, modified } = *set;
    SetNode { mode, uid, gid, size, accessed: time(accessed), modified: time(modified) }
}
