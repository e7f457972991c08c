//! A long answer a page at a time.

use super::secret;
use crate::terminal as screen;

/// What stands below a page.
const BELOW: &str = "Press <return> for the next page, or q and <return> to end: ";

/// What is said of anything else.
const NO_COMMAND: &str = "That is no command here, and was not run.\n";

/// Prints an answer in pages of so many lines; whether it is still read.
pub fn print(answer: &str, rows: usize) -> bool {
    // The line below a page is one of its lines.
    let lines: Vec<&str> = answer.split_inclusive('\n').collect();
    let mut pages = lines.chunks(rows.saturating_sub(1).max(1)).peekable();
    while let Some(page) = pages.next() {
        if !screen::is_read(&page.concat()) {
            return false;
        }
        if pages.peek().is_some() && !wants_more() {
            return true;
        }
    }
    true
}

/// Whether the next page is wanted: not after q, Ctrl-C, or the end of the input. What is typed is
/// not shown, as it may be meant for a later question, such as one for a password.
fn wants_more() -> bool {
    loop {
        match secret::ask(BELOW).ok().flatten().as_deref().map(str::trim) {
            Some("") => return true,
            None | Some("q" | "Q") => return false,
            Some(_) => screen::aside(NO_COMMAND),
        }
    }
}
