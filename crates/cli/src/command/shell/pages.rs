//! A long answer a page at a time.

use crate::terminal as screen;
use std::io::BufRead as _;

/// What stands below a page.
const BELOW: &str = "Press <return> for the next page, or q and <return> to end: ";

/// Prints an answer in pages of so many lines; whether it is still read.
pub fn print(answer: &str, rows: usize) -> bool {
    // The line below a page is one of its lines.
    let lines: Vec<&str> = answer.split_inclusive('\n').collect();
    let mut pages = lines.chunks(rows.saturating_sub(1).max(1)).peekable();
    while let Some(page) = pages.next() {
        if !screen::is_read(&page.concat()) {
            return false;
        }
        if pages.peek().is_some() {
            screen::print(BELOW);
            let mut key = String::new();
            let read = std::io::stdin().lock().read_line(&mut key);
            if !read.is_ok_and(|bytes| bytes > 0) || key.trim().eq_ignore_ascii_case("q") {
                return true;
            }
        }
    }
    true
}
