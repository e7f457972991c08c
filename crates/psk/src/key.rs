//! Pre-shared keys, and the files that contain them.
//!
//! ```text
//!   # comment
//!   alice:6f1d…      a name, and a key of 16 to 64 bytes as hexadecimal digits
//! ```

use crate::PskError;
use s2n_tls::config::Config;
use s2n_tls::enums::PskHmac;
use s2n_tls::psk::Psk;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Most keys in a file: a server offers all of them to each client, and the library compares them
/// one by one.
pub const KEYS_MAX: usize = 256;

/// Shortest key in bytes, as RFC 9257 requires.
pub const KEY_BYTES_MIN: usize = 16;

/// Longest key in bytes that `psktool` makes.
pub const KEY_BYTES_MAX: usize = 64;

/// Longest name in bytes.
pub const NAME_BYTES_MAX: usize = 128;

/// A name and its key.
#[derive(Clone)]
pub struct Key {
    name: String,
    secret: Arc<Psk>,
}

/// The keys of a server. Cheap to clone.
#[derive(Clone)]
pub struct Keys {
    pub(crate) config: Config,
    pub(crate) all: Arc<[Key]>,
}

/// What is wrong with a file of keys; messages never contain a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// A line is invalid.
    #[error("line {line}: {rule}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A name occurs twice.
    #[error("line {line}: there is a key for {name:?} above; keep one of them")]
    Twice {
        /// The line's number, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// The file has no keys.
    #[error("there is no key in it; a line is NAME:HEX, as `psktool -u NAME -p FILE` writes it")]
    Empty,
    /// The file has too many keys.
    #[error("there are more than {KEYS_MAX} keys in it")]
    TooMany,
    /// The client's name is not in the file.
    #[error("there is no key for {0:?} in it; name one in the URI, as in nbds://NAME@host/")]
    NoSuchName(String),
    /// The library failed.
    #[error("TLS: {0}")]
    Library(String),
}

impl Keys {
    /// Parses the text of a file of keys.
    ///
    /// # Errors
    /// A line breaks a rule, or there are no keys.
    pub fn parse(text: &str) -> Result<Keys, FileError> {
        let all = entries(text)?.into_iter().map(|(name, secret)| Key::new(name, &secret)).collect::<Result<_, _>>()?;
        Ok(Keys { config: config()?, all })
    }

    /// Number of keys.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

impl Key {
    /// Finds the key with that name in the text of a file of keys.
    ///
    /// # Errors
    /// As for [`Keys::parse`], or there is no such name.
    pub fn find(text: &str, name: &str) -> Result<Key, FileError> {
        let found = entries(text)?.into_iter().find(|(found, _)| found == name);
        let (name, secret) = found.ok_or_else(|| FileError::NoSuchName(name.into()))?;
        Key::new(name, &secret)
    }

    /// A key of 16 to 64 bytes.
    fn new(name: String, secret: &[u8]) -> Result<Key, FileError> {
        let made = || {
            let mut builder = Psk::builder()?;
            builder.set_identity(name.as_bytes())?.set_secret(secret)?.set_hmac(PskHmac::SHA256)?;
            builder.build()
        };
        let secret = made().map_err(|error| library(&error))?;
        Ok(Key { name, secret: Arc::new(secret) })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn secret(&self) -> &Psk {
        &self.secret
    }
}

/// The configuration that all sessions share.
pub(crate) fn config() -> Result<Config, FileError> {
    let made = || {
        let mut builder = Config::builder();
        builder.set_security_policy(&s2n_tls::security::DEFAULT_TLS13)?;
        // Certificates are never trusted here.
        builder.with_system_certs(false)?;
        // The library would delay the end of a failed session by half a minute, against attacks on
        // cipher suites that TLS 1.3 does not have.
        builder.set_max_blinding_delay(0)?;
        builder.build()
    };
    made().map_err(|error| library(&error))
}

fn library(error: &s2n_tls::error::Error) -> FileError {
    FileError::Library(PskError::Tls(error.message().into()).to_string())
}

fn entries(text: &str) -> Result<Vec<(String, Vec<u8>)>, FileError> {
    let (mut found, mut names) = (Vec::new(), HashSet::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, secret) = entry(line).map_err(|rule| FileError::Line { line: number + 1, rule })?;
        if !names.insert(name.to_owned()) {
            return Err(FileError::Twice { line: number + 1, name: name.into() });
        }
        found.push((name.to_owned(), secret));
    }
    match found.len() {
        0 => Err(FileError::Empty),
        count if count > KEYS_MAX => Err(FileError::TooMany),
        _ => Ok(found),
    }
}

fn entry(line: &str) -> Result<(&str, Vec<u8>), &'static str> {
    let (name, digits) = line.split_once(':').ok_or("must be NAME:HEX")?;
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains(char::is_control) {
        return Err("the name must have 1 to 128 bytes and no control characters");
    }
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((hex(*high)? << 4) | hex(*low)?),
        _ => None,
    };
    let secret: Vec<u8> =
        pairs.map(byte).collect::<Option<_>>().ok_or("the key must be pairs of hexadecimal digits")?;
    if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&secret.len()) {
        return Err("the key must have 16 to 64 bytes, 32 to 128 digits");
    }
    Ok((name, secret))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_psktool_writes_it() {
        let (long, short) = ("AB".repeat(64), "0f".repeat(16));
        let keys =
            Keys::parse(&format!("# who may come\nalice:{long}\n\n#bob:{short}\ncarol one:{short}\r\n")).unwrap();
        assert_eq!(keys.all.iter().map(Key::name).collect::<Vec<_>>(), ["alice", "carol one"]);
        assert_eq!(Key::find(&format!("a:{short}\nb:{short}"), "b").unwrap().name(), "b");
        let shown = format!("{keys:?}");
        assert!(shown.contains("alice") && !shown.to_lowercase().contains("abab"), "no key is shown: {shown}");
    }

    #[test]
    fn what_is_wrong_is_named_and_no_key_shown() {
        let key = "a5".repeat(16);
        for (text, words) in [
            (String::new(), "no key in it"),
            ("# only this".into(), "no key in it"),
            ("alice".into(), "line 1: must be NAME:HEX"),
            (format!(":{key}"), "line 1: the name"),
            (format!("a\u{7}b:{key}"), "line 1: the name"),
            (format!("{}:{key}", "x".repeat(129)), "line 1: the name"),
            (format!("alice:{key}a"), "pairs of hexadecimal digits"),
            (format!("alice:{key}xx"), "pairs of hexadecimal digits"),
            (format!("alice:{}", &key[2..]), "16 to 64 bytes"),
            (format!("alice:{}", "a5".repeat(65)), "16 to 64 bytes"),
            (format!("\nalice:{key}\nbob:{key}\nalice:{key}"), "line 4: there is a key for \"alice\" above"),
            ((0..257).map(|n| format!("{n}:{key}\n")).collect(), "more than 256 keys"),
        ] {
            let said = Keys::parse(&text).unwrap_err().to_string();
            assert!(said.contains(words) && !said.contains("a5a5"), "{words}: {said}");
        }
        assert!(Key::find(&format!("alice:{key}"), "bob").unwrap_err().to_string().contains("no key for \"bob\""));
    }
}
