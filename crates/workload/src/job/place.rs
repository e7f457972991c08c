//! What a job talks to, and how.

use block::Bytes;
use std::path::PathBuf;

/// What a job talks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPlace {
    /// Files and block devices; at least one.
    Files(Vec<FileSpec>),
    /// One place by its name: an export of an NBD server, a file of an NFS server, or several
    /// places as one. The region's `path` is not used.
    Named {
        /// As in `nbd+unix:///name?socket=PATH`, `nbd://HOST:PORT/NAME` or
        /// `striped:64KiB:/dev/vdb,/dev/vdc`.
        name: String,
        /// The part of it that is used.
        region: FileSpec,
    },
    /// Storage that ends everything at once and keeps nothing: what a run costs without any
    /// storage.
    Null {
        /// How large it claims to be.
        size: Bytes,
    },
}

impl Default for JobPlace {
    fn default() -> JobPlace {
        JobPlace::Files(Vec::new())
    }
}

/// One file or device, and the part of it that the job uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSpec {
    /// Where it is.
    pub path: PathBuf,
    /// Start of the part that is used.
    pub offset: Amount,
    /// Added to `offset`: what sets clones apart, already multiplied by the clone's number.
    pub offset_more: Amount,
    /// Bytes that an offset in percent is rounded up to; the job's smallest block when zero.
    pub offset_align: u64,
    /// Length of the part that is used; `None` goes to the end of what is there.
    pub size: Option<Amount>,
    /// A file that is missing or shorter is laid out to this length; `None` is the end of the part
    /// that is used.
    pub file_size: Option<Bytes>,
}

impl FileSpec {
    /// Where the part that is used of something of `whole` bytes begins: one in percent on the next
    /// whole block, as fio has it.
    pub fn start(&self, whole: Bytes, least_block: u64) -> Bytes {
        let start = self.offset.of(whole).0.saturating_add(self.offset_more.of(whole).0);
        let is_part = |amount| matches!(amount, Amount::Percent(_));
        if !is_part(self.offset) && !is_part(self.offset_more) {
            return Bytes(start);
        }
        let align = if self.offset_align > 0 { self.offset_align } else { least_block };
        Bytes(start.next_multiple_of(align.max(1)))
    }
}

/// Bytes, or a part of something whose size only the machine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// So many bytes.
    Bytes(Bytes),
    /// So many hundredths of the whole, 0 to 100.
    Percent(u32),
}

impl Default for Amount {
    fn default() -> Amount {
        Amount::Bytes(Bytes(0))
    }
}

impl Amount {
    /// In bytes, of a whole of `whole`. Percents round down.
    pub fn of(self, whole: Bytes) -> Bytes {
        match self {
            Amount::Bytes(bytes) => bytes,
            Amount::Percent(percent) => Bytes((u128::from(whole.0) * u128::from(percent) / 100) as u64),
        }
    }
}

/// How the next of several files is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileOrder {
    /// By which rule.
    pub turns: Turns,
    /// Requests on one file before the next is chosen; at least 1.
    pub requests_each: u32,
}

/// The rule by which the next file is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turns {
    /// One after the other, around.
    RoundRobin,
    /// The next when one is done.
    Sequential,
    /// Each as likely as any other.
    Random,
    /// Each as likely as it is large: every block of all files is as likely as any other.
    BySize,
    /// File `k` (from 1) with a weight of `1 / k^theta`.
    Zipf {
        /// Above 0, not 1.
        theta: f64,
    },
    /// The first files mostly: `1 − h` of the requests go to `h` of the files.
    Pareto {
        /// Between 0 and 1.
        h: f64,
    },
    /// The middle files mostly.
    Normal {
        /// How far an even draw moves the mean of twelve of all files, in percent of their number.
        width_percent: f64,
    },
}

impl Default for FileOrder {
    fn default() -> FileOrder {
        FileOrder { turns: Turns::RoundRobin, requests_each: 1 }
    }
}

/// How a job talks to its files. [`JobPlace::Named`] and [`JobPlace::Null`] have engines of their
/// own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Plain system calls, one at a time; a depth above 1 is done by as many threads.
    #[default]
    Sync,
    /// io_uring, or threads where the kernel does not have it (which is noted in the outcome).
    Uring,
}

/// How plain system calls are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// They move nothing: a write takes space and makes the file longer, a read takes space alone,
    /// a trim gives it back.
    pub space: bool,
    /// Which other calls on the same file one waits for.
    pub lock: FileLock,
}

/// Which calls of this program's jobs on a file a call waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// All others with a lock.
    Exclusive,
    /// Reads for the others that write, the others for all with a lock.
    SharedByReads,
}

/// Whether a write is durable before it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteSync {
    /// When the system likes.
    #[default]
    None,
    /// Its data (`O_DSYNC`).
    Data,
    /// Its data and all that describes the file (`O_SYNC`).
    All,
}

/// What a file has before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provision {
    /// Nothing: it becomes as long as it is written.
    Nothing,
    /// Its length, and no space.
    Length,
    /// Its length, with the space for it.
    #[default]
    Space,
    /// The space, and no length.
    SpaceAlone,
}

/// How files are made, and what becomes of them. Defaults as fio has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Files that a write job misses are made; without, that is an error.
    pub create: bool,
    /// A file for writing is filled with data before the run, even when it is only to be
    /// overwritten.
    pub overwrite: bool,
    /// What a file that only writes fill has before the first of them.
    pub provision: Provision,
    /// Lays the files out and runs nothing.
    pub only: bool,
    /// Drops the page cache of the files before the run.
    pub invalidate: bool,
    /// Reads all of the files into the page cache before the run.
    pub read_ahead: bool,
    /// Removes the files at the end.
    pub unlink: bool,
    /// Removes the files after each loop and makes them anew for the next.
    pub renew: bool,
    /// The part that is used begins behind what a file holds already.
    pub append: bool,
    /// Where no space is left, that is no failure: it ends there. Without a size files are written
    /// until then, by the job or, where it only reads, by the lay-out before it.
    pub until_full: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            create: true,
            overwrite: false,
            provision: Provision::Space,
            only: false,
            invalidate: true,
            read_ahead: false,
            unlink: false,
            renew: false,
            append: false,
            until_full: false,
        }
    }
}
