//! Printing for all commands that survives a closed pipe: the run is not lost, its folders are
//! removed, and then the program ends by SIGPIPE, like any program that writes to a pipe without a
//! reader. If output cannot be written for another reason, such as a full disk, the command fails
//! at its end.
//!
//! Nothing else in this program prints: `println!` and `eprintln!` would panic on errors.

use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the reader of the output is gone.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The first error of writing to standard output.
static UNWRITTEN: OnceLock<Error> = OnceLock::new();

/// Prints text without changes; does nothing if the reader is gone.
pub fn print(text: &str) {
    is_read(text);
}

/// Prints text and returns whether it still has a reader, for endless output.
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

/// The columns of the terminal, if standard output is one.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0))
}

/// Prints a line.
pub fn line(text: &str) {
    print(&format!("{text}\n"));
}

/// Prints text without changes on standard error.
pub fn aside(text: &str) {
    // There is no stream left to report this on.
    let _ = write(stderr().lock(), text);
}

/// Prints a line on standard error, with the program's name in front.
pub fn complain(line: &str) {
    aside(&format!("seawall: {line}\n"));
}

/// Whether the reader is gone; the program then ends by [`uring::signal::end_by_broken_pipe`].
pub fn reader_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// The error that lost some of the output, if its reader is not gone.
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
