//! The folders that NFS clients see: LUNs and files of all volumes as files, `/VOLUME/QTREE/NAME`
//! of each SVM.
//!
//! ```text
//!   svm01:  /  ──►  vol1/  ──►  lun1          the LUN or file svm01:/vol/vol1/lun1
//!                          └──► qtree1/ ──► lun2
//! ```
//! The top of a volume and its qtrees also contain the files that clients made. A volume with a
//! junction path can be mounted by it as well. A folder exists as long as it contains something.
//! The cookie of an entry is the hash of its name, so that a listing can continue behind any entry,
//! whatever was added or removed meanwhile.

use admin::Junction;
use block::ObjectId;
use std::collections::{BTreeMap, HashMap};
use tree::NodeId;

/// A folder, by the hash of its full name; it is the same after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FolderId(pub u64);

/// An entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Folder(FolderId),
    File(ObjectId),
    /// Something that a client made on a volume, below its top.
    Made(ObjectId, NodeId),
}

/// The entries of a folder, by their cookies.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// The folder above; the top is its own parent.
    pub parent: Option<FolderId>,
    /// The folder of a volume's tree that is shown here too: its entries appear beside those below.
    pub made: Option<(ObjectId, NodeId)>,
    pub entries: BTreeMap<u64, (String, Node)>,
}

/// All folders.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    by_id: HashMap<FolderId, Folder>,
    /// The top folder of each SVM.
    tops: BTreeMap<String, FolderId>,
    /// The SVM and the name of each volume.
    volumes: HashMap<ObjectId, (String, String)>,
    /// Since when each volume has had its place, in seconds since 1970.
    since: HashMap<ObjectId, u64>,
    /// The folders that are tops of volumes or qtrees.
    made: BTreeMap<(ObjectId, NodeId), FolderId>,
    /// The junctions of volumes in the name spaces of their SVMs.
    junctions: BTreeMap<ObjectId, Junction>,
}

impl Folders {
    /// Adds a LUN or file; `path` is its name in its SVM, `/vol/VOLUME/…`.
    pub(crate) fn add(&mut self, svm: &str, path: &str, object: ObjectId) {
        let mut name = format!("{svm}:");
        let mut id = FolderId(hash(&name));
        self.tops.insert(svm.into(), id);
        let mut names = names(path).peekable();
        while let Some(next) = names.next() {
            let child = match names.peek() {
                None => Node::File(object),
                Some(_) => {
                    name = format!("{name}/{next}");
                    Node::Folder(FolderId(hash(&name)))
                }
            };
            let folder = self.by_id.entry(id).or_default();
            folder.entries.insert(cookie(next), (next.into(), child));
            if let Node::Folder(below) = child {
                self.by_id.entry(below).or_default().parent = Some(id);
                id = below;
            }
        }
    }

    /// Adds a volume, or moves it to that name; it has had its place since that date.
    pub(crate) fn place_volume(&mut self, svm: &str, name: &str, (volume, since): (ObjectId, u64)) {
        self.take_volume(volume);
        let top = FolderId(hash(&full(svm, &[])));
        let id = FolderId(hash(&full(svm, &[name])));
        self.tops.insert(svm.into(), top);
        self.by_id.entry(top).or_default().entries.insert(cookie(name), (name.into(), Node::Folder(id)));
        self.by_id.entry(id).or_default().parent = Some(top);
        self.volumes.insert(volume, (svm.into(), name.into()));
        self.since.insert(volume, since);
        self.set_made(id, (volume, NodeId::ROOT));
    }

    fn set_made(&mut self, id: FolderId, made: (ObjectId, NodeId)) {
        self.by_id.entry(id).or_default().made = Some(made);
        self.made.insert(made, id);
    }

    /// Replaces a volume's qtrees: their names, and their nodes among its files.
    pub(crate) fn place_qtrees(&mut self, volume: ObjectId, qtrees: &[(String, NodeId)]) {
        self.take_made(volume, |node| node != NodeId::ROOT);
        let Some((svm, name)) = self.volumes.get(&volume).cloned() else { return };
        let top = FolderId(hash(&full(&svm, &[&name])));
        for (qtree, node) in qtrees {
            let id = FolderId(hash(&full(&svm, &[&name, qtree])));
            self.by_id.entry(top).or_default().entries.insert(cookie(qtree), (qtree.clone(), Node::Folder(id)));
            self.by_id.entry(id).or_default().parent = Some(top);
            self.set_made(id, (volume, *node));
        }
    }

    /// Removes a volume, or its previous name.
    pub(crate) fn take_volume(&mut self, volume: ObjectId) {
        self.take_made(volume, |_| true);
        self.volumes.remove(&volume);
        self.since.remove(&volume);
    }

    /// Unlinks folders from a volume's tree, and removes those that become empty.
    fn take_made(&mut self, volume: ObjectId, which: impl Fn(NodeId) -> bool) {
        let first = (volume, NodeId { number: 0, generation: 0 });
        let of_volume = self.made.range(first..).take_while(|((other, _), _)| *other == volume);
        let gone: Vec<(NodeId, FolderId)> =
            of_volume.map(|((_, node), id)| (*node, *id)).filter(|(node, _)| which(*node)).collect();
        for (node, id) in gone {
            self.made.remove(&(volume, node));
            if let Some(folder) = self.by_id.get_mut(&id) {
                folder.made = None;
            }
            self.take_empty(id);
        }
    }

    /// Removes a folder if it is empty, and then empty ones above it.
    fn take_empty(&mut self, id: FolderId) {
        let Some(folder) = self.by_id.get(&id) else { return };
        if !folder.entries.is_empty() || folder.made.is_some() {
            return;
        }
        match folder.parent {
            Some(above) => {
                if let Some(above) = self.by_id.get_mut(&above) {
                    above.entries.retain(|_, (_, node)| *node != Node::Folder(id));
                }
                self.by_id.remove(&id);
                self.take_empty(above);
            }
            None => {
                self.by_id.remove(&id);
                self.tops.retain(|_, top| *top != id);
            }
        }
    }

    /// The folder that shows a folder of a volume's tree.
    pub(crate) fn folder_of(&self, volume: ObjectId, node: NodeId) -> Option<FolderId> {
        self.made.get(&(volume, node)).copied()
    }

    /// Removes a LUN or file, and the folders that become empty.
    pub(crate) fn remove(&mut self, svm: &str, path: &str) {
        let names: Vec<&str> = names(path).collect();
        let Some((own, above)) = names.split_last() else { return };
        let id = FolderId(hash(&full(svm, above)));
        let Some(folder) = self.by_id.get_mut(&id) else { return };
        folder.entries.remove(&cookie(own));
        self.take_empty(id);
    }

    pub(crate) fn get(&self, id: FolderId) -> Option<&Folder> {
        self.by_id.get(&id)
    }

    /// The top folder of each SVM.
    pub(crate) fn tops(&self) -> impl Iterator<Item = (&str, FolderId)> {
        self.tops.iter().map(|(svm, id)| (svm.as_str(), *id))
    }

    /// Finds an entry of a folder by name.
    pub(crate) fn look_up(&self, id: FolderId, name: &str) -> Option<Node> {
        let (found, node) = self.by_id.get(&id)?.entries.get(&cookie(name))?;
        (found == name).then_some(*node)
    }

    /// Sets or removes a volume's junction.
    pub(crate) fn join(&mut self, volume: ObjectId, junction: Option<Junction>) {
        match junction {
            Some(junction) => drop(self.junctions.insert(volume, junction)),
            None => drop(self.junctions.remove(&volume)),
        }
    }

    /// The junction path of a volume.
    pub(crate) fn junction(&self, svm: &str, volume: &str) -> Option<&str> {
        let mut all = self.junctions.values();
        all.find(|junction| junction.svm == svm && junction.volume == volume).map(|junction| junction.path.as_str())
    }

    /// The volume at a path of an SVM's name space, and the rest of the path below it. If junctions
    /// are nested, the innermost one counts.
    fn joined<'a>(&'a self, svm: &str, path: &'a str) -> Option<(&'a str, &'a str)> {
        let below = |junction: &'a Junction| {
            let rest = path.strip_prefix(junction.path.trim_end_matches('/')).filter(|_| junction.svm == svm)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((junction.volume.as_str(), rest))
        };
        self.junctions.values().filter_map(below).min_by_key(|(_, rest)| rest.len())
    }

    /// Since when a volume has had its place, and its number, which decides between equal dates.
    fn placed(&self, svm: &str, volume: &str) -> Option<(u64, ObjectId)> {
        let (volume, _) = self.by_id.get(&FolderId(hash(&full(svm, &[volume]))))?.made?;
        Some((*self.since.get(&volume)?, volume))
    }

    /// Resolves a path that a client mounts: a junction path, `SVM:/VOLUME`, `/VOLUME`,
    /// `/vol/VOLUME`, or a folder below one of these. Without an SVM, the volume that has had its
    /// place longest counts, so that no SVM takes a path away from another one's clients.
    pub(crate) fn mount(&self, given: &str) -> Option<FolderId> {
        let (svm, path) = match given.trim_start_matches('/').split_once(':') {
            Some((svm, path)) => (Some(svm), path),
            None => (None, given),
        };
        let tops = self.tops().filter(|(name, _)| svm.is_none_or(|svm| svm == *name));
        let found = tops.filter_map(|(name, top)| {
            let (volume, rest) = self.joined(name, path).map_or((None, path), |(volume, rest)| (Some(volume), rest));
            let mut below = volume.into_iter().chain(names(rest)).peekable();
            let placed = below.peek().and_then(|volume| self.placed(name, volume));
            let folder = below.try_fold(top, |id, name| match self.look_up(id, name)? {
                Node::Folder(below) => Some(below),
                Node::File(_) | Node::Made(..) => None,
            })?;
            Some((placed, folder))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(placed, _)| (placed.is_none(), *placed));
        match found[..] {
            [(_, folder)] | [(Some(_), folder), ..] => Some(folder),
            _ => None,
        }
    }

    /// Visits everything below a folder, until `look` returns true.
    pub(crate) fn any(&self, id: FolderId, look: &mut impl FnMut(ObjectId) -> bool) -> bool {
        self.by_id.get(&id).is_some_and(|folder| {
            folder.made.is_some_and(|(volume, _)| look(volume))
                || folder.entries.values().any(|(_, node)| match *node {
                    Node::File(object) => look(object),
                    Node::Made(..) => false,
                    Node::Folder(below) => self.any(below, look),
                })
        })
    }
}

/// The names of a path, without the leading `vol` that all paths have.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix("/vol/").unwrap_or(path);
    path.split('/').filter(|name| !name.is_empty())
}

fn full(svm: &str, names: &[&str]) -> String {
    names.iter().fold(format!("{svm}:"), |full, name| format!("{full}/{name}"))
}

/// FNV-1a. It is part of file handles, so it must never change.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The cookie of an entry, from [`OWN_COOKIES`] on. Smaller ones are for the start, for `.` and
/// `..`, and for what clients made.
fn cookie(name: &str) -> u64 {
    hash(name) | OWN_COOKIES
}

/// The first cookie for what administrators made.
pub(crate) const OWN_COOKIES: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    fn folders() -> Folders {
        let mut folders = Folders::default();
        folders.add("a", "/vol/v1/lun1", ObjectId(1));
        folders.add("a", "/vol/v1/q/lun2", ObjectId(2));
        folders.add("b", "/vol/v2/file", ObjectId(3));
        folders
    }

    #[test]
    fn volumes_are_mounted_by_any_of_their_names() {
        let mut folders = folders();
        let mounted = folders.mount("/v1").unwrap();
        for name in ["/v1/", "/vol/v1", "a:/v1", "/a:/v1", "a:/vol/v1"] {
            assert_eq!(folders.mount(name), Some(mounted), "{name}");
        }
        assert_eq!(folders.look_up(mounted, "lun1"), Some(Node::File(ObjectId(1))));
        let Some(Node::Folder(below)) = folders.look_up(mounted, "q") else { panic!("a qtree") };
        assert_eq!((folders.mount("/v1/q"), folders.get(below).unwrap().parent), (Some(below), Some(mounted)));
        for name in ["/v1/lun1", "/v3", "b:/v1", "/"] {
            assert_eq!(folders.mount(name), None, "{name}");
        }
        folders.add("b", "/vol/v1/lun1", ObjectId(4));
        assert_eq!((folders.mount("/v1"), folders.mount("a:/v1")), (None, Some(mounted)), "which of the two?");
    }

    /// A junction path goes before a volume's own name, which stays; below it are the volume's
    /// folders.
    #[test]
    fn volumes_are_mounted_by_their_junction_paths() {
        let mut folders = folders();
        let (one, below) = (folders.mount("/v1").unwrap(), folders.mount("/v1/q").unwrap());
        let junction = |svm: &str, path: &str, volume: &str| Junction {
            svm: svm.into(),
            path: path.into(),
            volume: volume.into(),
        };
        folders.join(ObjectId(10), Some(junction("a", "/db/prod", "v1")));
        for name in ["/db/prod", "/db/prod/", "a:/db/prod", "/v1", "a:/vol/v1"] {
            assert_eq!(folders.mount(name), Some(one), "{name}");
        }
        assert_eq!((folders.mount("/db/prod/q"), folders.junction("a", "v1")), (Some(below), Some("/db/prod")));
        for name in ["/db", "/db/production", "b:/db/prod", "/db/prod/lun1"] {
            assert_eq!(folders.mount(name), None, "{name}");
        }
        folders.join(ObjectId(11), Some(junction("b", "/v1", "v2")));
        assert_eq!(folders.mount("b:/v1"), folders.mount("b:/v2"));
        folders.join(ObjectId(10), None);
        assert_eq!((folders.mount("/db/prod"), folders.junction("a", "v1")), (None, None));
    }

    /// Who has a path first keeps it for clients that name no SVM, by its junction or its name.
    #[test]
    fn no_svm_takes_a_path_from_another() {
        let mut folders = Folders::default();
        let junction = |svm: &str, path: &str, volume: &str| {
            Some(Junction { svm: svm.into(), path: path.into(), volume: volume.into() })
        };
        folders.place_volume("a", "v2", (ObjectId(2), 20));
        folders.join(ObjectId(2), junction("a", "/db", "v2"));
        let first = folders.mount("/db").unwrap();
        folders.place_volume("b", "v1", (ObjectId(1), 30));
        folders.join(ObjectId(1), junction("b", "/db", "v1"));
        folders.place_volume("c", "db", (ObjectId(3), 40));
        folders.place_volume("c", "v2", (ObjectId(4), 20));
        for path in ["/db", "/v2", "a:/db", "/vol/v2"] {
            assert_eq!(folders.mount(path), Some(first), "{path}");
        }
        let (second, third) = (folders.mount("b:/db").unwrap(), folders.mount("c:/db").unwrap());
        assert!(first != second && second != third);
        folders.join(ObjectId(2), None);
        assert_eq!(folders.mount("/db"), Some(second), "the next one");
    }

    #[test]
    fn a_folder_is_there_as_long_as_something_is_in_it() {
        let mut folders = folders();
        let mounted = folders.mount("/v1").unwrap();
        folders.remove("a", "/vol/v1/lun1");
        assert_eq!(folders.look_up(mounted, "lun1"), None);
        folders.remove("a", "/vol/v1/q/lun2");
        assert!(folders.get(mounted).is_none() && folders.mount("a:/").is_none());
        let mut seen = Vec::new();
        let top = folders.mount("b:/").unwrap();
        assert!(!folders.any(top, &mut |object| {
            seen.push(object);
            false
        }));
        assert_eq!(seen, [ObjectId(3)]);
    }
}
