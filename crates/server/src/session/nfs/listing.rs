//! Directory listings, page by page: `.` and `..`, what clients made, what administrators made.

use super::answer::Service;
use super::nodes::handle_of;
use crate::folders::{FolderId, Node, OWN_COOKIES};
use ::nfs::listing::{Listed, Pager};
use ::nfs::{FileHandle, Reply, Status};
use block::ObjectId;
use tree::NodeId;
use tree::permission::READ;

/// A page that is being filled.
struct Page {
    pager: Pager,
    eof: bool,
    count: u64,
}

impl Service<'_> {
    /// Cookies stay valid whatever is added or removed, so the verifier is not needed.
    pub(super) fn list(&self, handle: &FileHandle, cookie: u64, pager: Pager) -> Reply<'_> {
        let node = match self.node(handle) {
            Ok(node) => node,
            Err(status) => return Reply::Listing(None, Err(status)),
        };
        let post = Some(self.attributes(node));
        let mut page = Page { pager, eof: true, count: 0 };
        let filled = self.check(node, READ).and_then(|()| match node {
            Node::File(_) => Err(Status::NotDirectory),
            Node::Folder(id) => self.list_folder(id, cookie, &mut page),
            Node::Made(volume, id) => self.list_made_folder(volume, id, cookie, &mut page),
        });
        match filled {
            Err(status) => Reply::Listing(post, Err(status)),
            Ok(()) if page.count == 0 && !page.eof => Reply::Listing(post, Err(Status::TooSmall)),
            Ok(()) => Reply::Listing(post, Ok(page.pager.finish([0; 8], page.eof))),
        }
    }

    fn list_folder(&self, id: FolderId, cookie: u64, page: &mut Page) -> Result<(), Status> {
        let folder = self.exports.folders().get(id).ok_or(Status::Stale)?;
        self.list_dots((Node::Folder(id), Node::Folder(folder.parent.unwrap_or(id))), cookie, page);
        if let Some((volume, node)) = folder.made
            && cookie < OWN_COOKIES
            && page.eof
        {
            self.list_made(volume, node, cookie, page)?;
        }
        if !page.eof {
            return Ok(());
        }
        let behind = (std::ops::Bound::Excluded(cookie.max(2)), std::ops::Bound::Unbounded);
        for (own, (name, node)) in folder.entries.range(behind).filter(|(_, (_, node))| self.sees(*node)) {
            if !self.add(page, *own, name.as_bytes(), *node) {
                break;
            }
        }
        Ok(())
    }

    fn list_made_folder(&self, volume: ObjectId, id: NodeId, cookie: u64, page: &mut Page) -> Result<(), Status> {
        let parent = self.files.tree(volume)?.parent(id).map_err(crate::volume_files::status_of)?;
        self.list_dots((Node::Made(volume, id), self.made(volume, parent)), cookie, page);
        if page.eof { self.list_made(volume, id, cookie, page) } else { Ok(()) }
    }

    fn list_dots(&self, (own, above): (Node, Node), cookie: u64, page: &mut Page) {
        for (number, name, node) in [(1, b"." as &[u8], own), (2, b"..", above)] {
            if number > cookie && !self.add(page, number, name, node) {
                return;
            }
        }
    }

    /// Lists what clients made in a folder. An entry that an administrator later made under the
    /// same name hides it.
    fn list_made(&self, volume: ObjectId, folder: NodeId, cookie: u64, page: &mut Page) -> Result<(), Status> {
        let tree = self.files.tree(volume)?;
        let top = self.exports.folders().folder_of(volume, folder);
        for entry in tree.list(folder, cookie.max(2)).map_err(crate::volume_files::status_of)? {
            if top.is_some_and(|top| self.own_entry(top, entry.name).is_some()) {
                continue;
            }
            if !self.add(page, entry.cookie, entry.name, Node::Made(volume, entry.node)) {
                break;
            }
        }
        Ok(())
    }

    fn add(&self, page: &mut Page, cookie: u64, name: &[u8], node: Node) -> bool {
        let attributes = self.attributes(node);
        let (fileid, handle) = (attributes.fileid, Some(handle_of(node)));
        let entry = Listed { fileid, name, cookie, attributes: Some(attributes), handle };
        let fits = page.pager.add(&entry);
        page.eof &= fits;
        page.count += u64::from(fits);
        fits
    }
}
