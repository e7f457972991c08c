//! What a job talks to: files, devices, and how they are used.

use crate::trace::Playing;
use workload::job::{Amount, FileLock, FileOrder, Layout, WriteSync};

/// Files, devices, and how they are used.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetOptions {
    /// `filename`, with its colons.
    pub filename: Option<String>,
    /// `directory`, with its colons.
    pub directory: Option<String>,
    /// `filename_format`.
    pub filename_format: String,
    /// `nrfiles`, or how many names `filename` has where that stands behind it.
    pub nrfiles: u32,
    /// `file_service_type`.
    pub order: FileOrder,
    /// `ioengine`.
    pub engine: Engine,
    /// `ioengine` as typed.
    pub engine_name: String,
    /// `uri` of an NBD export, or the places that are joined.
    pub uri: Option<String>,
    /// `nfs_url`: the folder of an NFS server in which the job's file is.
    pub nfs_url: Option<String>,
    /// `read_iolog`: the recording that is run again.
    pub read_iolog: Option<String>,
    /// `write_iolog`: where what is asked is recorded.
    pub write_iolog: Option<String>,
    /// `replay_redirect`: all of the recording goes there.
    pub replay_redirect: Option<String>,
    /// How the recording is played.
    pub playing: Playing,
    /// `direct`.
    pub direct: bool,
    /// `sync`.
    pub write_sync: WriteSync,
    /// `lockfile`.
    pub lock: FileLock,
    /// How files are made.
    pub layout: Layout,
    /// `size`.
    pub size: Option<Amount>,
    /// `filesize`: least and most.
    pub filesize: Option<(u64, u64)>,
    /// `offset`.
    pub offset: Amount,
    /// `offset_increment`.
    pub offset_increment: Amount,
    /// `offset_align`.
    pub offset_align: u64,
}

/// The engines, after what fio's many names come to here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Plain system calls.
    #[default]
    Sync,
    /// Plain system calls that take space and give it back, and move nothing.
    Space,
    /// io_uring.
    Uring,
    /// An NBD export.
    Nbd,
    /// A file of an NFS server.
    Nfs,
    /// Several places as one.
    Joined,
    /// Nothing at all.
    Null,
}

impl Engine {
    /// Whether its requests are system calls, one at a time.
    pub fn calls(self) -> bool {
        matches!(self, Engine::Sync | Engine::Space)
    }

    /// Whether it works on files and devices.
    pub fn has_files(self) -> bool {
        matches!(self, Engine::Sync | Engine::Space | Engine::Uring)
    }
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        TargetOptions {
            filename: None,
            directory: None,
            filename_format: "$jobname.$jobnum.$filenum".into(),
            nrfiles: 1,
            order: FileOrder::default(),
            engine: Engine::Sync,
            engine_name: "psync".into(),
            uri: None,
            nfs_url: None,
            read_iolog: None,
            write_iolog: None,
            replay_redirect: None,
            playing: Playing::default(),
            direct: false,
            write_sync: WriteSync::None,
            lock: FileLock::None,
            layout: Layout::default(),
            size: None,
            filesize: None,
            offset: Amount::default(),
            offset_increment: Amount::default(),
            offset_align: 0,
        }
    }
}
