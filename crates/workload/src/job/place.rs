//! The storage that a job loads, and how it accesses it.

use block::Bytes;
use std::path::PathBuf;

/// The storage that a job loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobPlace {
    /// Files and block devices; at least one.
    Files(Vec<FileSpec>),
    /// A place by name: an export of an NBD server, a file of an NFS server, or several places as
    /// one. The region's `path` is not used.
    Named {
        /// For example `nbd+unix:///name?socket=PATH`, `nbd://HOST:PORT/NAME` or
        /// `striped:64KiB:/dev/vdb,/dev/vdc`.
        name: String,
        /// The part of it that is used.
        region: FileSpec,
    },
    /// Completes every request at once and keeps nothing, to measure the cost of a run without
    /// storage.
    Null {
        /// The size it reports.
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
    /// Added to `offset`, to separate clones; already multiplied by the clone's number.
    pub offset_more: Amount,
    /// Alignment of an offset in percent, which is rounded up; the job's smallest block when zero.
    pub offset_align: u64,
    /// Length of the part that is used; `None` means the rest of the file.
    pub size: Option<Amount>,
    /// The length to which a missing or shorter file is laid out; `None` means the end of the part
    /// that is used.
    pub file_size: Option<Bytes>,
}

impl FileSpec {
    /// Start of the part that is used, in something of `whole` bytes. A percentage is rounded up to
    /// a whole block, as in fio.
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

/// Bytes, or a percentage of something whose size only the machine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many bytes.
    Bytes(Bytes),
    /// A percentage of the whole, 0 to 100.
    Percent(u32),
}

impl Default for Amount {
    fn default() -> Amount {
        Amount::Bytes(Bytes(0))
    }
}

impl Amount {
    /// The amount in bytes; percentages of `whole` round down.
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
    /// In turn.
    RoundRobin,
    /// The next file when one is done.
    Sequential,
    /// Uniformly at random.
    Random,
    /// In proportion to size, so that every block of all files is equally likely.
    BySize,
    /// By Zipf's law over 1024 places in each file: place `k` (from 1) has the weight
    /// `1 / k^theta`. The first place is drawn from the seed.
    Zipf {
        /// Above 0, not 1.
        theta: f64,
    },
    /// A fraction `1 − h` of the requests go to a fraction `h` of the places, which follow each
    /// other as for Zipf.
    Pareto {
        /// Between 0 and 1.
        h: f64,
    },
    /// Mostly the middle files.
    Normal {
        /// Width of the uniform draw that moves the mean of twelve draws over all files, in percent
        /// of their number.
        width_percent: f64,
    },
}

impl Default for FileOrder {
    fn default() -> FileOrder {
        FileOrder { turns: Turns::RoundRobin, requests_each: 1 }
    }
}

/// How a job accesses its files. [`JobPlace::Named`] and [`JobPlace::Null`] have their own ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Blocking system calls, one at a time; depths above 1 use as many threads.
    #[default]
    Sync,
    /// io_uring, or threads where the kernel does not allow it (noted in the outcome).
    Uring,
}

/// How blocking system calls are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Transfers no data: a write allocates space and extends the file, a read only allocates, a
    /// trim releases it.
    pub space: bool,
    /// Which other calls on the same file a call excludes.
    pub lock: FileLock,
}

/// Which calls of this program's jobs on the same file a call waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileLock {
    /// None.
    #[default]
    None,
    /// All others that lock.
    Exclusive,
    /// Reads wait for writers, everything else for all others that lock.
    SharedByReads,
}

/// What is durable when a write completes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteSync {
    /// Nothing; the system writes it back when it likes.
    #[default]
    None,
    /// The data (`O_DSYNC`).
    Data,
    /// The data and all metadata (`O_SYNC`).
    All,
}

/// What a file is given before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Provision {
    /// Nothing: it grows as it is written.
    Nothing,
    /// Its length, but no space.
    Length,
    /// Its length and the space for it.
    #[default]
    Space,
    /// The space, but not its length.
    SpaceAlone,
}

/// How files are created, and what happens to them afterwards. The defaults are fio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Creates files that a job needs and that are missing; otherwise that is an error.
    pub create: bool,
    /// Fills a file with data before the run even if the job only writes to it.
    pub overwrite: bool,
    /// What a file that is filled only by the job's writes is given beforehand.
    pub provision: Provision,
    /// Only lays the files out.
    pub only: bool,
    /// Drops the files from the page cache before the run.
    pub invalidate: bool,
    /// Loads the files into the page cache before the run.
    pub read_ahead: bool,
    /// Removes the files at the end.
    pub unlink: bool,
    /// Removes the files after each loop and creates them again for the next.
    pub renew: bool,
    /// The part that is used begins at the present end of the file.
    pub append: bool,
    /// Running out of space ends the job without a failure. Files without a size are written until
    /// then, by the job or, if it only reads, by the lay-out before it.
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
