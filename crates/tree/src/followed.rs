//! Followed files. Each has a mark, which is found with its node; and the owner can ask for its
//! present name, or whether it is gone. The owner of the tree names these files each time the tree
//! is read.

use crate::file_tree::FileTree;
use crate::item::Item;
use crate::limits::ROOT;
use crate::node::{NodeId, NodeKind};
use crate::refusal::TreeRefusal;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

/// A file to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// Its identifier for the owner; not 0.
    pub mark: u32,
    /// The file.
    pub node: NodeId,
    /// Its presumed name, from the root or its realm.
    pub name: String,
}

/// News of a followed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Its identifier for the owner.
    pub mark: u32,
    /// Its present name, from the root or its realm, as [`FileTree::shown`] writes it; `None` if it
    /// is gone.
    pub name: Option<String>,
}

/// All followed files.
#[derive(Debug, Default)]
pub(crate) struct Following {
    files: BTreeMap<u32, Names>,
    /// Marks of files that are gone, which was not reported yet.
    gone: BTreeSet<u32>,
    /// A name may have changed since it was reported.
    is_stirred: bool,
}

#[derive(Debug)]
struct Names {
    mark: u32,
    /// All its names: the number of the folder, and the name in it.
    names: Vec<(u32, Arc<[u8]>)>,
    /// The name that was last reported.
    reported: String,
}

impl FileTree {
    /// Follows these files from now on, and no others. If some have several names, or another name
    /// than presumed, all folders are searched once.
    pub fn follow(&mut self, files: Vec<Follow>) {
        let mut before = std::mem::take(&mut self.following.files);
        for number in before.keys() {
            self.set_mark(*number, 0);
        }
        let mut searched = BTreeSet::new();
        for Follow { mark, node, name } in files {
            let known = self.known(node).ok().filter(|found| found.info.kind == NodeKind::File);
            let Some(links) = known.map(|found| found.info.links) else {
                self.following.gone.insert(mark);
                continue;
            };
            if let Some(known) = before.remove(&node.number).filter(|known| known.mark == mark) {
                self.set_mark(node.number, mark);
                self.following.is_stirred |= known.reported != name;
                self.following.files.insert(node.number, Names { reported: name, ..known });
                continue;
            }
            let names = match self.entry_at(node, &name) {
                Some(entry) if links == 1 => vec![entry],
                Some(_) | None => {
                    searched.insert(node.number);
                    Vec::new()
                }
            };
            self.set_mark(node.number, mark);
            self.following.files.insert(node.number, Names { mark, names, reported: name });
        }
        if !searched.is_empty() {
            self.search(&searched);
            self.following.is_stirred = true;
        }
    }

    /// The mark of a file, 0 if it is not followed; and the number of the folder whose realm a node
    /// is in, 0 for none.
    pub fn owner(&self, node: NodeId) -> (u32, u32) {
        self.known(node).map_or((0, 0), |found| (found.mark, found.realm))
    }

    /// News of followed files since the last call: those that are gone, and those with a new name.
    pub fn take_followed(&mut self) -> Vec<Followed> {
        let gone = std::mem::take(&mut self.following.gone);
        let mut news: Vec<Followed> = gone.into_iter().map(|mark| Followed { mark, name: None }).collect();
        if std::mem::take(&mut self.following.is_stirred) {
            let mut folders = HashMap::new();
            let mut files = std::mem::take(&mut self.following.files);
            for (number, names) in &mut files {
                let Some(name) = self.name_of(*number, names, &mut folders).filter(|name| *name != names.reported)
                else {
                    continue;
                };
                names.reported.clone_from(&name);
                news.push(Followed { mark: names.mark, name: Some(name) });
            }
            self.following.files = files;
        }
        news
    }

    /// The file at a path from the root, `QTREE/FOLDER/NAME`.
    ///
    /// # Errors
    /// There is no such file.
    pub fn file_at(&self, path: &str) -> Result<NodeId, TreeRefusal> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        let found = names.try_fold(NodeId::ROOT, |folder, name| self.look_up(folder, name.as_bytes()))?;
        match self.info(found)?.kind {
            NodeKind::File => Ok(found),
            NodeKind::Folder => Err(TreeRefusal::IsFolder),
            NodeKind::Link => Err(TreeRefusal::Invalid),
        }
    }

    /// A name or path as text: bytes that are not UTF-8, or would break a line, become `%` and two
    /// digits.
    pub fn shown(name: &[u8]) -> String {
        let mut text = String::with_capacity(name.len());
        let escape = |text: &mut String, bytes: &[u8]| {
            bytes.iter().for_each(|byte| write!(text, "%{byte:02X}").expect("a text takes all"));
        };
        for chunk in name.utf8_chunks() {
            for letter in chunk.valid().chars() {
                match letter.is_control() {
                    true => escape(&mut text, letter.encode_utf8(&mut [0; 4]).as_bytes()),
                    false => text.push(letter),
                }
            }
            escape(&mut text, chunk.invalid());
        }
        text
    }

    /// Records what a change will do to the names of followed files; the change is not made yet.
    pub(crate) fn stir(&mut self, item: &Item<'_>) {
        if self.following.files.is_empty() {
            return;
        }
        match *item {
            Item::Gone { number } => {
                if let Some(names) = self.following.files.remove(&number) {
                    self.following.gone.insert(names.mark);
                }
            }
            Item::Entry { folder, number, name, .. } => {
                let moves_others = self.state.folder(number).is_some_and(|moved| !moved.by_cookie.is_empty());
                if let Some(names) = self.following.files.get_mut(&number) {
                    names.names.push((folder, name.into()));
                    self.following.is_stirred = true;
                }
                self.following.is_stirred |= moves_others;
            }
            Item::NoEntry { folder, cookie } => {
                let named = self.state.folder(folder).and_then(|folder| folder.by_cookie.get(&cookie));
                if let Some(named) = named
                    && let Some(names) = self.following.files.get_mut(&named.number)
                {
                    names.names.retain(|(of, name)| (*of, name) != (folder, &named.name));
                    self.following.is_stirred = true;
                }
            }
            Item::Node { .. } | Item::Extent { .. } | Item::Cut { .. } | Item::Reserve { .. } => {}
        }
    }

    fn set_mark(&mut self, number: u32, mark: u32) {
        if let Some(node) = self.state.nodes.get_mut(&number) {
            node.mark = mark;
        }
    }

    /// The entry of a file at a path from the root or its realm.
    fn entry_at(&self, node: NodeId, path: &str) -> Option<(u32, Arc<[u8]>)> {
        let mut folder = self.top_of(node.number);
        let mut names = path.split('/').peekable();
        while let Some(name) = names.next() {
            let found = self.state.folder(folder)?;
            let (cookie, number) = found.find(name.as_bytes())?;
            if names.peek().is_none() {
                return (number == node.number).then(|| (folder, Arc::clone(&found.by_cookie[&cookie].name)));
            }
            folder = number;
        }
        None
    }

    /// Finds all names of these files.
    fn search(&mut self, files: &BTreeSet<u32>) {
        for (folder, node) in &self.state.nodes {
            let entries = node.folder().into_iter().flat_map(|folder| folder.by_cookie.values());
            for named in entries.filter(|named| files.contains(&named.number)) {
                if let Some(names) = self.following.files.get_mut(&named.number) {
                    names.names.push((*folder, Arc::clone(&named.name)));
                }
            }
        }
    }

    /// The folder that paths to a node start from: its realm, or the root.
    fn top_of(&self, number: u32) -> u32 {
        self.state.nodes.get(&number).map(|node| node.realm).filter(|realm| *realm != 0).unwrap_or(ROOT)
    }

    /// The present name of a file: the reported one if it still has that, otherwise its first one.
    fn name_of(&self, number: u32, names: &Names, folders: &mut HashMap<u32, Vec<u8>>) -> Option<String> {
        let top = self.top_of(number);
        let mut all = names.names.iter().map(|(folder, name)| {
            let mut path = self.path_of_folder(*folder, top, folders);
            path.extend_from_slice(name);
            Self::shown(&path)
        });
        let first = all.next()?;
        if first == names.reported {
            Some(first)
        } else {
            Some(all.find(|name| *name == names.reported).unwrap_or(first))
        }
    }

    /// A folder's path from `top`, with a slash after each name. Each folder on the way is searched
    /// once per round, because a folder knows its parent but not its own name.
    fn path_of_folder(&self, folder: u32, top: u32, known: &mut HashMap<u32, Vec<u8>>) -> Vec<u8> {
        let (mut way, mut at) = (Vec::new(), folder);
        while at != top && at != ROOT && !known.contains_key(&at) {
            way.push(at);
            at = self.state.nodes.get(&at).map_or(ROOT, |node| node.info.parent);
        }
        let mut path = known.get(&at).cloned().unwrap_or_default();
        for number in way.into_iter().rev() {
            let above = self.state.nodes.get(&number).map_or(ROOT, |node| node.info.parent);
            let mut named = self.state.folder(above).into_iter().flat_map(|above| above.by_cookie.values());
            if let Some(named) = named.find(|named| named.number == number) {
                path.extend_from_slice(&named.name);
                path.push(b'/');
            }
            known.insert(number, path.clone());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::NewNode;
    use block::Span;

    const NOW: Span = Span::SECOND;
    const TOP: NodeId = NodeId::ROOT;

    fn new(kind: NodeKind) -> NewNode<'static> {
        NewNode { kind, mode: 0o755, uid: 1, gid: 1, verifier: 0, target: b"" }
    }

    fn file(tree: &mut FileTree, folder: NodeId, name: &str) -> NodeId {
        tree.make(NOW, folder, name.as_bytes(), &new(NodeKind::File)).unwrap()
    }

    fn folder(tree: &mut FileTree, above: NodeId, name: &str) -> NodeId {
        tree.make(NOW, above, name.as_bytes(), &new(NodeKind::Folder)).unwrap()
    }

    fn follow(mark: u32, node: NodeId, name: &str) -> Follow {
        Follow { mark, node, name: name.into() }
    }

    fn renames(tree: &mut FileTree) -> Vec<(u32, Option<String>)> {
        tree.take_followed().into_iter().map(|news| (news.mark, news.name)).collect()
    }

    fn named(mark: u32, name: &str) -> (u32, Option<String>) {
        (mark, Some(name.into()))
    }

    /// A new name of the file or of a folder above it is reported once. A name that is restored is
    /// not, and neither is what happens to others.
    #[test]
    fn names_are_followed() {
        let mut tree = FileTree::empty();
        let (a, b) = (folder(&mut tree, TOP, "a"), folder(&mut tree, TOP, "b"));
        let below = folder(&mut tree, a, "below");
        let (one, two) = (file(&mut tree, below, "one"), file(&mut tree, TOP, "two"));
        tree.follow(vec![follow(7, one, "a/below/one"), follow(8, two, "two")]);
        assert_eq!((tree.owner(one), tree.owner(two), tree.owner(below)), ((7, 0), (8, 0), (0, 0)));
        file(&mut tree, below, "other");
        folder(&mut tree, below, "empty");
        assert_eq!(renames(&mut tree), []);
        tree.rename(NOW, (a, b"below"), (b, b"moved")).unwrap();
        assert_eq!(renames(&mut tree), [named(7, "b/moved/one")]);
        tree.rename(NOW, (TOP, b"two"), (TOP, b"three")).unwrap();
        tree.rename(NOW, (TOP, b"three"), (TOP, b"two")).unwrap();
        assert_eq!(renames(&mut tree), []);
        // They exchange their names by way of a third one.
        tree.rename(NOW, (below, b"one"), (TOP, b"x")).unwrap();
        tree.rename(NOW, (TOP, b"two"), (below, b"one")).unwrap();
        tree.rename(NOW, (TOP, b"x"), (TOP, b"two")).unwrap();
        assert_eq!(renames(&mut tree), [named(7, "two"), named(8, "b/moved/one")]);
        tree.rename(NOW, (TOP, b"two"), (TOP, b"\xff\n%")).unwrap();
        assert_eq!(renames(&mut tree), [named(7, "%FF%0A%")]);
    }

    /// A file is gone with its last name, or when another one replaces it; until then it is
    /// reported under a name that it has.
    #[test]
    fn files_go_with_their_last_name() {
        let mut tree = FileTree::empty();
        let (one, two) = (file(&mut tree, TOP, "one"), file(&mut tree, TOP, "two"));
        tree.link(NOW, one, TOP, b"before").unwrap();
        tree.follow(vec![follow(7, one, "one"), follow(8, two, "two")]);
        assert_eq!(renames(&mut tree), [], "it has that name");
        tree.link(NOW, one, TOP, b"after").unwrap();
        tree.remove(NOW, TOP, b"one").unwrap();
        assert_eq!(renames(&mut tree), [named(7, "before")]);
        tree.remove(NOW, TOP, b"before").unwrap();
        assert_eq!(renames(&mut tree), [named(7, "after")]);
        let other = file(&mut tree, TOP, "other");
        tree.rename(NOW, (TOP, b"other"), (TOP, b"after")).unwrap();
        tree.remove(NOW, TOP, b"two").unwrap();
        assert_eq!(renames(&mut tree), [(7, None), (8, None)]);
        assert_eq!((tree.owner(other), tree.owner(one)), ((0, 0), (0, 0)));
    }

    /// An owner that reads a tree anew is told of files with another name than presumed, and of
    /// missing ones; a file that is no longer followed has no mark.
    #[test]
    fn a_new_reading_finds_them() {
        let mut tree = FileTree::empty();
        let realm = tree.make_realm(NOW, b"q", &new(NodeKind::Folder)).unwrap();
        let deep = folder(&mut tree, realm, "deep");
        let (one, two) = (file(&mut tree, deep, "one"), file(&mut tree, TOP, "two"));
        let stale = NodeId { generation: two.generation + 1, ..two };
        tree.follow(vec![follow(7, one, "elsewhere"), follow(8, stale, "two"), follow(9, deep, "q/deep")]);
        assert_eq!(renames(&mut tree), [(8, None), (9, None), named(7, "deep/one")]);
        assert_eq!((tree.owner(one), tree.owner(two)), ((7, realm.number), (0, 0)));
        tree.rename(NOW, (TOP, b"q"), (TOP, b"r")).unwrap();
        assert_eq!(renames(&mut tree), [], "a realm's own name is no part of it");
        tree.follow(vec![follow(8, two, "two")]);
        assert_eq!((tree.owner(one), tree.owner(two)), ((0, realm.number), (8, 0)));
        assert_eq!(tree.file_at("/r/deep/one"), Ok(one));
        assert_eq!(tree.file_at("r/deep"), Err(TreeRefusal::IsFolder));
        assert_eq!(tree.file_at("two/x"), Err(TreeRefusal::NotFolder));
    }
}
