//! ONC RPC version 2 (RFC 5531): the heads of calls and replies.

use crate::limits::{CREDENTIAL_BYTES_MAX, GROUPS_MAX, MACHINE_BYTES_MAX};
use crate::xdr::{Reader, XdrError, put_opaque, put_u32};

/// The version of RPC itself.
pub const RPC_VERSION: u32 = 2;

const CALL: u32 = 0;
const REPLY: u32 = 1;
const AUTH_NONE: u32 = 0;
const AUTH_SYS: u32 = 1;

/// The head of a call; the procedure's arguments follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallHead<'a> {
    /// The caller's number, which the reply repeats.
    pub xid: u32,
    /// Program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// Procedure.
    pub procedure: u32,
    /// Who calls.
    pub credential: Credential<'a>,
}

/// The caller, according to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential<'a> {
    /// Anonymous.
    None,
    /// A user of a Unix system, `AUTH_SYS`.
    Sys(SysCredential<'a>),
    /// An unsupported flavour.
    Other(u32),
}

/// A user of a Unix system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SysCredential<'a> {
    /// An arbitrary number.
    pub stamp: u32,
    /// The client's name.
    pub machine: &'a [u8],
    /// User.
    pub uid: u32,
    /// First group.
    pub gid: u32,
    /// The others.
    pub groups: Groups,
}

/// Groups beside the first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Groups {
    ids: [u32; GROUPS_MAX as usize],
    count: u32,
}

impl Groups {
    /// The first sixteen of these.
    pub fn of(ids: &[u32]) -> Groups {
        let mut groups = Groups::default();
        for &id in ids.iter().take(GROUPS_MAX as usize) {
            groups.ids[groups.count as usize] = id;
            groups.count += 1;
        }
        groups
    }

    /// As a slice.
    pub fn as_slice(&self) -> &[u32] {
        &self.ids[..self.count as usize]
    }
}

impl PartialEq for Groups {
    fn eq(&self, other: &Groups) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Groups {}

/// The head of a call, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called<'a> {
    /// A call.
    Call(CallHead<'a>),
    /// A call with another version of RPC, whose arguments are unknown; to be answered with
    /// [`CallOutcome::RpcMismatch`].
    Mismatch {
        /// The caller's number.
        xid: u32,
    },
    /// An invalid credential; to be answered with [`CallOutcome::AuthError`] and
    /// [`AUTH_BAD_CREDENTIAL`].
    BadCredential {
        /// The caller's number.
        xid: u32,
    },
}

/// RFC 5531, `AUTH_BADCRED`.
pub const AUTH_BAD_CREDENTIAL: u32 = 1;
/// RFC 5531, `AUTH_TOOWEAK`: the server requires a stronger credential.
pub const AUTH_TOO_WEAK: u32 = 5;

/// Reads the head of a call.
///
/// # Errors
/// It is not a call, or is incomplete.
pub fn read_call<'a>(reader: &mut Reader<'a>) -> Result<Called<'a>, XdrError> {
    let xid = reader.u32()?;
    match reader.u32()? {
        CALL => {}
        got => return Err(XdrError::NoSuch { what: "call", got }),
    }
    if reader.u32()? != RPC_VERSION {
        return Ok(Called::Mismatch { xid });
    }
    let (program, version, procedure) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let flavour = reader.u32()?;
    let body = reader.opaque("credential", CREDENTIAL_BYTES_MAX)?;
    // With the supported flavours, the verifier has no meaning.
    reader.u32()?;
    reader.opaque("verifier", CREDENTIAL_BYTES_MAX)?;
    let credential = match flavour {
        AUTH_NONE => Credential::None,
        AUTH_SYS => match read_sys(&mut Reader::new(body)) {
            Ok(sys) => Credential::Sys(sys),
            Err(_) => return Ok(Called::BadCredential { xid }),
        },
        other => Credential::Other(other),
    };
    Ok(Called::Call(CallHead { xid, program, version, procedure, credential }))
}

fn read_sys<'a>(reader: &mut Reader<'a>) -> Result<SysCredential<'a>, XdrError> {
    let (stamp, machine) = (reader.u32()?, reader.opaque("machine name", MACHINE_BYTES_MAX)?);
    let (uid, gid) = (reader.u32()?, reader.u32()?);
    let mut groups = Groups { count: reader.length("groups", GROUPS_MAX)?, ..Groups::default() };
    for id in &mut groups.ids[..groups.count as usize] {
        *id = reader.u32()?;
    }
    reader.end()?;
    Ok(SysCredential { stamp, machine, uid, gid, groups })
}

/// Appends the head of a call.
///
/// # Panics
/// The machine's name is longer than 255 bytes.
pub fn put_call(out: &mut Vec<u8>, head: &CallHead<'_>) {
    let CallHead { xid, program, version, procedure, credential } = head;
    for word in [*xid, CALL, RPC_VERSION, *program, *version, *procedure] {
        put_u32(out, word);
    }
    match credential {
        Credential::Sys(sys) => {
            assert!(sys.machine.len() <= MACHINE_BYTES_MAX as usize, "a machine's name of {}", sys.machine.len());
            put_u32(out, AUTH_SYS);
            let start = out.len();
            put_u32(out, 0);
            put_u32(out, sys.stamp);
            put_opaque(out, sys.machine);
            put_u32(out, sys.uid);
            put_u32(out, sys.gid);
            let groups = sys.groups.as_slice();
            put_u32(out, groups.len() as u32);
            groups.iter().for_each(|&id| put_u32(out, id));
            let len = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&len.to_be_bytes());
        }
        Credential::None => {
            put_u32(out, AUTH_NONE);
            put_u32(out, 0);
        }
        Credential::Other(flavour) => {
            put_u32(out, *flavour);
            put_u32(out, 0);
        }
    }
    put_u32(out, AUTH_NONE);
    put_u32(out, 0);
}

/// The outcome of a call at the level of RPC, whatever the procedure's status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallOutcome {
    /// Success; results follow.
    #[error("done")]
    Success,
    /// The server does not have the program.
    #[error("the server does not have this program")]
    ProgramUnavailable,
    /// The server has other versions of the program.
    #[error("the server has versions {low} to {high} of this program")]
    ProgramMismatch {
        /// Lowest.
        low: u32,
        /// Highest.
        high: u32,
    },
    /// The program has no such procedure.
    #[error("the server does not have this procedure")]
    ProcedureUnavailable,
    /// The arguments could not be read.
    #[error("the server could not read the arguments")]
    GarbageArguments,
    /// The server failed, for example for lack of memory.
    #[error("the server failed")]
    SystemError,
    /// The server supports other versions of RPC.
    #[error("the server speaks versions {low} to {high} of RPC")]
    RpcMismatch {
        /// Lowest.
        low: u32,
        /// Highest.
        high: u32,
    },
    /// The caller is refused.
    #[error("the server does not take this credential (reason {0} of RFC 5531)")]
    AuthError(u32),
}

/// Reads the head of a reply: the number of its call, and the outcome.
///
/// # Errors
/// It is not a reply, or is incomplete.
pub fn read_reply(reader: &mut Reader<'_>) -> Result<(u32, CallOutcome), XdrError> {
    let xid = reader.u32()?;
    match reader.u32()? {
        REPLY => {}
        got => return Err(XdrError::NoSuch { what: "reply", got }),
    }
    let outcome = match reader.u32()? {
        0 => {
            reader.u32()?;
            reader.opaque("verifier", CREDENTIAL_BYTES_MAX)?;
            match reader.u32()? {
                0 => CallOutcome::Success,
                1 => CallOutcome::ProgramUnavailable,
                2 => CallOutcome::ProgramMismatch { low: reader.u32()?, high: reader.u32()? },
                3 => CallOutcome::ProcedureUnavailable,
                4 => CallOutcome::GarbageArguments,
                5 => CallOutcome::SystemError,
                got => return Err(XdrError::NoSuch { what: "state of a call", got }),
            }
        }
        1 => match reader.u32()? {
            0 => CallOutcome::RpcMismatch { low: reader.u32()?, high: reader.u32()? },
            1 => CallOutcome::AuthError(reader.u32()?),
            got => return Err(XdrError::NoSuch { what: "reason of a refusal", got }),
        },
        got => return Err(XdrError::NoSuch { what: "state of a reply", got }),
    };
    Ok((xid, outcome))
}

/// Appends the head of a reply; after [`CallOutcome::Success`], the caller must append the results.
pub fn put_reply(out: &mut Vec<u8>, xid: u32, outcome: CallOutcome) {
    let denied = matches!(outcome, CallOutcome::RpcMismatch { .. } | CallOutcome::AuthError(_));
    for word in [xid, REPLY, denied.into()] {
        put_u32(out, word);
    }
    if !denied {
        put_u32(out, AUTH_NONE);
        put_u32(out, 0);
    }
    let words: &[u32] = match outcome {
        CallOutcome::Success => &[0],
        CallOutcome::ProgramUnavailable => &[1],
        CallOutcome::ProgramMismatch { low, high } => &[2, low, high],
        CallOutcome::ProcedureUnavailable => &[3],
        CallOutcome::GarbageArguments => &[4],
        CallOutcome::SystemError => &[5],
        CallOutcome::RpcMismatch { low, high } => &[0, low, high],
        CallOutcome::AuthError(reason) => &[1, reason],
    };
    words.iter().for_each(|&word| put_u32(out, word));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        let sys = SysCredential { stamp: 1, machine: b"host5", uid: 1000, gid: 100, groups: Groups::of(&[4, 24, 27]) };
        for credential in [Credential::None, Credential::Sys(sys), Credential::Other(6)] {
            let head = CallHead { xid: 7, program: 100_003, version: 3, procedure: 6, credential };
            let mut out = Vec::new();
            put_call(&mut out, &head);
            let mut reader = Reader::new(&out);
            assert_eq!(read_call(&mut reader), Ok(Called::Call(head)));
            assert_eq!(reader.end(), Ok(()));
        }
        for outcome in [
            CallOutcome::Success,
            CallOutcome::ProgramUnavailable,
            CallOutcome::ProgramMismatch { low: 3, high: 3 },
            CallOutcome::ProcedureUnavailable,
            CallOutcome::GarbageArguments,
            CallOutcome::SystemError,
            CallOutcome::RpcMismatch { low: 2, high: 2 },
            CallOutcome::AuthError(AUTH_TOO_WEAK),
        ] {
            let mut out = Vec::new();
            put_reply(&mut out, 9, outcome);
            let mut reader = Reader::new(&out);
            assert_eq!((read_reply(&mut reader), reader.end()), (Ok((9, outcome)), Ok(())));
        }
    }

    #[test]
    fn a_bad_credential_and_another_rpc_can_be_answered() {
        let mut out = Vec::new();
        for word in [5, CALL, 3] {
            put_u32(&mut out, word);
        }
        assert_eq!(read_call(&mut Reader::new(&out)), Ok(Called::Mismatch { xid: 5 }));
        out.clear();
        for word in [5, CALL, 2, 1, 1, 0, AUTH_SYS, 8, 0, 99, 0, 0] {
            put_u32(&mut out, word);
        }
        assert_eq!(read_call(&mut Reader::new(&out)), Ok(Called::BadCredential { xid: 5 }));
        // More groups than sixteen.
        out.clear();
        for word in [5, CALL, 2, 1, 1, 0, AUTH_SYS, 20, 0, 0, 0, 0, 17, 0, 0] {
            put_u32(&mut out, word);
        }
        assert_eq!(read_call(&mut Reader::new(&out)), Ok(Called::BadCredential { xid: 5 }));
    }
}
