//! Storage that a load can be put on: names, sizes, permission to write, and targets.
//!
//! ```text
//!   "…" ──► Place ──ask(intent)──► Permit ──open──► block::Target: files and devices by the ring or by system calls,
//!                     │                             an NBD export, a file of an NFS server, nothing at all
//!                     └ safety: who uses it, what it contains, what the user agreed to lose (Consent)
//! ```
//! There is no other way to a writable target, so nobody can forget to ask for permission.

mod connections;
mod consent;
mod device_number;
mod dial;
mod error;
mod inbox;
mod joined;
mod layout;
pub mod local;
mod nbd_target;
mod nfs_mount;
mod nfs_target;
mod open;
mod peek;
mod pending;
mod permit;
mod place;
mod safety;
mod search;
mod uri;

pub use consent::Consent;
pub use device_number::major_minor;
pub use error::{OpenError, Refusal, make_folder, words};
pub use joined::{Copies, Joined, Member};
pub use layout::{Contents, LaidOut, LayoutPlan, read_ahead};
pub use nbd_target::{Address, ConnectError, Connection, Export, NbdTarget, TlsChoice, TlsError};
pub use nfs_mount::NfsMount;
pub use nfs_target::{NfsError, NfsFile, NfsTarget};
pub use open::{
    Calls, Exclusion, How, LossCounts, Opened, open, open_files, open_joined, own_connection, own_export, own_file,
};
pub use permit::{Intent, Permit, PlaceKind};
pub use place::Place;
pub use safety::EDGE;
