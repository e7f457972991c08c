//! The network block device protocol (NBD): its wire format and both state machines, without a socket.
//!
//! Bytes that arrived go in, bytes to send come out; who carries them (a ring, a TLS session, a test) is not known here.
//!
//! ```text
//!            handshake                                   transmission
//!  server    ServerHandshake::receive ──► Admitted ──►   Rules::parse, Rules::check · Framing::{ok, error, read}, Chunks
//!  client    ClientHandshake::receive ──► Agreed   ──►   Request::put · ReplyParser::parse, ReadAssembly, extents
//! ```
//!
//! * A handshake consumes whole messages from the front of what the caller has received, appends its answers to `out`,
//!   and allocates little; it runs once a connection.
//! * Transmission parses and writes *headers* only. Payloads never pass through this crate: a parser says how many bytes
//!   follow and the caller receives them where it wants them. No allocation, no copy.
//! * Lengths are never believed: everything that is waited for has a limit with a name ([`HandshakeLimits`], [`limits`]).
//!
//! "The protocol text" in the comments is `doc/proto.md` of the NBD project; "extension text" is its
//! `extension-ext-header` branch. `docs/nbd.md` lists what is supported and where.

mod chunks;
pub mod client;
mod errno;
mod error;
mod export;
mod extents;
pub mod fuzz;
pub mod limits;
mod option;
mod reply;
mod request;
mod rules;
pub mod server;
mod settings;
mod text;
pub mod values;
mod wire;

pub use chunks::{Body, ReadAssembly, Reply, ReplyParser};
pub use client::{Agreed, ClientHandshake, ClientStep, Listed, Purpose, TlsWish, Wishes};
pub use errno::Errno;
pub use error::{HandshakeError, StreamError};
pub use export::{BlockSizes, BlockSizesError, ExportInfo, Exports, Refusal, TransmissionFlags};
pub use extents::{Extent, Extents};
pub use limits::HandshakeLimits;
pub use reply::{Chunks, Last, ReplyTo};
pub use request::{Command, CommandFlags, Parsed, Request};
pub use rules::Rules;
pub use server::{Admitted, ServerHandshake, ServerStep, TlsMode};
pub use settings::{Framing, Settings};
