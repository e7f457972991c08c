//! The port mapper, version 2 (RFC 1833, section 3): which port a program listens at.

use crate::xdr::{Reader, XdrError, put_flag, put_u32};

/// The number of the program.
pub const PROGRAM: u32 = 100_000;
/// The version that is spoken.
pub const VERSION: u32 = 2;
/// Where it listens.
pub const PORT: u16 = 111;
/// `PMAPPROC_SET`: a program listens there now; the result is a truth.
pub const SET: u32 = 1;
/// `PMAPPROC_UNSET`: it does not any more; the result is a truth.
pub const UNSET: u32 = 2;
/// `PMAPPROC_GETPORT`: where does it listen; the result is the port, 0 for nowhere.
pub const GET_PORT: u32 = 3;
/// `PMAPPROC_DUMP`: everything that is known; the result is a list of [`put_all`].
pub const DUMP: u32 = 4;
/// The number of TCP in [`Mapping::protocol`].
pub const TCP: u32 = 6;

/// A program and its port: the arguments of all three procedures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// By which protocol.
    pub protocol: u32,
    /// Its port; 0 where it is asked for.
    pub port: u32,
}

impl Mapping {
    /// Reads one.
    ///
    /// # Errors
    /// It is not here whole.
    pub fn read(reader: &mut Reader<'_>) -> Result<Mapping, XdrError> {
        Ok(Mapping { program: reader.u32()?, version: reader.u32()?, protocol: reader.u32()?, port: reader.u32()? })
    }

    /// Appends it.
    pub fn put(&self, out: &mut Vec<u8>) {
        for word in [self.program, self.version, self.protocol, self.port] {
            put_u32(out, word);
        }
    }
}

/// Appends the answer to [`DUMP`].
pub fn put_all(out: &mut Vec<u8>, mappings: impl Iterator<Item = Mapping>) {
    for mapping in mappings {
        put_flag(out, true);
        mapping.put(out);
    }
    put_flag(out, false);
}

/// Reads the answer to [`GET_PORT`]: `None` where the program listens nowhere.
///
/// # Errors
/// It is no port, or not here whole.
pub fn read_port(reader: &mut Reader<'_>) -> Result<Option<u16>, XdrError> {
    let got = reader.u32()?;
    let port = u16::try_from(got).map_err(|_| XdrError::NoSuch { what: "port", got })?;
    Ok((port != 0).then_some(port))
}
