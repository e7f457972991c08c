//! The client's side of the handshake.
//!
//! ```text
//!   greeting ──► flags ──► STARTTLS? ──► EXTENDED_HEADERS? ──► STRUCTURED_REPLY? ──► SET_META_CONTEXT? ──► GO ──► Agreed
//!                              │               └ refused: next        └ refused: next      └ refused: next   │
//!                              └ refused: next, or the end if TLS is required              ERR_UNSUP: EXPORT_NAME
//! ```
//!
//! A server that does not know an option costs one round trip and the feature, never the
//! connection.

mod handshake;
mod replies;

pub use handshake::ClientHandshake;

use crate::export::{BlockSizes, TransmissionFlags};
use crate::settings::Settings;

/// What the client is here for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Use the export.
    #[default]
    Go,
    /// Learn about the export, then leave.
    Info,
    /// Learn which exports there are, then leave.
    List,
}

/// Whether the client wants encryption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsWish {
    /// No.
    #[default]
    Off,
    /// Yes, if the server can. An attacker in between can prevent it unnoticed.
    Prefer,
    /// Yes, or not at all.
    Require,
}

/// What the client would like. What the server cannot do is left out of [`Agreed::settings`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wishes {
    /// What for.
    pub purpose: Purpose,
    /// The export's name; empty for the default export.
    pub export: String,
    /// Encryption.
    pub tls: TlsWish,
    /// Extended headers, before structured replies.
    pub extended: bool,
    /// Structured replies.
    pub structured: bool,
    /// The metadata context `base:allocation`; needs one of the two above.
    pub allocation: bool,
    /// The metadata context `seawall:sharing`; needs one of the same two.
    pub sharing: bool,
    /// Ask for block sizes, and promise to keep to them.
    pub block_sizes: bool,
    /// Use `EXPORT_NAME` at once, as old clients do.
    pub old_entry: bool,
}

impl Wishes {
    /// Everything that the protocol offers but encryption, for using the export `name`.
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

    /// Nothing but the export `name`: simple replies.
    pub fn plain(name: &str) -> Wishes {
        Wishes { extended: false, structured: false, allocation: false, block_sizes: false, ..Wishes::all(name) }
    }
}

/// What the caller has to do next. In every case it first sends what is in `out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// Call again when `input` holds at least so many bytes, counted from its front as it is now.
    NeedMore(usize),
    /// One message was handled: call again at once.
    Continue,
    /// Upgrade the connection, then call `tls_established`. If the upgrade fails, close.
    StartTls,
    /// The handshake is over; what is left in `input` belongs to transmission.
    Transmission(Box<Agreed>),
    /// The answer to [`Purpose::Info`]: send `out`, which says goodbye, and close.
    Described(Box<Agreed>),
    /// The answer to [`Purpose::List`]: send `out`, which says goodbye, and close.
    Listed(Vec<Listed>),
}

/// What the client knows of its export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Bytes.
    pub size: u64,
    /// What the export can do.
    pub flags: TransmissionFlags,
    /// Block sizes, if the server said them; else [`BlockSizes::PORTABLE`] is what to keep to.
    pub block: Option<BlockSizes>,
    /// The server's own name of the export, if it said one.
    pub name: Option<String>,
    /// The server's description of the export, if it said one.
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
