//! What FSSTAT and FSINFO tell of a file system: its space, and what it takes.

use super::ANSWER;
use super::answer::Service;
use crate::folders::Node;
use ::nfs::limits::DATA_BYTES_MAX;
use ::nfs::{FsInfo, FsStat, Moment, Status};
use block::ObjectId;
use tree::limits::{FILE_BYTES_MAX, NODES_MAX};

impl Service<'_> {
    /// Space that clients' files may use on a volume, and how much is left: at most what the pool
    /// has left, because volumes are thin-provisioned.
    fn space_of(&self, volume: ObjectId) -> Result<FsStat, Status> {
        let tree = self.files.tree(volume)?;
        let ((bytes, used), most) = (tree.space(), NODES_MAX as u64);
        let free = bytes.saturating_sub(used).min(self.pool_left);
        let files_free = most - tree.nodes();
        Ok(FsStat {
            bytes,
            free,
            available: free,
            files: most,
            files_free,
            files_available: files_free,
            steady_seconds: 0,
        })
    }

    /// Space of a file system. LUNs and administrators' files have fixed sizes, so it is full for
    /// them; a volume has space for clients' files.
    pub(super) fn space(&self, node: Node) -> Result<FsStat, Status> {
        if let Some(volume) = self.volume_of(node) {
            return self.space_of(volume);
        }
        let (mut bytes, mut files) = (0, 0);
        self.each_size(node, &mut |size| (bytes, files) = (bytes + size, files + 1));
        Ok(FsStat { bytes, files, ..FsStat::default() })
    }

    /// The sizes of the LUNs and administrators' files that a node is, or that are in it.
    fn each_size(&self, node: Node, tell: &mut dyn FnMut(u64)) {
        let mut tell = |object: ObjectId| {
            tell(self.exports.get(object).map_or(0, |export| export.size));
            false
        };
        match node {
            Node::File(object) => drop(tell(object)),
            Node::Folder(id) => drop(self.exports.folders().any(id, &mut tell)),
            Node::Made(..) => {}
        }
    }

    /// The longest file is one of clients, or a longer LUN beside them: a client that is told less
    /// reads no further.
    pub(super) fn info(&self, node: Node) -> FsInfo {
        let (most, mut file_most) = (DATA_BYTES_MAX, FILE_BYTES_MAX);
        self.each_size(node, &mut |size| file_most = file_most.max(size));
        FsInfo {
            read_most: most,
            read_best: most,
            read_multiple: 4096,
            write_most: most,
            write_best: most,
            write_multiple: 4096,
            listing_best: ANSWER as u32,
            file_most,
            time_step: Moment { seconds: 0, nanos: 1 },
            properties: FsInfo::HOMOGENEOUS | FsInfo::LINKS | FsInfo::SYMBOLIC_LINKS | FsInfo::SETS_TIMES,
        }
    }
}
