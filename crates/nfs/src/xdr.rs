//! XDR (RFC 4506): values in units of four bytes, big-endian, padded with zeroes.

/// Why bytes are not the expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XdrError {
    /// The bytes end within the value. If the message is incomplete, more must arrive.
    #[error("the message ends within a value")]
    Short,
    /// A length exceeds its limit.
    #[error("{what}: must be at most {most}, got {got}")]
    TooLong {
        /// The meaning of the length.
        what: &'static str,
        /// The limit.
        most: u32,
        /// The length in the message.
        got: u32,
    },
    /// A name or the target of a link is too long; only its length was read.
    #[error("{what}: must have at most {most} bytes, got {got}")]
    NameTooLong {
        /// The meaning of the bytes.
        what: &'static str,
        /// The limit.
        most: u32,
        /// The length in the message.
        got: u32,
    },
    /// An unknown number.
    #[error("{what}: no such value, {got}")]
    NoSuch {
        /// The meaning of the number.
        what: &'static str,
        /// The number in the message.
        got: u32,
    },
    /// A status that the protocol does not have.
    #[error("the status is {0}, which NFS version 3 does not have")]
    Status(u32),
    /// Bytes follow the last value.
    #[error("the message goes on for {0} bytes behind its last value")]
    Rest(usize),
}

/// Reads values in sequence; results borrow from the bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, taken: 0 }
    }

    /// How many bytes were read so far.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.taken
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.taken..]
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], XdrError> {
        let bytes: &'a [u8] = self.bytes;
        let found = bytes[self.taken..].get(..count).ok_or(XdrError::Short)?;
        self.taken += count;
        Ok(found)
    }

    /// An unsigned number of four bytes.
    ///
    /// # Errors
    /// The bytes end before it does.
    pub fn u32(&mut self) -> Result<u32, XdrError> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// An unsigned number of eight bytes.
    ///
    /// # Errors
    /// The bytes end before it does.
    pub fn u64(&mut self) -> Result<u64, XdrError> {
        Ok(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// A boolean. RFC 4506 has 0 and 1; like most servers, this treats any other number as true.
    ///
    /// # Errors
    /// The bytes end before it does.
    pub fn flag(&mut self) -> Result<bool, XdrError> {
        Ok(self.u32()? != 0)
    }

    /// `N` bytes without a length or padding; `N` is a multiple of four.
    ///
    /// # Errors
    /// The bytes end before it does.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], XdrError> {
        const { assert!(N.is_multiple_of(4), "units of four bytes") };
        let mut fixed = [0; N];
        fixed.copy_from_slice(self.take(N)?);
        Ok(fixed)
    }

    /// Bytes after their length, at most `most`.
    ///
    /// # Errors
    /// There are more, or the bytes end before they do.
    pub fn opaque(&mut self, what: &'static str, most: u32) -> Result<&'a [u8], XdrError> {
        let len = self.length(what, most)?;
        let mut ahead = self.clone();
        let found = ahead.take(len as usize)?;
        ahead.take(filling(len) as usize)?;
        *self = ahead;
        Ok(found)
    }

    /// Like [`opaque`](Reader::opaque), for a name or the target of a link.
    ///
    /// # Errors
    /// It is longer, or the bytes end before it does.
    pub fn name(&mut self, what: &'static str, most: u32) -> Result<&'a [u8], XdrError> {
        self.opaque(what, most).map_err(|error| match error {
            XdrError::TooLong { what, most, got } => XdrError::NameTooLong { what, most, got },
            other => other,
        })
    }

    /// A length or count, at most `most`.
    ///
    /// # Errors
    /// It is larger, or the bytes end before it does.
    pub fn length(&mut self, what: &'static str, most: u32) -> Result<u32, XdrError> {
        match self.u32()? {
            got if got > most => Err(XdrError::TooLong { what, most, got }),
            len => Ok(len),
        }
    }

    /// An optional value.
    ///
    /// # Errors
    /// Those of the value.
    pub fn option<T>(
        &mut self,
        value: impl FnOnce(&mut Reader<'a>) -> Result<T, XdrError>,
    ) -> Result<Option<T>, XdrError> {
        if self.flag()? { value(self).map(Some) } else { Ok(None) }
    }

    /// Checks that the message ends here.
    ///
    /// # Errors
    /// Bytes are left.
    pub fn end(&self) -> Result<(), XdrError> {
        if self.left() == 0 { Ok(()) } else { Err(XdrError::Rest(self.left())) }
    }
}

/// Bytes of padding after `len` bytes, up to the next unit.
pub const fn filling(len: u32) -> u32 {
    len.wrapping_neg() % 4
}

/// Appends a number.
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a number of eight bytes.
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_be_bytes());
}

/// Appends a boolean.
pub fn put_flag(out: &mut Vec<u8>, value: bool) {
    put_u32(out, value.into());
}

/// Appends bytes after their length, with padding.
///
/// # Panics
/// There are 4 GiB of them.
pub fn put_opaque(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = u32::try_from(bytes.len()).expect("fields of a message stay below 4 GiB");
    put_u32(out, len);
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0; 3][..filling(len) as usize]);
}

/// Appends an optional value.
pub fn put_option<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    put_flag(out, value.is_some());
    if let Some(value) = value {
        put(out, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let mut out = Vec::new();
        put_u32(&mut out, 7);
        put_u64(&mut out, 1 << 40 | 5);
        put_opaque(&mut out, b"seven77");
        put_option(&mut out, Some(&9), |out, value| put_u32(out, *value));
        put_option(&mut out, None::<&u32>, |_, _| ());
        // 4 + 8 + (4 + 7 + 1) + (4 + 4) + 4
        assert_eq!(out.len(), 36);
        let mut reader = Reader::new(&out);
        assert_eq!((reader.u32(), reader.u64()), (Ok(7), Ok(1 << 40 | 5)));
        assert_eq!(reader.opaque("name", 7), Ok(&b"seven77"[..]));
        assert_eq!((reader.option(Reader::u32), reader.option(Reader::u32)), (Ok(Some(9)), Ok(None)));
        assert_eq!((reader.end(), reader.taken()), (Ok(()), 36));
    }

    #[test]
    fn lengths_are_not_believed() {
        let mut out = Vec::new();
        put_u32(&mut out, u32::MAX);
        let long = Reader::new(&out).opaque("name", 255);
        assert_eq!(long, Err(XdrError::TooLong { what: "name", most: 255, got: u32::MAX }));
        out.clear();
        // The padding belongs to it.
        out.extend_from_slice(&[0, 0, 0, 1, b'x', 0, 0]);
        assert_eq!(Reader::new(&out).opaque("name", 255), Err(XdrError::Short));
        out.push(0);
        assert_eq!(Reader::new(&out).opaque("name", 255), Ok(&b"x"[..]));
        assert_eq!(Reader::new(&out).end(), Err(XdrError::Rest(8)));
        assert_eq!([0, 1, 2, 3, 4].map(filling), [0, 3, 2, 1, 0]);
    }
}
