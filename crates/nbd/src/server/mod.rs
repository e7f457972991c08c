//! The server's side of the handshake.
//!
//! ```text
//!   start ──► greeting ──► client flags ──► option, answer, option, answer …
//!                                              │            ├─ GO, EXPORT_NAME ──► Admitted
//!                                              │            ├─ ABORT ───────────► Aborted
//!                                              │            └─ STARTTLS ────────► StartTls, tls_established, options again
//!                                              └─ unknown: ERR_UNSUP, its data skipped
//! ```

mod answer;
mod handshake;

pub use handshake::ServerHandshake;

use crate::export::{ExportInfo, TransmissionFlags};
use crate::settings::Settings;

/// Whether connections are encrypted. Protocol text, "TLS support".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// NOTLS: `STARTTLS` is refused.
    #[default]
    Off,
    /// SELECTIVETLS: the client may use it; an export may require it
    /// ([`crate::ExportRefusal::TlsRequired`]).
    Optional,
    /// FORCEDTLS: only `STARTTLS` and `ABORT` are allowed before encryption.
    Required,
}

/// What the caller must do next. In every case it first sends what is in `out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStep {
    /// Call again when `input` has at least this many bytes, counted from its present front.
    NeedMore(usize),
    /// One message was handled: call again immediately. Each call handles one message, so `out` has
    /// at most one answer.
    Continue,
    /// Send `out`, upgrade the connection, then call `tls_established`. If the upgrade fails,
    /// close.
    StartTls,
    /// The handshake is complete; the rest of `input` belongs to transmission.
    Transmission(Box<Admitted>),
    /// The client said goodbye: send `out` and close.
    Aborted,
}

/// A connection that may enter transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The name that the client asked for.
    pub requested: String,
    /// The export, from [`crate::Exports::find`].
    pub export: ExportInfo,
    /// The transmission flags that were sent.
    pub flags: TransmissionFlags,
    /// What was agreed.
    pub settings: Settings,
}
