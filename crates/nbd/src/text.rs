//! Strings of the protocol: UTF-8, no NUL, at most 4096 bytes.

use crate::limits::STRING_BYTES_MAX;

/// The string in `bytes`, or a description of what is wrong with it that the peer may read.
///
/// Protocol text, "Conventions": "a sequence of UTF-8 code points, which is not NUL terminated,
/// MUST NOT contain NUL characters, … and MUST be no longer than 4096 bytes".
pub(crate) fn text(bytes: &[u8]) -> Result<&str, &'static str> {
    if bytes.len() > STRING_BYTES_MAX {
        return Err("is longer than 4096 bytes");
    }
    if bytes.contains(&0) {
        return Err("contains a NUL");
    }
    std::str::from_utf8(bytes).map_err(|_| "is not UTF-8")
}

/// As much of `string` as a message may have, cut between characters.
pub(crate) fn cut(string: &str) -> &str {
    let mut end = string.len().min(STRING_BYTES_MAX);
    while !string.is_char_boundary(end) {
        end -= 1;
    }
    &string[..end]
}

/// A peer's message for people, made safe to keep: at most 4096 bytes, with invalid bytes replaced.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(STRING_BYTES_MAX)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_utf8_without_nul_of_at_most_4096_bytes() {
        assert_eq!(text(b""), Ok(""));
        assert_eq!(text("/vol/größe".as_bytes()), Ok("/vol/größe"));
        assert!(text(&[b'a'; 4096]).is_ok());
        assert!(text(&[b'a'; 4097]).is_err());
        assert!(text(b"a\0").is_err());
        assert!(text(b"\xff").is_err());
    }

    #[test]
    fn cutting_keeps_characters_whole() {
        // 1 byte, then 2-byte characters: byte 4096 falls inside one, so 4095 are left.
        let long = format!("a{}", "ß".repeat(3000));
        assert_eq!(cut(&long).len(), 4095);
        assert_eq!(cut("short"), "short");
    }
}
