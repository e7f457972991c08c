//! Printing that survives a reader who left, for all commands: nothing of a run is lost for it, its
//! folders are put away, and then the program ends as the system ends every program that writes to
//! a pipe without a reader, by SIGPIPE. Output that cannot be written for another reason, such as a
//! full disk, makes the command fail at its end.
//!
//! Nothing else in this program prints: `println!` and `eprintln!` panic where these go on.

use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The reader of the output is gone.
static LEFT: AtomicBool = AtomicBool::new(false);
/// Why something could not be written to the standard output: the first reason.
static UNWRITTEN: OnceLock<Error> = OnceLock::new();

/// Prints text as it is. When nobody reads any more there is nobody to tell.
pub fn print(text: &str) {
    is_read(text);
}

/// Prints text, and tells whether it has a reader, for what would go on for ever.
pub fn is_read(text: &str) -> bool {
    match write(stdout().lock(), text) {
        Ok(()) => true,
        Err(error) => {
            if error.kind() != ErrorKind::BrokenPipe {
                let _ = UNWRITTEN.set(error);
            }
            false
        }
    }
}

/// The columns of the terminal that is printed to, where that is one.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0))
}

/// Prints a line.
pub fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Prints text as it is on the standard error.
pub fn aside(text: &str) {
    // Nothing is left to say it on.
    let _ = write(stderr().lock(), text);
}

/// Prints a line on the standard error, behind the program's name.
pub fn complain(line: &str) {
    aside(&format!("seawall: {line}\n"));
}

/// Whether a reader left; the program's end is [`uring::signal::end_by_broken_pipe`] then.
pub fn reader_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// Why some of the output is lost, where its reader has not left.
pub fn unwritten() -> Option<&'static Error> {
    UNWRITTEN.get()
}

fn write(mut out: impl Write, text: &str) -> std::io::Result<()> {
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        LEFT.store(true, Ordering::Relaxed);
    }
    written
}
