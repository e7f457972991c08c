//! Ctrl-C and SIGTERM: the first asks for a clean stop, the second stops at once.
//!
//! timeout(1) sends its signal twice, to the process and to its group. So a second one counts only
//! when it comes later than anybody could have seen the first do nothing.

use crate::terminal;
use anyhow::{Context as _, Result};
use block::Span;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use uring::Clock;

/// A signal that comes so soon after the first is the same one.
const TWICE: Span = Span::from_millis(300);

/// Whether a stop was asked for.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(AtomicBool, Mutex<()>, Condvar)>);

impl Stop {
    /// Whether it was.
    pub fn is_asked(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// The same as a question to hand on.
    pub fn question(&self) -> impl Fn() -> bool + 'static {
        let stop = self.clone();
        move || stop.is_asked()
    }

    /// Waits until it is.
    pub fn wait(&self) {
        let mut guard = self.0.1.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_asked() {
            guard = self.0.2.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ask(&self) -> bool {
        let asked_before = self.0.0.swap(true, Ordering::AcqRel);
        let _guard = self.0.1.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.2.notify_all();
        asked_before
    }
}

/// The one that watches: a command that runs others has it with them.
static WATCHED: Mutex<Option<Stop>> = Mutex::new(None);

/// Watches for both signals from now on.
pub fn watch() -> Result<Stop> {
    let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stop) = &*watched {
        return Ok(stop.clone());
    }
    let stop = Stop::default();
    let seen = stop.clone();
    let clock = Clock::new();
    let mut first = None;
    ctrlc::set_handler(move || {
        let now = clock.now();
        let since = now.since(*first.get_or_insert(now));
        if seen.ask() && since > TWICE {
            // The second time: nothing more is cleaned up but the terminal.
            if std::io::stdout().is_terminal() {
                terminal::print(report::live::SHOW_CURSOR);
            } else if std::io::stderr().is_terminal() {
                terminal::aside(report::live::SHOW_CURSOR);
            }
            std::process::exit(130);
        }
    })
    .context("watch for Ctrl-C")?;
    *watched = Some(stop.clone());
    Ok(stop)
}

/// Calls `strike` at each of both signals from now on; the program goes on.
///
/// # Errors
/// They are watched already.
pub fn each(strike: impl Fn() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(strike).context("watch for Ctrl-C")
}
