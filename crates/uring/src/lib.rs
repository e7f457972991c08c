//! Safe asynchronous I/O for one worker thread: io_uring where the kernel allows it, threads with
//! `pread` and `pwrite` where it does not, behind the same calls.
//!
//! ```text
//!   session ─ Port ┐                                            ┌ Ring (io_uring)
//!   volume  ─ Port ┼─ Io ─ in-flight table ─ Operation ─ engine ┤
//!   engine  ─ Port ┘   └── slab, files                          └ Pool (threads, poll)
//! ```
//!
//! Why it is safe: while the kernel works on a request, the in-flight table owns everything the
//! request points to: the buffer's slot is marked as flying and nobody can reach it, the message is
//! held, the file cannot be closed. The table lets go only when the kernel has reported the end,
//! and dropping the last handle first waits for all of them.
//!
//! This is the only crate with `unsafe`, so it also holds the other calls that need the C library:
//! opening files for direct I/O, locks, free space, extents, and the clocks.

mod attempts;
mod blocking;
mod buddy;
mod clock;
pub mod disk;
mod engine;
mod failure;
mod files;
mod flight;
pub mod groups;
mod hangup;
mod idle;
pub mod inherited;
mod io;
mod job;
pub mod mark;
pub mod memory;
mod operation;
mod pages;
mod pool;
mod port;
mod region;
mod ring;
mod settings;
pub mod signal;
mod slab;
pub mod socket;
pub mod space;
pub mod usage;
mod view;
mod wake;

pub use clock::Clock;
pub use failure::{Errno, Failure};
pub use files::FileId;
pub use hangup::Hangup;
pub use io::Io;
pub use job::{Done, Job, Message, Part};
pub use pages::Pages;
pub use port::{Port, PortId};
pub use settings::{Backend, Choice, IoError, IoSettings, Polling, TaskWork};
pub use slab::ViewId;
pub use wake::Waker;
