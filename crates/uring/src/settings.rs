//! What an [`crate::Io`] is opened with, what it turned out to be, and why it could not be opened.

use std::fmt;
use std::io;

use block::Bytes;

use crate::failure::reason;

/// Which backend to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// io_uring, or threads where it is not to be had.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// Threads, even where io_uring is to be had.
    Threads,
}

/// How the kernel hands completions of a ring over; each is cheaper than the one after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskWork {
    /// Only when the worker asks (Linux ≥ 6.1: `SINGLE_ISSUER`, `DEFER_TASKRUN`).
    #[default]
    Deferred,
    /// At the worker's next system call (Linux ≥ 5.19: `COOP_TASKRUN`).
    Cooperative,
    /// By interrupting the worker.
    Plain,
}

/// Settings of one worker's I/O.
#[derive(Clone, Debug)]
pub struct IoSettings {
    /// Which backend.
    pub backend: Choice,
    /// The best that a ring may use; what the kernel does not have gives way to the next.
    pub task_work: TaskWork,
    /// Requests that the ring takes to the kernel at once, 1–32768; more wait in memory within the
    /// same turn.
    pub entries: u32,
    /// Requests in flight at most; beyond it [`crate::Port::push`] hands the job back.
    pub in_flight: u32,
    /// Size of the slab, rounded up to a multiple of 4 KiB. What is registered of it is touched and
    /// pinned at opening, which takes up to half a millisecond a MiB.
    pub slab: Bytes,
    /// At most this much of the slab is pinned and registered with the ring. What `RLIMIT_MEMLOCK`
    /// allows bounds it too.
    pub registered: Bytes,
    /// Files that the ring holds registered; further ones work at a slightly higher price.
    pub files: u32,
    /// The kernel has a thread of its own that looks for requests. It excludes
    /// [`TaskWork::Deferred`] and [`TaskWork::Cooperative`].
    pub kernel_polls: Option<Polling>,
    /// Threads of the fallback.
    pub threads: u32,
    /// What is read through the page cache is read in the turn itself if it lies there
    /// (`RWF_NOWAIT`), without the ring.
    pub cached_reads: bool,
    /// [`Job::View`](crate::Job::View)s of at least so many bytes are tried; `None` makes all of
    /// them reads. Threads read.
    pub views: Option<u32>,
}

/// How the kernel looks for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polling {
    /// The processor that its thread runs on; any when `None`.
    pub processor: Option<u32>,
}

impl Default for IoSettings {
    fn default() -> IoSettings {
        IoSettings {
            backend: Choice::Auto,
            task_work: TaskWork::Deferred,
            entries: 256,
            in_flight: 4096,
            slab: Bytes::mib(64),
            registered: Bytes(u64::MAX),
            files: 1024,
            kernel_polls: None,
            threads: 4,
            cached_reads: false,
            views: None,
        }
    }
}

impl IoSettings {
    /// Slots are named by 32 bits and the tables grow with the slab; a worker needs no more.
    const SLAB_LIMIT: Bytes = Bytes::gib(64);

    pub(crate) fn check(&self) -> Result<(), IoError> {
        let within = |name, given: u64, least: u64, most: u64| {
            if (least..=most).contains(&given) { Ok(()) } else { Err(IoError::Range { name, given, least, most }) }
        };
        within("entries", self.entries.into(), 1, 32768)?;
        within("in_flight", self.in_flight.into(), 1, 1 << 20)?;
        within("slab", self.slab.0, 4096, IoSettings::SLAB_LIMIT.0)?;
        within("files", self.files.into(), 0, 32768)?;
        within("threads", self.threads.into(), 1, 256)
    }
}

/// What an [`crate::Io`] runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// io_uring.
    Uring {
        /// How completions are handed over.
        task_work: TaskWork,
        /// How much of the slab is registered.
        registered: Bytes,
    },
    /// Threads.
    Threads {
        /// Why not io_uring.
        why: String,
    },
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Backend::Uring { task_work, registered } => {
                let work = match task_work {
                    TaskWork::Deferred => "deferred",
                    TaskWork::Cooperative => "cooperative",
                    TaskWork::Plain => "plain",
                };
                write!(f, "io_uring ({work} task work, {registered} of buffers registered)")
            }
            Backend::Threads { why } => write!(f, "threads ({why})"),
        }
    }
}

/// Why an [`crate::Io`] could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum IoError {
    /// A setting is out of its range.
    #[error("{name}: must be between {least} and {most}, got {given}")]
    Range {
        /// The setting.
        name: &'static str,
        /// Its value.
        given: u64,
        /// The smallest allowed.
        least: u64,
        /// The largest allowed.
        most: u64,
    },
    /// A system call failed.
    #[error("{call}: {}", reason(cause))]
    Os {
        /// The call.
        call: &'static str,
        /// Its error.
        #[source]
        cause: io::Error,
    },
    /// The kernel lacks something that Seawall needs.
    #[error("io_uring: this kernel lacks {0}; Linux 5.11 or newer has it")]
    Kernel(&'static str),
}

impl IoError {
    /// The error of the C library's last call.
    pub(crate) fn last(call: &'static str) -> IoError {
        IoError::Os { call, cause: io::Error::last_os_error() }
    }
}
