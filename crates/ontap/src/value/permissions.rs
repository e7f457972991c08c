//! Unix permissions of a folder or file.

use super::{ValueError, plain_value};
use std::fmt;
use std::str::FromStr;

/// Set-user, set-group and sticky bit, then the rights of owner, group and others: `---rwxr-xr-x`,
/// as ONTAP prints them, or `755`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnixPermissions(u32);

/// The printed letters of all bits, highest bit first.
const LETTERS: &[u8; 12] = b"sstrwxrwxrwx";

impl UnixPermissions {
    /// Takes the lowest twelve bits.
    pub fn new(mode: u32) -> UnixPermissions {
        UnixPermissions(mode & 0o7777)
    }

    /// The bits.
    pub fn mode(self) -> u32 {
        self.0
    }
}

impl FromStr for UnixPermissions {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<UnixPermissions, ValueError> {
        let octal = || {
            let fits = (1..=5).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
            u32::from_str_radix(text, 8).ok().filter(|mode| fits && *mode <= 0o7777)
        };
        let letters = || {
            let known = LETTERS.get(LETTERS.len().checked_sub(text.len())?..)?;
            let bit = |mode: u32, (given, letter): (u8, &u8)| match given {
                b'-' => Some(mode << 1),
                given if given == *letter => Some(mode << 1 | 1),
                _ => None,
            };
            let is_whole = text.len() == 9 || text.len() == 12;
            text.bytes().zip(known).try_fold(0, bit).filter(|_| is_whole)
        };
        octal()
            .or_else(letters)
            .map(UnixPermissions)
            .ok_or_else(|| ValueError::new(text, "is no permissions: write 755, or rwxr-xr-x"))
    }
}

impl fmt::Display for UnixPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |(at, letter): (usize, &u8)| if self.0 >> (11 - at) & 1 == 1 { char::from(*letter) } else { '-' };
        f.write_str(&LETTERS.iter().enumerate().map(letter).collect::<String>())
    }
}

plain_value!(UnixPermissions, "<permissions>");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_read_as_they_are_written() {
        for (text, mode, printed) in [
            ("755", 0o755, "---rwxr-xr-x"),
            ("0755", 0o755, "---rwxr-xr-x"),
            ("rwxr-xr-x", 0o755, "---rwxr-xr-x"),
            ("1777", 0o1777, "--trwxrwxrwx"),
            ("s-trw-------", 0o5600, "s-trw-------"),
            ("0", 0, "------------"),
        ] {
            let read: UnixPermissions = text.parse().unwrap();
            assert_eq!((read.mode(), read.to_string()), (mode, printed.into()), "{text}");
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for wrong in ["", "8", "77777", "+755", "rwxrwxrw", "xwrxwrxwr", "-755", "rwxr-xr-x ", "u+w"] {
            assert!(wrong.parse::<UnixPermissions>().is_err(), "{wrong}");
        }
    }
}
