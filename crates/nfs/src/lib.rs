//! The wire format of NFS version 3 and of MOUNT version 3 over ONC RPC, for clients and servers.
//!
//! ```text
//!   TCP stream   │mark│ RPC head │ arguments or results │ data of READ or WRITE │filling│ │mark│ …
//!                  │       │            │                     └ does not pass through: the reader puts it where it wants
//!                  │       │            └ call::Call, reply::Reply; mount, portmap
//!                  │       └ rpc: whom it is from, which program and procedure; how it went
//!                  └ record: lengths, fragments, limits
//! ```
//! Pure: bytes in, values out, and the reverse. A parser borrows names from its input and copies no
//! data: of a READ's reply and a WRITE's call it reads only the head, which says how many bytes of
//! data follow. All values are in XDR: big-endian, in units of four bytes (RFC 4506). ONC RPC is
//! RFC 5531, NFS version 3 and MOUNT are RFC 1813, the port mapper is RFC 1833.

pub mod attributes;
pub mod call;
pub mod fuzz;
pub mod handle;
pub mod limits;
pub mod listing;
pub mod mount;
pub mod portmap;
pub mod record;
pub mod reply;
pub mod rpc;
pub mod status;
pub mod xdr;

pub use attributes::{Attributes, FileKind, Moment, Post, SetAttributes, SetMoment, Wcc, WccAttributes};
pub use call::{Call, CreateHow, Entry, Node, Procedure, Stable};
pub use handle::FileHandle;
pub use reply::{FsInfo, FsStat, PathConf, ReadDone, Reply, Verifier, Written};
pub use status::Status;
pub use xdr::{Reader, XdrError};

/// The number of the NFS program.
pub const PROGRAM: u32 = 100_003;
/// The supported version.
pub const VERSION: u32 = 3;
