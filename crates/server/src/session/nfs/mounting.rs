//! What a client does before it has a handle: port look-up, the list of exports, and mounting.

use super::answer::{Answered, Service};
use super::nodes::handle_of;
use super::{ANSWER, said};
use crate::folders::{FolderId, Node};
use crate::portmap::put_result;
use ::nfs::mount::{self, Exported, MountCall, MountStatus};
use ::nfs::rpc::{self, CallHead, CallOutcome};
use ::nfs::{Reader, XdrError, record};

/// Most bytes of a list in an answer, with the lengths of its members.
const LISTED: usize = ANSWER as usize - 1024;

impl Service<'_> {
    pub(super) fn mount(
        &mut self,
        head: &CallHead<'_>,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Answered, XdrError> {
        let Some(call) = MountCall::read(head.procedure, reader)? else {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        };
        let start = record::begin(out);
        rpc::put_reply(out, head.xid, CallOutcome::Success);
        match call {
            MountCall::Mount(path) => {
                let found = std::str::from_utf8(path).ok().and_then(|path| self.exports.folders().mount(path));
                let seen = found.filter(|folder| self.sees(Node::Folder(*folder)));
                let mounted = seen.map(|folder| (handle_of(Node::Folder(folder)), vec![mount::FLAVOUR_SYS]));
                let named = String::from_utf8_lossy(path);
                tracing::info!(client = %self.caller, path = &*named, done = mounted.is_some(), "mount");
                if mounted.is_some() {
                    self.files.mounts.add(self.caller.to_string(), path);
                }
                mount::put_mounted(out, &mounted.ok_or(MountStatus::NoEntry));
            }
            MountCall::Exports => mount::put_exports(out, &self.exported()),
            MountCall::Dump => mount::put_mounts(
                out,
                up_to(LISTED, self.files.mounts.all(), |(client, path)| client.len() + path.len()),
            ),
            MountCall::Unmount(path) => self.files.mounts.remove(&self.caller.to_string(), Some(path)),
            MountCall::UnmountAll => self.files.mounts.remove(&self.caller.to_string(), None),
            MountCall::Null => {}
        }
        record::end(out, start, 0);
        Ok(Answered::Reply)
    }

    /// The volumes that the client may see, by junction path or name (with the SVM if the name is
    /// not unique), and the networks they are granted to. Volumes that do not fit into the answer
    /// can still be mounted.
    fn exported(&self) -> Vec<Exported> {
        let folders = self.exports.folders();
        let mut all = Vec::new();
        for (svm, top) in folders.tops() {
            let entries = folders.get(top).into_iter().flat_map(|folder| folder.entries.values());
            for (name, node) in entries.filter(|(_, node)| self.sees(*node)) {
                let short = folders.junction(svm, name).map_or_else(|| format!("/{name}"), str::to_owned);
                let is_alone = matches!(node, Node::Folder(id) if folders.mount(&short) == Some(*id));
                let path = if is_alone { short } else { format!("/{svm}:{short}") };
                let groups = if let Node::Folder(id) = node { self.networks(*id) } else { Vec::new() };
                all.push(Exported { path: path.into_bytes(), groups });
            }
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        let size = |exported: &Exported| {
            exported.path.len() + exported.groups.iter().map(|group| group.len() + 12).sum::<usize>()
        };
        up_to(LISTED, all, size).collect()
    }

    /// The networks that a volume is granted to.
    fn networks(&self, id: FolderId) -> Vec<Vec<u8>> {
        let volume = self.made_at(id).and_then(|(volume, _)| self.files.get(volume));
        let networks = volume.map_or_else(Vec::new, |volume| self.access.networks(&volume.name));
        networks.into_iter().map(String::into_bytes).collect()
    }

    /// Answers a port mapper call.
    pub(super) fn map_port(
        &self,
        head: &CallHead<'_>,
        reader: &mut Reader<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Answered, XdrError> {
        let start = record::begin(out);
        rpc::put_reply(out, head.xid, CallOutcome::Success);
        if put_result(head.procedure, reader, self.exports.nfs_port(), out)?.is_none() {
            return Ok(said(out, head.xid, CallOutcome::ProcedureUnavailable));
        }
        record::end(out, start, 0);
        Ok(Answered::Reply)
    }
}

/// The first items of a list that fit in `most` bytes, with 16 more for each.
fn up_to<T>(most: usize, all: impl IntoIterator<Item = T>, size: impl Fn(&T) -> usize) -> impl Iterator<Item = T> {
    all.into_iter().scan(most, move |left, one| {
        *left = left.checked_sub(size(&one) + 16)?;
        Some(one)
    })
}
