//! A job's target: files and devices, and how they are used.

use crate::trace::ReplayOptions;
use workload::job::{Amount, FileLock, FileOrder, Layout, WriteSync};

/// Files, devices, and how they are used.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetOptions {
    /// `filename`, as typed.
    pub filename: Option<String>,
    /// `directory`, as typed.
    pub directory: Option<String>,
    /// `filename_format`.
    pub filename_format: String,
    /// `nrfiles`, or the number of names in `filename` if that comes later.
    pub nrfiles: u32,
    /// `file_service_type`.
    pub order: FileOrder,
    /// `ioengine`.
    pub engine: Engine,
    /// `ioengine` as typed.
    pub engine_name: String,
    /// `uri` of an NBD export, or the places that are joined.
    pub uri: Option<String>,
    /// `nfs_url`: the folder on an NFS server that has the job's file.
    pub nfs_url: Option<String>,
    /// `read_iolog`: the recording that is replayed.
    pub read_iolog: Option<String>,
    /// `write_iolog`: the file to which requests are recorded.
    pub write_iolog: Option<String>,
    /// `replay_redirect`: the single target of the whole recording.
    pub replay_redirect: Option<String>,
    /// How the recording is replayed.
    pub replay: ReplayOptions,
    /// `direct`.
    pub direct: bool,
    /// `sync`.
    pub write_sync: WriteSync,
    /// `lockfile`.
    pub lock: FileLock,
    /// How files are created.
    pub layout: Layout,
    /// `size`.
    pub size: Option<Amount>,
    /// `filesize`: smallest and largest.
    pub filesize: Option<(u64, u64)>,
    /// `offset`.
    pub offset: Amount,
    /// `offset_increment`.
    pub offset_increment: Amount,
    /// `offset_align`.
    pub offset_align: u64,
}

/// The engines that fio's engine names map to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Plain system calls.
    #[default]
    Sync,
    /// Plain system calls that allocate and free space and transfer no data.
    Space,
    /// io_uring.
    Uring,
    /// An NBD export.
    Nbd,
    /// A file of an NFS server.
    Nfs,
    /// Several places as one.
    Joined,
    /// No I/O at all.
    Null,
}

impl Engine {
    /// Whether its requests are system calls, made one at a time.
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
            replay: ReplayOptions::default(),
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
