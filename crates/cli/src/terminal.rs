//! Printing that survives a reader who left: `seawall … | head` is no failure.

use std::io::{Write, stdout};

/// Prints text as it is. When nobody reads any more there is nobody to tell.
pub fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a line.
pub fn line(text: &str) {
    print(&format!("{text}\n"));
}
