//! A file handle: a server's identifier of a file, opaque to clients.

use crate::limits::HANDLE_BYTES_MAX;
use crate::xdr::{Reader, XdrError, put_opaque};

/// At most 64 bytes, whose meaning only their server knows.
#[derive(Clone, Copy)]
pub struct FileHandle {
    bytes: [u8; HANDLE_BYTES_MAX as usize],
    len: u8,
}

impl FileHandle {
    /// A handle of these bytes; `None` for more than 64.
    pub fn new(bytes: &[u8]) -> Option<FileHandle> {
        let mut handle = FileHandle { bytes: [0; HANDLE_BYTES_MAX as usize], len: u8::try_from(bytes.len()).ok()? };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Reads a handle.
    ///
    /// # Errors
    /// It is longer than 64 bytes, or incomplete.
    pub fn read(reader: &mut Reader<'_>) -> Result<FileHandle, XdrError> {
        let bytes = reader.opaque("file handle", HANDLE_BYTES_MAX)?;
        Ok(FileHandle::new(bytes).expect("the length was checked"))
    }

    /// Appends the handle.
    pub fn put(&self, out: &mut Vec<u8>) {
        put_opaque(out, self.as_bytes());
    }
}

impl PartialEq for FileHandle {
    fn eq(&self, other: &FileHandle) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for FileHandle {}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileHandle(")?;
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}
