//! Stand-in for the library of pre-shared keys in builds without it: no file of keys is accepted,
//! so no key can exist.

use std::convert::Infallible;

/// A key; none exists.
#[derive(Clone, Debug)]
pub struct Key(Infallible);

/// The keys of a server; none exist.
#[derive(Clone, Debug)]
pub struct Keys(Infallible);

/// A session with a key; none exists.
#[derive(Debug)]
pub struct Session(Infallible);

/// An error of a session with a key; none exists.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct PskError(Infallible);

/// The result of reading clear text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// This many bytes.
    Bytes(usize),
    /// Nothing yet.
    Nothing,
    /// The other end sent its close notification.
    End,
}

/// Why no file of keys is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this program was built without pre-shared keys; use certificates, or build it with --features psk")]
pub struct FileError;

impl Keys {
    /// Refuses every file.
    ///
    /// # Errors
    /// Always.
    pub fn parse(_text: &str) -> Result<Keys, FileError> {
        Err(FileError)
    }
}

impl Key {
    /// Refuses every file.
    ///
    /// # Errors
    /// Always.
    pub fn find(_text: &str, _name: &str) -> Result<Key, FileError> {
        Err(FileError)
    }
}

/// The interface of a session, which cannot be called.
impl Session {
    /// The server's end.
    pub fn accept(keys: &Keys) -> Session {
        match keys.0 {}
    }

    /// The client's end.
    ///
    /// # Errors
    /// None.
    pub fn connect(key: &Key) -> Result<Session, PskError> {
        match key.0 {}
    }

    pub(crate) fn shake_hands(&mut self) -> Result<bool, PskError> {
        match self.0 {}
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn feed(&mut self, _records: &[u8]) {
        match self.0 {}
    }

    pub(crate) fn read(&mut self, _into: &mut [u8]) -> Result<Pulled, PskError> {
        match self.0 {}
    }

    pub(crate) fn write(&mut self, _clear: &[u8]) -> Result<(), PskError> {
        match self.0 {}
    }

    pub(crate) fn has_records(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn take_records(&mut self, _out: &mut Vec<u8>) {
        match self.0 {}
    }

    pub(crate) fn part(&mut self) {
        match self.0 {}
    }

    pub(crate) fn name(&self) -> &str {
        match self.0 {}
    }

    pub(crate) fn words(&self) -> String {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_taken_and_the_reason_is_said() {
        let said = "this program was built without pre-shared keys; use certificates, or build it with --features psk";
        assert_eq!(Keys::parse("alice:00112233445566778899aabbccddeeff").unwrap_err().to_string(), said);
        assert_eq!(Key::find("", "alice").unwrap_err().to_string(), said);
    }
}
