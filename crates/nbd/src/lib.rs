//! The network block device protocol (NBD): its wire format and both state machines, without a
//! socket.
//!
//! Received bytes go in, bytes to send come out. What carries them (a ring, a TLS session, a test)
//! is unknown here.
//!
//! ```text
//!            handshake                                   transmission
//!  server    ServerHandshake::receive ──► Admitted ──►   Rules::parse, Rules::check · Framing::{ok, error, read}, Chunks
//!  client    ClientHandshake::receive ──► Agreed   ──►   NbdRequest::put · ReplyParser::parse, ReadAssembly, extents
//! ```
//!
//! * A handshake consumes whole messages from the front of the received bytes, appends its answers
//!   to `out`, and allocates little; it runs once per connection.
//! * Transmission parses and writes *headers* only. Payloads never pass through this crate: a
//!   parser says how many bytes follow and the caller receives them where it wants them. No
//!   allocation, no copy.
//! * Lengths are never trusted: everything that is waited for has a named limit
//!   ([`HandshakeLimits`], [`limits`]).
//!
//! The server's side of transmission, from received bytes to replies:
//!
//! ```
//! use nbd::*;
//!
//! /// Answers the request at the front of `received` from `disk`; bytes used, or 0 if more must come.
//! fn serve(rules: &Rules, received: &[u8], disk: &mut [u8], out: &mut Vec<u8>) -> Result<usize, StreamError> {
//!     let (request, header) = match rules.parse(received)? {
//!         Parsed::Message(request, header) => (request, header),
//!         Parsed::NeedMore(_) => return Ok(0),
//!     };
//!     let used = header + request.payload as usize;
//!     let Some(payload) = received.get(header..used) else { return Ok(0) };
//!     let to = ReplyTo::from(&request);
//!     if let Err(errno) = rules.check(&request) {
//!         // The payload of a refused write is consumed all the same.
//!         rules.framing.error(out, to, errno, "");
//!         return Ok(used);
//!     }
//!     let range = request.offset as usize..(request.offset + request.length) as usize;
//!     match request.command {
//!         Command::Read => {
//!             rules.framing.read(out, to, request.length as u32);
//!             out.extend_from_slice(&disk[range]);
//!         }
//!         Command::Write => {
//!             disk[range].copy_from_slice(payload);
//!             rules.framing.ok(out, to);
//!         }
//!         _ => rules.framing.error(out, to, NbdErrno::Invalid, ""),
//!     }
//!     Ok(used)
//! }
//!
//! // EXPORT_NAME, simple replies: a write of 4 bytes at 2, a read of 4 bytes at 0.
//! let agreed = Agreed { size: 8, ..Agreed::default() };
//! let (rules, mut disk, mut out) = (Rules::of_client(&agreed), [0; 8], Vec::new());
//! let mut received = Vec::new();
//! NbdRequest::write(1, 2, 4).put(rules.framing, &mut received)?;
//! received.extend_from_slice(b"data");
//! NbdRequest::new(2, Command::Read, 0, 4).put(rules.framing, &mut received)?;
//! let used = serve(&rules, &received, &mut disk, &mut out)?;
//! assert_eq!(used, 28 + 4);
//! assert_eq!(serve(&rules, &received[used..], &mut disk, &mut out)?, 28);
//! assert_eq!(out[16 + 16..], *b"\0\0da");
//! # Ok::<(), StreamError>(())
//! ```
//!
//! "The protocol text" in the comments is `doc/proto.md` of the NBD project; "extension text" is
//! its `extension-ext-header` branch. `docs/nbd.md` lists what is supported and where.

mod chunks;
pub mod client;
mod contexts;
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
pub use contexts::{Context, Contexts};
pub use errno::NbdErrno;
pub use error::{HandshakeError, StreamError};
pub use export::{BlockSizes, BlockSizesError, ExportInfo, ExportRefusal, Exports, TransmissionFlags};
pub use extents::{Extents, StatusExtent, fit_extents};
pub use limits::HandshakeLimits;
pub use reply::{Chunks, Last, ReplyTo};
pub use request::{Command, CommandFlags, NbdRequest, Parsed};
pub use rules::Rules;
pub use server::{Admitted, ServerHandshake, ServerStep, TlsMode};
pub use settings::{Framing, Settings};
