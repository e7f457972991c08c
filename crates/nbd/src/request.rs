//! The encoding of requests, in both directions.
//!
//! ```text
//! compact   4 magic  2 flags  2 type  8 cookie  8 offset  4 length    28 bytes
//! extended  4 magic  2 flags  2 type  8 cookie  8 offset  8 length    32 bytes
//! filter    8 length  4 context id  4 context id …                    behind a block status with the flag PAYLOAD_LEN
//! ```

use crate::contexts::Contexts;
use crate::error::StreamError;
use crate::settings::Framing;
use crate::values::{EXTENDED_REQUEST_MAGIC, REQUEST_MAGIC, cmd};
use crate::wire::{Cursor, Put};
use std::fmt;

/// Bytes of a compact request header.
pub(crate) const COMPACT_BYTES: usize = 28;
/// Bytes of an extended request header.
pub(crate) const EXTENDED_BYTES: usize = 32;
/// Bytes of a block status's filter before the ids.
pub(crate) const FILTER_BYTES: u64 = 8;

/// The result of parsing the front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// The message is incomplete: it needs at least this many bytes from the front.
    NeedMore(usize),
    /// A message and the length of its header; its payload, if any, follows.
    Message(T, usize),
}

/// A request's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NbdRequest {
    /// The client's identifier, opaque to the server.
    pub cookie: u64,
    /// What to do.
    pub command: Command,
    /// How to do it. For a write, `PAYLOAD_LEN` belongs to the framing: it is added and removed
    /// here.
    pub flags: CommandFlags,
    /// Offset of the first byte.
    pub offset: u64,
    /// Length of the range in the export, in bytes.
    pub length: u64,
    /// Bytes of payload that follow the header. They must be consumed even if the request is
    /// refused.
    pub payload: u32,
    /// For a block status: which of the selected contexts are wanted, `None` for all. On the wire
    /// this is a payload, but it is parsed and written with the header.
    pub only: Option<Contexts>,
}

/// The commands of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Read.
    Read,
    /// Write the payload.
    Write,
    /// Disconnect: no reply; the server finishes outstanding requests and closes.
    Disconnect,
    /// Make all writes durable that were replied to.
    Flush,
    /// The range is no longer needed.
    Trim,
    /// The range will be needed soon.
    Cache,
    /// Make the range read as zeroes.
    WriteZeroes,
    /// Report the status of the range.
    BlockStatus,
    /// An unknown number, which is refused with EINVAL.
    Other(u16),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Read => "read",
            Command::Write => "write",
            Command::Disconnect => "disconnect",
            Command::Flush => "flush",
            Command::Trim => "trim",
            Command::Cache => "cache",
            Command::WriteZeroes => "write zeroes",
            Command::BlockStatus => "block status",
            Command::Other(number) => return write!(f, "command {number}"),
        })
    }
}

/// Modifiers of a command. Protocol text, "Command flags".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandFlags(pub u16);

impl CommandFlags {
    /// No flags.
    pub const NONE: CommandFlags = CommandFlags(0);
    /// Durable before the reply.
    pub const FUA: CommandFlags = CommandFlags(1 << 0);
    /// `WRITE_ZEROES`: the space stays allocated.
    pub const NO_HOLE: CommandFlags = CommandFlags(1 << 1);
    /// `READ`: answer in one content chunk.
    pub const DF: CommandFlags = CommandFlags(1 << 2);
    /// `BLOCK_STATUS`: one extent only.
    pub const REQ_ONE: CommandFlags = CommandFlags(1 << 3);
    /// `WRITE_ZEROES`: fail with ENOTSUP if it would be no faster than writing.
    pub const FAST_ZERO: CommandFlags = CommandFlags(1 << 4);
    /// Extended headers: the length is that of the payload.
    pub const PAYLOAD_LEN: CommandFlags = CommandFlags(1 << 5);

    /// Whether all of `flags` are set.
    pub const fn contains(self, flags: CommandFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The union of both.
    #[must_use]
    pub const fn and(self, flags: CommandFlags) -> CommandFlags {
        CommandFlags(self.0 | flags.0)
    }

    /// Without `flags`.
    #[must_use]
    pub const fn without(self, flags: CommandFlags) -> CommandFlags {
        CommandFlags(self.0 & !flags.0)
    }
}

impl Command {
    /// The number on the wire.
    pub const fn wire(self) -> u16 {
        match self {
            Command::Read => cmd::READ,
            Command::Write => cmd::WRITE,
            Command::Disconnect => cmd::DISC,
            Command::Flush => cmd::FLUSH,
            Command::Trim => cmd::TRIM,
            Command::Cache => cmd::CACHE,
            Command::WriteZeroes => cmd::WRITE_ZEROES,
            Command::BlockStatus => cmd::BLOCK_STATUS,
            Command::Other(number) => number,
        }
    }

    /// The command with this number.
    pub const fn from_wire(number: u16) -> Command {
        match number {
            cmd::READ => Command::Read,
            cmd::WRITE => Command::Write,
            cmd::DISC => Command::Disconnect,
            cmd::FLUSH => Command::Flush,
            cmd::TRIM => Command::Trim,
            cmd::CACHE => Command::Cache,
            cmd::WRITE_ZEROES => Command::WriteZeroes,
            cmd::BLOCK_STATUS => Command::BlockStatus,
            other => Command::Other(other),
        }
    }

    /// Whether it changes the export.
    pub const fn writes(self) -> bool {
        matches!(self, Command::Write | Command::Trim | Command::WriteZeroes)
    }
}

impl NbdRequest {
    /// A request without a payload.
    pub const fn new(cookie: u64, command: Command, offset: u64, length: u64) -> NbdRequest {
        NbdRequest { cookie, command, flags: CommandFlags::NONE, offset, length, payload: 0, only: None }
    }

    /// A write of `length` bytes, which follow the header.
    pub const fn write(cookie: u64, offset: u64, length: u32) -> NbdRequest {
        NbdRequest { payload: length, ..NbdRequest::new(cookie, Command::Write, offset, length as u64) }
    }

    /// With `flags`.
    #[must_use]
    pub const fn with(self, flags: CommandFlags) -> NbdRequest {
        NbdRequest { flags, ..self }
    }

    /// Parses a header at the front of `bytes`. A payload longer than `payload_bytes` is an error:
    /// it is not received even to be discarded.
    pub fn parse(bytes: &[u8], framing: Framing, payload_bytes: u32) -> Result<Parsed<NbdRequest>, StreamError> {
        let (size, magic) = match framing {
            Framing::Simple | Framing::Structured => (COMPACT_BYTES, REQUEST_MAGIC),
            Framing::Extended => (EXTENDED_BYTES, EXTENDED_REQUEST_MAGIC),
        };
        let Some((header, _)) = bytes.split_at_checked(size) else { return Ok(Parsed::NeedMore(size)) };
        let got = u32::from_be_bytes(field(header, 0));
        if got != magic {
            return Err(StreamError::Magic { what: "a request", got });
        }
        let flags = CommandFlags(u16::from_be_bytes(field(header, 4)));
        let command = Command::from_wire(u16::from_be_bytes(field(header, 6)));
        let length = match framing {
            Framing::Extended => u64::from_be_bytes(field(header, 24)),
            _ => u64::from(u32::from_be_bytes(field(header, 24))),
        };
        let payload = if has_payload(framing, command, flags) { length } else { 0 };
        // For a write the flag is redundant; elsewhere it stays, to be refused with EINVAL.
        let flags = match (framing, command) {
            (Framing::Extended, Command::Write) => flags.without(CommandFlags::PAYLOAD_LEN),
            _ => flags,
        };
        if payload > u64::from(payload_bytes) {
            return Err(StreamError::PayloadTooLong { len: payload, limit: payload_bytes });
        }
        let cookie = u64::from_be_bytes(field(header, 8));
        let offset = u64::from_be_bytes(field(header, 16));
        // `payload` is at most a u32.
        let request = NbdRequest { cookie, command, flags, offset, length, payload: payload as u32, only: None };
        Ok(Parsed::Message(request, size))
    }

    /// A block status of the contexts `only`, for servers that offer
    /// [`crate::TransmissionFlags::BLOCK_STATUS_PAYLOAD`].
    pub const fn status_only(cookie: u64, offset: u64, length: u64, only: Contexts) -> NbdRequest {
        NbdRequest { only: Some(only), ..NbdRequest::new(cookie, Command::BlockStatus, offset, length) }
    }

    /// With the filter that follows the header of a block status, `bytes`. Extension text: "64
    /// bits, effect length; n * 32 bits, list of metacontext ids to use"; a server that "detects
    /// duplicate or unknown metacontext ids … MUST gracefully consume the client's payload before
    /// failing with NBD_EINVAL": the flag that announced it stays then, and is refused.
    pub(crate) fn with_filter(self, bytes: &[u8], selected: Contexts) -> NbdRequest {
        let mut c = Cursor(bytes);
        let length = c.u64().unwrap_or(0);
        let only = selected.only(std::iter::from_fn(|| c.u32()));
        let flags = if only.is_some() { self.flags.without(CommandFlags::PAYLOAD_LEN) } else { self.flags };
        NbdRequest { length, payload: 0, flags, only, ..self }
    }

    /// Appends the header, and the filter of a block status. The caller must send the `payload`
    /// bytes next.
    pub fn put(&self, framing: Framing, out: &mut Vec<u8>) -> Result<(), StreamError> {
        let mut header = [0; EXTENDED_BYTES];
        header[6..8].copy_from_slice(&self.command.wire().to_be_bytes());
        header[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        header[16..24].copy_from_slice(&self.offset.to_be_bytes());
        let (magic, flags, size) = match framing {
            Framing::Extended => {
                let filter = self.only.map(|only| FILTER_BYTES + 4 * only.len() as u64);
                header[24..32].copy_from_slice(&filter.unwrap_or(self.length).to_be_bytes());
                // Extension text, "Request message": "NBD_CMD_WRITE MUST use the flag
                // NBD_CMD_FLAG_PAYLOAD_LEN".
                let flags = if self.payload > 0 || self.command == Command::Write || filter.is_some() {
                    self.flags.and(CommandFlags::PAYLOAD_LEN)
                } else {
                    self.flags
                };
                (EXTENDED_REQUEST_MAGIC, flags, EXTENDED_BYTES)
            }
            Framing::Simple | Framing::Structured => {
                let length = u32::try_from(self.length).map_err(|_| StreamError::LengthTooLong(self.length))?;
                header[24..28].copy_from_slice(&length.to_be_bytes());
                // "In the compact style, the client MUST NOT use the NBD_CMD_FLAG_PAYLOAD_LEN
                // flag".
                (REQUEST_MAGIC, self.flags.without(CommandFlags::PAYLOAD_LEN), COMPACT_BYTES)
            }
        };
        header[..4].copy_from_slice(&magic.to_be_bytes());
        header[4..6].copy_from_slice(&flags.0.to_be_bytes());
        out.extend_from_slice(&header[..size]);
        // "In the compact style" there is none: the answer tells of all contexts.
        if let (Framing::Extended, Some(only)) = (framing, self.only) {
            out.put_u64(self.length);
            only.iter().for_each(|(_, id)| out.put_u32(id));
        }
        Ok(())
    }
}

/// Compact: "the only command where *length* represents payload length instead of effect length is
/// NBD_CMD_WRITE". Extended: "*length* bytes of data if *flags* includes NBD_CMD_FLAG_PAYLOAD_LEN".
///
/// Extended writes must set that flag, but the client of qemu 10.0 sends the data without it. As
/// "the write command always sends a payload of the bytes to be written", the data is expected
/// either way; nothing else could be meant.
fn has_payload(framing: Framing, command: Command, flags: CommandFlags) -> bool {
    command == Command::Write || (framing == Framing::Extended && flags.contains(CommandFlags::PAYLOAD_LEN))
}

/// `N` bytes of a header from `at`; the header's size was checked.
fn field<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[at..at + N]);
    bytes
}
