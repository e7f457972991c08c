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
    /// SELECTIVETLS: the client may; an export may insist ([`crate::ExportRefusal::TlsRequired`]).
    Optional,
    /// FORCEDTLS: nothing but `STARTTLS` and `ABORT` until encrypted.
    Required,
}

/// What the caller has to do next. In every case it first sends what is in `out`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStep {
    /// Call again when `input` holds at least so many bytes, counted from its front as it is now.
    NeedMore(usize),
    /// One message was handled: call again at once. One call handles one message, so `out` holds at
    /// most one answer.
    Continue,
    /// Send `out`, upgrade the connection, then call `tls_established`. If the upgrade fails,
    /// close.
    StartTls,
    /// The handshake is over; what is left in `input` belongs to transmission.
    Transmission(Box<Admitted>),
    /// The client said goodbye: send `out` and close.
    Aborted,
}

/// A connection that may enter transmission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The name that the client asked for.
    pub requested: String,
    /// The export, as [`crate::Exports::find`] gave it.
    pub export: ExportInfo,
    /// The transmission flags that were sent.
    pub flags: TransmissionFlags,
    /// What was agreed.
    pub settings: Settings,
}
