//! The port mapper, version 2 (RFC 1833, section 3), which tells the port of a program.

use crate::xdr::{Reader, XdrError, put_flag, put_u32};

/// The number of the program.
pub const PROGRAM: u32 = 100_000;
/// The supported version.
pub const VERSION: u32 = 2;
/// The port of the port mapper.
pub const PORT: u16 = 111;
/// `PMAPPROC_SET`: registers a program; the result is a boolean.
pub const SET: u32 = 1;
/// `PMAPPROC_UNSET`: removes a registration; the result is a boolean.
pub const UNSET: u32 = 2;
/// `PMAPPROC_GETPORT`: asks for a program's port; the result is the port, or 0 if there is none.
pub const GET_PORT: u32 = 3;
/// `PMAPPROC_DUMP`: asks for all registrations; the result is a list written by [`put_all`].
pub const DUMP: u32 = 4;
/// The number of TCP in [`Mapping::protocol`].
pub const TCP: u32 = 6;

/// A program and its port: the arguments of SET, UNSET and GETPORT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Program.
    pub program: u32,
    /// Its version.
    pub version: u32,
    /// The protocol number.
    pub protocol: u32,
    /// Its port; 0 in a query.
    pub port: u32,
}

impl Mapping {
    /// Reads a mapping.
    ///
    /// # Errors
    /// It is incomplete.
    pub fn read(reader: &mut Reader<'_>) -> Result<Mapping, XdrError> {
        Ok(Mapping { program: reader.u32()?, version: reader.u32()?, protocol: reader.u32()?, port: reader.u32()? })
    }

    /// Appends the mapping.
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

/// Reads the answer to [`GET_PORT`]: `None` if the program is not registered.
///
/// # Errors
/// It is not a valid port, or is incomplete.
pub fn read_port(reader: &mut Reader<'_>) -> Result<Option<u16>, XdrError> {
    let got = reader.u32()?;
    let port = u16::try_from(got).map_err(|_| XdrError::NoSuch { what: "port", got })?;
    Ok((port != 0).then_some(port))
}
