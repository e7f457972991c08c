//! The client's side of the handshake.
//!
//! ```text
//!   greeting ──► flags ──► STARTTLS? ──► EXTENDED_HEADERS? ──► STRUCTURED_REPLY? ──► SET_META_CONTEXT? ──► GO ──► Agreed
//!                              │               └ refused: next        └ refused: next      └ refused: next   │
//!                              └ refused: next, or the end if TLS is required              ERR_UNSUP: EXPORT_NAME
//! ```
//!
//! A server that does not know an option costs one round trip and that feature, but not the
//! connection.

mod handshake;
mod replies;

pub use handshake::ClientHandshake;

use crate::export::{BlockSizes, TransmissionFlags};
use crate::settings::Settings;

/// The purpose of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Use the export.
    #[default]
    Go,
    /// Get information on the export, then leave.
    Info,
    /// List the exports, then leave.
    List,
}

/// Whether the client wants encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// No.
    #[default]
    Off,
    /// Yes, if the server supports it. An attacker in between can prevent it unnoticed.
    Prefer,
    /// Yes; otherwise there is no connection.
    Require,
}

/// What the client asks for. What the server does not support is left out of [`Agreed::settings`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// The purpose.
    pub purpose: Purpose,
    /// The export's name; empty for the default export.
    pub export: String,
    /// Encryption.
    pub tls: TlsWish,
    /// Extended headers, which are preferred to structured replies.
    pub extended: bool,
    /// Structured replies.
    pub structured: bool,
    /// The metadata context `base:allocation`; needs one of the two above.
    pub allocation: bool,
    /// The metadata context `seawall:sharing`; needs one of the same two.
    pub sharing: bool,
    /// Ask for block sizes, and promise to respect them.
    pub block_sizes: bool,
    /// Use `EXPORT_NAME` immediately, as old clients do.
    pub old_entry: bool,
}

impl Wishes {
    /// Everything that the protocol offers except encryption, for using the export `name`.
    pub fn all(name: &str) -> Wishes {
        Wishes {
            purpose: Purpose::Go,
            export: name.to_owned(),
            tls: TlsWish::Off,
            extended: true,
            structured: true,
            allocation: true,
            sharing: false,
            block_sizes: true,
            old_entry: false,
        }
    }

    /// Only the export `name`, with simple replies.
    pub fn plain(name: &str) -> Wishes {
        Wishes { extended: false, structured: false, allocation: false, block_sizes: false, ..Wishes::all(name) }
    }
}

/// What the caller must do next. In every case it first sends what is in `out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// Call again when `input` has at least this many bytes, counted from its present front.
    NeedMore(usize),
    /// One message was handled: call again immediately.
    Continue,
    /// Upgrade the connection, then call `tls_established`. If the upgrade fails, close.
    StartTls,
    /// The handshake is complete; the rest of `input` belongs to transmission.
    Transmission(Box<Agreed>),
    /// The answer to [`Purpose::Info`]: send `out`, which has an ABORT, and close.
    Described(Box<Agreed>),
    /// The answer to [`Purpose::List`]: send `out`, which has an ABORT, and close.
    Listed(Vec<Listed>),
}

/// What the client knows of its export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Its size in bytes.
    pub size: u64,
    /// The features of the export.
    pub flags: TransmissionFlags,
    /// Block sizes, if the server sent them; otherwise respect [`BlockSizes::PORTABLE`].
    pub block: Option<BlockSizes>,
    /// The server's name for the export, if it sent one.
    pub name: Option<String>,
    /// The server's description of the export, if it sent one.
    pub description: Option<String>,
    /// What was agreed.
    pub settings: Settings,
}

/// One export of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its description; empty if there is none.
    pub description: String,
}
