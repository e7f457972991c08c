//! The settings of an [`crate::Io`], the backend that results, and why it could not be opened.

use std::fmt;
use std::io;

use block::Bytes;

use crate::failure::reason;

/// Which backend to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// io_uring; threads if it is not available.
    #[default]
    Auto,
    /// io_uring; an error if it is not available.
    Uring,
    /// Threads, even if io_uring is available.
    Threads,
}

/// How the kernel delivers a ring's completions, the cheapest first.
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
    /// The best that a ring may use. If the kernel lacks it, the next is used.
    pub task_work: TaskWork,
    /// Requests that one system call submits, 1–32768. More wait in memory within the same turn.
    pub entries: u32,
    /// Limit on requests in flight; beyond it [`crate::Port::push`] hands the job back.
    pub in_flight: u32,
    /// Size of the slab, rounded up to a multiple of 4 KiB. The registered part is touched and
    /// pinned at opening, which takes up to half a millisecond per MiB.
    pub slab: Bytes,
    /// How much of the slab is pinned and registered with the ring, at most. `RLIMIT_MEMLOCK`
    /// limits it too.
    pub registered: Bytes,
    /// Size of the ring's table of registered files; further files cost slightly more per request.
    pub files: u32,
    /// A kernel thread polls for requests. This excludes [`TaskWork::Deferred`] and
    /// [`TaskWork::Cooperative`].
    pub kernel_polls: Option<Polling>,
    /// Number of threads of the fallback.
    pub threads: u32,
    /// Reads through the page cache are done in the turn itself, without the ring, if the bytes are
    /// there (`RWF_NOWAIT`).
    pub cached_reads: bool,
    /// [`Job::View`](crate::Job::View)s of at least this many bytes are tried; `None` turns all of
    /// them into reads. With threads, all are reads.
    pub views: Option<u32>,
}

/// How a kernel thread polls for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polling {
    /// The processor that the thread runs on; `None` for any.
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
    /// Slots have 32-bit names and the tables grow with the slab; a worker needs no more.
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

/// The backend of an [`crate::Io`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// io_uring.
    Uring {
        /// How completions are delivered.
        task_work: TaskWork,
        /// How much of the slab is registered.
        registered: Bytes,
    },
    /// Threads.
    Threads {
        /// Why io_uring is not used.
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
    /// A setting is out of range.
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
    /// The kernel lacks a feature that Seawall needs.
    #[error("io_uring: this kernel lacks {0}; Linux 5.11 or newer has it")]
    Kernel(&'static str),
}

impl IoError {
    /// The error of the last call of the C library.
    pub(crate) fn last(call: &'static str) -> IoError {
        IoError::Os { call, cause: io::Error::last_os_error() }
    }
}
