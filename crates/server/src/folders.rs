//! What NFS clients see: the LUNs and files of all volumes as files in folders,
//! `/VOLUME/QTREE/NAME` of each SVM.
//!
//! ```text
//!   svm01:  /  ──►  vol1/  ──►  lun1          the LUN or file svm01:/vol/vol1/lun1
//!                          └──► qtree1/ ──► lun2
//! ```
//! At the top of a volume and in its qtrees files that clients made are beside them.
//! A volume with a junction path is mounted by that, too. A folder is there as long as something is
//! in it. Entries have the hash of their name for a
//! cookie, so that a client may go on behind any of them whatever came or went meanwhile.

use admin::Junction;
use block::ObjectId;
use std::collections::{BTreeMap, HashMap};
use tree::NodeId;

/// A folder, by the hash of its full name. It stays the same over a new start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FolderId(pub u64);

/// An entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Folder(FolderId),
    File(ObjectId),
    /// What a client made on a volume, below its top.
    Made(ObjectId, NodeId),
}

/// A folder's entries, by their cookies.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// The one that it is in; itself at the top.
    pub parent: Option<FolderId>,
    /// The folder of a volume's files that it is, too: what clients made there is beside its
    /// entries.
    pub made: Option<(ObjectId, NodeId)>,
    pub entries: BTreeMap<u64, (String, Node)>,
}

/// All folders.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    by_id: HashMap<FolderId, Folder>,
    /// The top of each SVM.
    tops: BTreeMap<String, FolderId>,
    /// Where each volume is: its SVM, and its name there.
    volumes: HashMap<ObjectId, (String, String)>,
    /// Tops of volumes and qtrees.
    made: BTreeMap<(ObjectId, NodeId), FolderId>,
    /// Volumes that have a place of their own in their SVM's name space.
    junctions: BTreeMap<ObjectId, Junction>,
}

impl Folders {
    /// A LUN or file is there; `path` is its name at its SVM, `/vol/VOLUME/…`.
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

    /// A volume has that name at its SVM from now on.
    pub(crate) fn place_volume(&mut self, svm: &str, name: &str, volume: ObjectId) {
        self.take_volume(volume);
        let top = FolderId(hash(&full(svm, &[])));
        let id = FolderId(hash(&full(svm, &[name])));
        self.tops.insert(svm.into(), top);
        self.by_id.entry(top).or_default().entries.insert(cookie(name), (name.into(), Node::Folder(id)));
        self.by_id.entry(id).or_default().parent = Some(top);
        self.volumes.insert(volume, (svm.into(), name.into()));
        self.set_made(id, (volume, NodeId::ROOT));
    }

    fn set_made(&mut self, id: FolderId, made: (ObjectId, NodeId)) {
        self.by_id.entry(id).or_default().made = Some(made);
        self.made.insert(made, id);
    }

    /// A volume has these qtrees and no others: their names, and what they are among its files.
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

    /// A volume is not there any more, or not by that name.
    pub(crate) fn take_volume(&mut self, volume: ObjectId) {
        self.take_made(volume, |_| true);
        self.volumes.remove(&volume);
    }

    /// Folders of a volume's files are none any more, and not there if nothing else is in them.
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

    /// A folder in which nothing is goes, and then those above it.
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

    /// The folder that a folder of a volume's files is.
    pub(crate) fn folder_of(&self, volume: ObjectId, node: NodeId) -> Option<FolderId> {
        self.made.get(&(volume, node)).copied()
    }

    /// It is not there any more, nor are the folders that are empty without it.
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

    /// The top of each SVM.
    pub(crate) fn tops(&self) -> impl Iterator<Item = (&str, FolderId)> {
        self.tops.iter().map(|(svm, id)| (svm.as_str(), *id))
    }

    /// An entry of a folder by its name.
    pub(crate) fn look_up(&self, id: FolderId, name: &str) -> Option<Node> {
        let (found, node) = self.by_id.get(&id)?.entries.get(&cookie(name))?;
        (found == name).then_some(*node)
    }

    /// A volume has another place in the name space, or none.
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

    /// The volume at a path of an SVM's name space, and what of the path is below it. Of a junction
    /// below another one it is the nearer.
    fn joined<'a>(&'a self, svm: &str, path: &'a str) -> Option<(&'a str, &'a str)> {
        let below = |junction: &'a Junction| {
            let rest = path.strip_prefix(junction.path.trim_end_matches('/')).filter(|_| junction.svm == svm)?;
            (rest.is_empty() || rest.starts_with('/')).then_some((junction.volume.as_str(), rest))
        };
        self.junctions.values().filter_map(below).min_by_key(|(_, rest)| rest.len())
    }

    /// What a client may mount: a junction path, `SVM:/VOLUME`, `/VOLUME` where one SVM alone has
    /// it, `/vol/VOLUME`, and folders below.
    pub(crate) fn mount(&self, given: &str) -> Option<FolderId> {
        let (svm, path) = match given.trim_start_matches('/').split_once(':') {
            Some((svm, path)) => (Some(svm), path),
            None => (None, given),
        };
        let mut found = self.tops().filter(|(name, _)| svm.is_none_or(|svm| svm == *name)).filter_map(|(name, top)| {
            let mut id = top;
            let (volume, rest) = self.joined(name, path).map_or((None, path), |(volume, rest)| (Some(volume), rest));
            for name in volume.into_iter().chain(names(rest)) {
                match self.look_up(id, name)? {
                    Node::Folder(below) => id = below,
                    Node::File(_) | Node::Made(..) => return None,
                }
            }
            Some(id)
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// Everything below a folder, until `look` says that it has seen enough.
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

/// The names of a path, without the `vol` that all have in front.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let path = path.strip_prefix("/vol/").unwrap_or(path);
    path.split('/').filter(|name| !name.is_empty())
}

fn full(svm: &str, names: &[&str]) -> String {
    names.iter().fold(format!("{svm}:"), |full, name| format!("{full}/{name}"))
}

/// FNV-1a: handles have it, so it must stay the same.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Cookies from [`OWN_COOKIES`] on; those before are the beginning, the two names that every folder
/// has, and what clients made.
fn cookie(name: &str) -> u64 {
    hash(name) | OWN_COOKIES
}

/// The first cookie of what administrators made.
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
