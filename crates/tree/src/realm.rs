//! Realms: top-level folders whose contents are never moved or linked out of them, so that all of
//! it can be accounted to one owner. The owner of the tree names them each time the tree is read.

use crate::changes::NewNode;
use crate::file_tree::FileTree;
use crate::limits::ROOT;
use crate::node::{NodeId, NodeKind};
use crate::refusal::TreeRefusal;
use block::Span;

impl FileTree {
    /// Makes a top-level folder a realm, creating it if it is missing. It visits all files in the
    /// folder, so it takes a while if there are many.
    ///
    /// # Errors
    /// The name belongs to something else, or there is no room.
    pub fn make_realm(&mut self, now: Span, name: &[u8], new: &NewNode<'_>) -> Result<NodeId, TreeRefusal> {
        let folder = match self.look_up(NodeId::ROOT, name) {
            Ok(found) if self.known_folder(found).is_ok() => found,
            Ok(_) => return Err(TreeRefusal::Exists),
            Err(TreeRefusal::NoEntry) => {
                self.make(now, NodeId::ROOT, name, &NewNode { kind: NodeKind::Folder, ..*new })?
            }
            Err(refusal) => return Err(refusal),
        };
        self.set_realm(folder.number, folder.number);
        Ok(folder)
    }

    /// Makes a realm an ordinary folder.
    pub fn end_realm(&mut self, folder: NodeId) {
        if self.known(folder).is_ok() {
            self.set_realm(folder.number, 0);
        }
    }

    /// The number of the folder whose realm a node is in; `None` for none.
    pub fn realm(&self, node: NodeId) -> Option<u32> {
        self.known(node).ok().map(|node| node.realm).filter(|realm| *realm != 0)
    }

    fn set_realm(&mut self, folder: u32, realm: u32) {
        debug_assert!(folder != ROOT, "the top is no realm");
        let mut todo = vec![folder];
        while let Some(number) = todo.pop() {
            let Some(node) = self.state.nodes.get_mut(&number) else { continue };
            if std::mem::replace(&mut node.realm, realm) != realm
                && let Some(folder) = node.folder()
            {
                todo.extend(folder.by_cookie.values().map(|named| named.number));
            }
        }
    }

    /// Checks that a node may be moved or linked from one folder to another.
    pub(crate) fn check_realm(&self, from: NodeId, to: NodeId) -> Result<(), TreeRefusal> {
        if self.known(from)?.realm == self.known(to)?.realm { Ok(()) } else { Err(TreeRefusal::OtherRealm) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is created, moved and linked in a realm belongs to it and stays there. A folder that
    /// becomes a realm includes everything below it.
    #[test]
    fn what_is_in_a_realm_stays_there() {
        let mut tree = FileTree::empty();
        let new = |kind| NewNode { kind, mode: 0o755, uid: 1, gid: 1, verifier: 0, target: b"" };
        let (file, folder) = (new(NodeKind::File), new(NodeKind::Folder));
        let top = NodeId::ROOT;
        let old = tree.make(Span::SECOND, top, b"old", &folder).unwrap();
        let below = tree.make(Span::SECOND, old, b"below", &folder).unwrap();
        let deep = tree.make(Span::SECOND, below, b"deep", &file).unwrap();
        let loose = tree.make(Span::SECOND, top, b"loose", &file).unwrap();
        assert_eq!(tree.make_realm(Span::SECOND, b"loose", &folder), Err(TreeRefusal::Exists));
        assert_eq!(tree.make_realm(Span::SECOND, b"old", &folder), Ok(old));
        let fresh = tree.make_realm(Span::SECOND, b"new", &folder).unwrap();
        let mine = tree.make(Span::SECOND, fresh, b"mine", &file).unwrap();
        let realms = [old, below, deep, fresh, mine, loose, top].map(|node| tree.realm(node));
        let (one, two) = (Some(old.number), Some(fresh.number));
        assert_eq!(realms, [one, one, one, two, two, None, None]);
        for (from, to) in [((below, "deep"), (fresh, "x")), ((below, "deep"), (top, "x")), ((top, "loose"), (old, "x"))]
        {
            let moved = tree.rename(Span::SECOND, (from.0, from.1.as_bytes()), (to.0, to.1.as_bytes()));
            assert_eq!(moved, Err(TreeRefusal::OtherRealm));
        }
        assert_eq!(tree.link(Span::SECOND, deep, fresh, b"x"), Err(TreeRefusal::OtherRealm));
        tree.rename(Span::SECOND, (below, b"deep"), (old, b"moved")).unwrap();
        tree.link(Span::SECOND, deep, below, b"linked").unwrap();
        // The folder itself may be renamed, and become an ordinary folder.
        tree.rename(Span::SECOND, (top, b"old"), (top, b"named")).unwrap();
        assert_eq!(tree.realm(deep), one);
        tree.end_realm(old);
        assert_eq!((tree.realm(old), tree.realm(deep)), (None, None));
        tree.rename(Span::SECOND, (old, b"moved"), (top, b"out")).unwrap();
    }
}
