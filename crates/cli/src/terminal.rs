//! Printing that survives a reader who left: `seawall … | head` is no failure.

use std::io::{Write, stdout};

/// Prints text as it is. When nobody reads any more there is nobody to tell.
pub fn print(text: &str) {
    is_read(text);
}

/// Prints text, and tells whether somebody reads it, for what would go on for ever.
pub fn is_read(text: &str) -> bool {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Prints a line.
pub fn line(text: &str) {
    print(&format!("{text}\n"));
}
