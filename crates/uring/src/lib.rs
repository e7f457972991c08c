//! Safe asynchronous I/O for one worker thread. It uses io_uring where the kernel allows it, and
//! threads with `pread` and `pwrite` elsewhere, behind the same calls.
//!
//! ```text
//!   session ─ Port ┐                                            ┌ Ring (io_uring)
//!   volume  ─ Port ┼─ Io ─ in-flight table ─ Operation ─ engine ┤
//!   engine  ─ Port ┘   └── slab, files                          └ Pool (threads, poll)
//! ```
//!
//! Why it is safe: while the kernel works on a request, the in-flight table owns everything that
//! the request points to. The buffer's slot is marked as in flight and cannot be accessed, the
//! message is held, and the file cannot be closed. The table releases them only when the kernel has
//! reported the end, and dropping the last handle first waits for all requests.
//!
//! This is the only crate with `unsafe`, so it also has the other calls that need the C library:
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
