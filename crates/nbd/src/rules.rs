//! The rules for valid requests: the errors that the protocol prescribes, in one place for both
//! sides.

use crate::client::Agreed;
use crate::contexts::Contexts;
use crate::errno::NbdErrno;
use crate::error::StreamError;
use crate::export::{BlockSizes, TransmissionFlags};
use crate::limits::PAYLOAD_BYTES_TOLERATED;
use crate::request::{Command, CommandFlags, FILTER_BYTES, NbdRequest, Parsed};
use crate::server::Admitted;
use crate::settings::{Framing, Settings};

/// What was agreed for a connection, in a form to check requests against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How messages are framed.
    pub framing: Framing,
    /// Size of the export in bytes.
    pub size: u64,
    /// Its features.
    pub flags: TransmissionFlags,
    /// Offsets and lengths must be multiples of this many bytes; 1 for a client that did not ask
    /// for block sizes.
    pub minimum: u32,
    /// Longest payload of a read or write, bytes.
    pub payload: u32,
    /// The contexts for `BLOCK_STATUS`; if there are none, it is not allowed.
    pub contexts: Contexts,
}

impl Rules {
    /// The rules by which a server checks its client's requests.
    pub fn of_server(admitted: &Admitted) -> Rules {
        let block = admitted.export.block;
        // Protocol text, "Block size constraints": a client that asked for sizes in GO "MUST abide
        // by the block size constraints it receives"; any other may send requests of any alignment.
        let minimum = if admitted.settings.block_sizes { block.minimum } else { 1 };
        Rules::new(admitted.export.size, admitted.flags, BlockSizes { minimum, ..block }, admitted.settings)
    }

    /// The rules that a client respects, so that it never sends an invalid request.
    pub fn of_client(agreed: &Agreed) -> Rules {
        Rules::new(agreed.size, agreed.flags, agreed.block.unwrap_or(BlockSizes::DEFAULT), agreed.settings)
    }

    fn new(size: u64, flags: TransmissionFlags, block: BlockSizes, settings: Settings) -> Rules {
        assert!(block.minimum.is_power_of_two(), "block sizes come from BlockSizes::new");
        Rules {
            framing: settings.framing,
            size,
            flags,
            minimum: block.minimum,
            payload: block.payload_bytes(),
            contexts: settings.contexts,
        }
    }

    /// Parses a request's header at the front of `bytes`, including a block status's filter.
    pub fn parse(&self, bytes: &[u8]) -> Result<Parsed<NbdRequest>, StreamError> {
        let parsed = NbdRequest::parse(bytes, self.framing, self.payload.max(PAYLOAD_BYTES_TOLERATED))?;
        Ok(match parsed {
            Parsed::Message(request, size) if self.has_filter(&request) => {
                let whole = size + request.payload as usize;
                match bytes.get(size..whole) {
                    Some(filter) => Parsed::Message(request.with_filter(filter, self.contexts), whole),
                    None => Parsed::NeedMore(whole),
                }
            }
            parsed => parsed,
        })
    }

    /// Whether a filter of valid length follows: "8 + n*4 bytes". Any other payload is refused as
    /// such.
    fn has_filter(&self, request: &NbdRequest) -> bool {
        let ids = u64::from(request.payload).checked_sub(FILTER_BYTES);
        request.command == Command::BlockStatus
            && self.flags.contains(TransmissionFlags::BLOCK_STATUS_PAYLOAD)
            && ids.is_some_and(|bytes| bytes.is_multiple_of(4) && bytes / 4 <= self.contexts.len() as u64)
    }

    /// Whether the export offers `command`.
    pub fn offers(&self, command: Command) -> bool {
        self.allowed(command).is_some()
    }

    /// Whether the export offers a command to be durable before it is answered.
    pub fn offers_fua(&self) -> bool {
        self.flags.contains(TransmissionFlags::SEND_FUA)
    }

    /// Whether the request is valid. If not, its payload must still be consumed.
    ///
    /// The errors are those of the protocol text, "Error values" and "Block size constraints"; none
    /// of them requires a disconnect.
    pub fn check(&self, request: &NbdRequest) -> Result<(), NbdErrno> {
        let command = request.command;
        if command.writes() && self.flags.contains(TransmissionFlags::READ_ONLY) {
            // "it SHOULD return NBD_EPERM if it receives a write or trim request on a read-only
            // export".
            return Err(NbdErrno::Permission);
        }
        // "The server SHOULD return NBD_EINVAL if it receives an unknown command" or "an unknown
        // command flag", or "a flag not explicitly documented as applicable to the given request".
        let allowed = self.allowed(command).ok_or(NbdErrno::Invalid)?;
        // "clients SHOULD NOT set the NBD_CMD_FLAG_PAYLOAD_LEN flag for NBD_CMD_BLOCK_STATUS unless
        // this transmission flag is set".
        let filters = request.only.is_some() && !self.flags.contains(TransmissionFlags::BLOCK_STATUS_PAYLOAD);
        if request.flags.0 & !allowed.0 != 0 || filters {
            return Err(NbdErrno::Invalid);
        }
        match command {
            Command::Disconnect => Ok(()),
            // "For a flush request, *length* and *offset* are reserved, and MUST be set to
            // all-zero".
            Command::Flush if request.offset | request.length != 0 => Err(NbdErrno::Invalid),
            Command::Flush => Ok(()),
            _ => self.check_range(request),
        }
    }

    /// The flags allowed for `command`, or `None` if the command is not allowed.
    fn allowed(&self, command: Command) -> Option<CommandFlags> {
        use CommandFlags as C;
        use TransmissionFlags as T;
        let given = |flag| self.flags.contains(flag);
        let when = |condition: bool, flag: C| if condition { flag } else { C::NONE };
        let own = match command {
            Command::Read => when(given(T::SEND_DF), C::DF),
            Command::Write | Command::Disconnect => C::NONE,
            Command::Flush if given(T::SEND_FLUSH) => C::NONE,
            Command::Trim if given(T::SEND_TRIM) => C::NONE,
            Command::Cache if given(T::SEND_CACHE) => C::NONE,
            Command::WriteZeroes if given(T::SEND_WRITE_ZEROES) => {
                C::NO_HOLE.and(when(given(T::SEND_FAST_ZERO), C::FAST_ZERO))
            }
            Command::BlockStatus if !self.contexts.is_empty() => C::REQ_ONE,
            _ => return None,
        };
        // "NBD_CMD_FLAG_FUA; This flag is valid for all commands, provided NBD_FLAG_SEND_FUA has
        // been negotiated".
        Some(own.and(when(given(T::SEND_FUA), C::FUA)))
    }

    fn check_range(&self, request: &NbdRequest) -> Result<(), NbdErrno> {
        // Nothing to do: "the behavior of a server on such a request is unspecified"; a clear error
        // helps to find the mistake.
        if request.length == 0 {
            return Err(NbdErrno::Invalid);
        }
        let end = request.offset.checked_add(request.length);
        if end.is_none_or(|end| end > self.size) {
            // "The server SHOULD return NBD_ENOSPC if it receives a write request including one or
            // more sectors beyond the size of the device", likewise for write zeroes; "NBD_EINVAL
            // if it receives a read or trim request".
            return Err(match request.command {
                Command::Write | Command::WriteZeroes => NbdErrno::NoSpace,
                _ => NbdErrno::Invalid,
            });
        }
        // "or if a read or write request is not aligned to advertised minimum block sizes". A power
        // of 2, so a mask.
        if (request.offset | request.length) & u64::from(self.minimum - 1) != 0 {
            return Err(NbdErrno::Invalid);
        }
        self.check_payload(request)
    }

    fn check_payload(&self, request: &NbdRequest) -> Result<(), NbdErrno> {
        if request.length <= u64::from(self.payload) {
            return Ok(());
        }
        match request.command {
            // "The server SHOULD NOT return NBD_EOVERFLOW except as documented in response to
            // NBD_CMD_READ when NBD_CMD_FLAG_DF is supported".
            Command::Read if self.flags.contains(TransmissionFlags::SEND_DF) => Err(NbdErrno::Overflow),
            // "The server SHOULD report an NBD_EINVAL error if the client's request … is larger
            // than the advertised maximum block size".
            Command::Read | Command::Write => Err(NbdErrno::Invalid),
            // No payload: any length is valid, and the server may split it.
            _ => Ok(()),
        }
    }
}
