//! Why a connection ends early.

use crate::export::BlockSizesError;
use crate::values::rep;

/// Why a handshake failed. The connection must be closed, after sending what is in `out`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// The peer does not speak NBD, or lost its place in the stream.
    #[error("{what} must start with {expected:#018x}, got {got:#018x}: the other side does not speak NBD")]
    Magic {
        /// The message.
        what: &'static str,
        /// The magic number of the protocol.
        expected: u64,
        /// What was received.
        got: u64,
    },
    /// The server uses the handshake from before named exports.
    #[error(
        "the server uses the oldstyle handshake, which is not supported: use a newstyle server (nbd 2.9.17 or later)"
    )]
    Oldstyle,
    /// The client set a flag that was not offered.
    #[error("client flags {0:#010x} contain a flag that this server did not offer")]
    ClientFlags(u32),
    /// A client without fixed newstyle sent an option that requires it.
    #[error(
        "option {0} needs the fixed newstyle handshake, which the client did not choose; only EXPORT_NAME may follow"
    )]
    NotFixed(u32),
    /// `EXPORT_NAME` failed, and that option has no error reply.
    #[error("EXPORT_NAME{}: {why}; the option has no error reply, so the connection is closed", named(.name))]
    ExportName {
        /// The export asked for, if the name was read.
        name: Option<String>,
        /// The reason.
        why: String,
    },
    /// More options than the limit `options`.
    #[error("the client sent more than {0} options in one handshake (limit `options`)")]
    TooManyOptions(u32),
    /// More bytes than the limit `total_bytes`.
    #[error("the other side sent more than {0} bytes in one handshake (limit `total_bytes`)")]
    TooManyBytes(u64),
    /// A reply longer than the limit `option_bytes`.
    #[error("a reply to option {option} announces {len} bytes, more than {limit} (limit `option_bytes`)")]
    ReplyTooLong {
        /// The option.
        option: u32,
        /// The announced length in bytes.
        len: u32,
        /// The limit.
        limit: u32,
    },
    /// The list of exports exceeds the limit `list_bytes`.
    #[error("the server's list of exports takes more than {0} bytes (limit `list_bytes`)")]
    ListTooLong(usize),
    /// Bytes in clear text arrived where TLS must start: their sender is not the peer of the TLS
    /// session.
    #[error("{0} bytes of plain text arrived after STARTTLS was agreed; refused, as they could be injected")]
    PlaintextAfterStartTls(usize),
    /// The server refused the option.
    #[error("the server refused {option}: {}{}", reply_name(*.code), quoted(.message))]
    Refused {
        /// The option.
        option: &'static str,
        /// The error reply's number.
        code: u32,
        /// The server's message; may be empty.
        message: String,
    },
    /// The server violated the protocol.
    #[error("the server broke the protocol in its reply to option {option}: {rule}")]
    Violation {
        /// The option.
        option: u32,
        /// The rule.
        rule: &'static str,
    },
    /// The server advertised impossible block sizes.
    #[error("the server advertised impossible block sizes: {0}")]
    BlockSizes(#[from] BlockSizesError),
    /// The export's name is not valid in the protocol.
    #[error("export name {name:?} {why}: choose a name that the protocol can carry")]
    BadName {
        /// The name.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// Something that was asked for needs the fixed newstyle handshake.
    #[error("the server does not offer fixed newstyle options, so {0} is not possible")]
    NeedsFixed(&'static str),
}

/// Why the transmission stream cannot be parsed any further. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The stream is out of step.
    #[error("{what} must not start with {got:#010x} under the negotiated framing")]
    Magic {
        /// The message.
        what: &'static str,
        /// What was received.
        got: u32,
    },
    /// A payload that is too long to be received, even if it is refused.
    #[error("a payload of {len} bytes is announced, more than {limit} (limit `payload_bytes`)")]
    PayloadTooLong {
        /// The announced length in bytes.
        len: u64,
        /// The limit.
        limit: u32,
    },
    /// A request that the framing cannot express.
    #[error("a length of {0} bytes needs extended headers, which were not negotiated; the most is 4294967295")]
    LengthTooLong(u64),
    /// A read whose reply ended too early.
    #[error("a read's reply has {got} of {len} bytes")]
    ReadShort {
        /// Bytes that were sent.
        got: u64,
        /// Bytes that were asked for.
        len: u32,
    },
    /// A chunk that is inconsistent with itself or with the request.
    #[error("reply chunk of type {kind:#06x}: {rule}")]
    Chunk {
        /// The chunk's type.
        kind: u16,
        /// The rule it breaks.
        rule: &'static str,
    },
}

fn reply_name(code: u32) -> &'static str {
    match code {
        rep::ERR_UNSUP => "it does not know the option",
        rep::ERR_POLICY => "its policy forbids it",
        rep::ERR_INVALID => "it finds the request invalid",
        rep::ERR_PLATFORM => "its platform cannot do it",
        rep::ERR_TLS_REQD => "it requires TLS",
        rep::ERR_UNKNOWN => "it has no such export",
        rep::ERR_SHUTDOWN => "it is shutting down",
        rep::ERR_BLOCK_SIZE_REQD => "it requires the client to keep to its block sizes",
        rep::ERR_TOO_BIG => "the request or the answer is too big for it",
        rep::ERR_EXT_HEADER_REQD => "it requires extended headers",
        _ => "it gave an error that this client does not know",
    }
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or(String::new(), |name| format!(" {name:?}"))
}

fn quoted(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(" (it says {message:?})") }
}
