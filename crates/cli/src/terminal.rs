//! Printing for all commands that survives a closed pipe: the run is not lost, its folders are
//! removed, and then the program ends by SIGPIPE, like any program that writes to a pipe without a
//! reader. If output cannot be written for another reason, such as a full disk, the command fails
//! at its end.
//!
//! Nothing else in this program prints: `println!` and `eprintln!` would panic on errors.

use std::io::{Error, ErrorKind, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Whether the reader of the output is gone.
static LEFT: AtomicBool = AtomicBool::new(false);
/// The first error of writing to standard output.
static UNWRITTEN: OnceLock<Error> = OnceLock::new();
/// Lines on standard error that wait for the end of a line of output; `None` if none is open.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

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

/// Prints a line on standard error.
pub fn aside_line(text: &str) {
    aside(&format!("{text}\n"));
}

/// Prints a line on standard error, with the program's name in front: at once, or when the open
/// line of output has ended.
pub fn complain(line: &str) {
    match &mut *HELD.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(held) => held.push(line.to_owned()),
        None => aside(&format!("seawall: {line}\n")),
    }
}

/// [`complain`] at once, in the middle of an open line of output.
pub fn interject(line: &str) {
    let is_open = HELD.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    aside(&format!("{}seawall: {line}\n", if is_open { "\n" } else { "" }));
}

/// A line of output that stays open: what [`complain`] is told follows when this is dropped.
#[derive(Debug)]
pub struct OpenLine(());

impl OpenLine {
    /// From now on a line is open.
    pub fn begin() -> OpenLine {
        HELD.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
        OpenLine(())
    }
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        let held = HELD.lock().unwrap_or_else(PoisonError::into_inner).take();
        held.iter().flatten().for_each(|line| complain(line));
    }
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
