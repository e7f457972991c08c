//! The numbers of the protocol text, section "Values", under their own names without the `NBD_`
//! prefix.

/// First 8 bytes of every greeting, ASCII `NBDMAGIC`.
pub const INIT_PASSWD: u64 = 0x4e42_444d_4147_4943;
/// Second 8 bytes of a newstyle greeting and first 8 of every option, ASCII `IHAVEOPT`.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// Second 8 bytes of an oldstyle greeting, which is refused.
pub const OLDSTYLE_MAGIC: u64 = 0x0000_4202_8186_1253;
/// First 8 bytes of every option reply.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// First 4 bytes of a compact request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// First 4 bytes of an extended request.
pub const EXTENDED_REQUEST_MAGIC: u32 = 0x21e4_1c71;
/// First 4 bytes of a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First 4 bytes of a structured reply chunk.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;
/// First 4 bytes of an extended reply chunk.
pub const EXTENDED_REPLY_MAGIC: u32 = 0x6e8a_278c;

/// Server's handshake flag: options and their replies are structured.
pub const FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Server's handshake flag: the 124 zero bytes may be left out.
pub const FLAG_NO_ZEROES: u16 = 1 << 1;
/// Client's flag that answers [`FLAG_FIXED_NEWSTYLE`].
pub const FLAG_C_FIXED_NEWSTYLE: u32 = 1 << 0;
/// Client's flag that answers [`FLAG_NO_ZEROES`].
pub const FLAG_C_NO_ZEROES: u32 = 1 << 1;
/// Zero bytes that end the answer to `EXPORT_NAME` unless both sides agreed to leave them out.
pub const EXPORT_NAME_ZEROES: usize = 124;

/// Options (`NBD_OPT_…`).
pub mod opt {
    #![allow(missing_docs, reason = "names of the protocol text")]
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const STARTTLS: u32 = 5;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
    pub const EXTENDED_HEADERS: u32 = 11;
}

/// Option replies (`NBD_REP_…`).
pub mod rep {
    #![allow(missing_docs, reason = "names of the protocol text")]
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    /// Set in every error.
    pub const ERROR_BIT: u32 = 1 << 31;
    pub const ERR_UNSUP: u32 = ERROR_BIT | 1;
    pub const ERR_POLICY: u32 = ERROR_BIT | 2;
    pub const ERR_INVALID: u32 = ERROR_BIT | 3;
    pub const ERR_PLATFORM: u32 = ERROR_BIT | 4;
    pub const ERR_TLS_REQD: u32 = ERROR_BIT | 5;
    pub const ERR_UNKNOWN: u32 = ERROR_BIT | 6;
    pub const ERR_SHUTDOWN: u32 = ERROR_BIT | 7;
    pub const ERR_BLOCK_SIZE_REQD: u32 = ERROR_BIT | 8;
    pub const ERR_TOO_BIG: u32 = ERROR_BIT | 9;
    pub const ERR_EXT_HEADER_REQD: u32 = ERROR_BIT | 10;
}

/// Kinds of information about an export (`NBD_INFO_…`).
pub mod info {
    #![allow(missing_docs, reason = "names of the protocol text")]
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    pub const DESCRIPTION: u16 = 2;
    pub const BLOCK_SIZE: u16 = 3;
}

/// Commands (`NBD_CMD_…`).
pub mod cmd {
    #![allow(missing_docs, reason = "names of the protocol text")]
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISC: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const CACHE: u16 = 5;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

/// Chunk types of structured and extended replies (`NBD_REPLY_TYPE_…`) and their flag.
pub mod chunk {
    #![allow(missing_docs, reason = "names of the protocol text")]
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const OFFSET_HOLE: u16 = 2;
    pub const BLOCK_STATUS: u16 = 5;
    pub const BLOCK_STATUS_EXT: u16 = 6;
    /// Set in every error chunk.
    pub const ERROR_BIT: u16 = 1 << 15;
    pub const ERROR: u16 = ERROR_BIT | 1;
    pub const ERROR_OFFSET: u16 = ERROR_BIT | 2;
    /// `NBD_REPLY_FLAG_DONE`: the last chunk of a reply.
    pub const FLAG_DONE: u16 = 1 << 0;
}

/// The one metadata context that the protocol text defines.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// Our own metadata context: which bytes are shared.
pub const SEAWALL_SHARING: &str = "seawall:sharing";
/// `seawall:sharing`: nothing is stored here.
pub const SHARING_NOTHING: u32 = 0;
/// `seawall:sharing`: stored, and not shared.
pub const SHARING_OWN: u32 = 1;
/// `seawall:sharing`: stored, and shared with a clone, an origin or a snapshot.
pub const SHARING_SHARED: u32 = 2;
/// `base:allocation`: no space is allocated for the extent.
pub const STATE_HOLE: u32 = 1 << 0;
/// `base:allocation`: the extent reads as zeroes.
pub const STATE_ZERO: u32 = 1 << 1;
