//! Ctrl-C and SIGTERM: the first one requests a clean stop, the second one stops at once.
//!
//! timeout(1) sends its signal twice, to the process and to its group. So a second signal counts
//! only if it comes later than a user could have noticed that the first one had no effect.

use crate::terminal;
use anyhow::{Context as _, Result};
use block::Span;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use uring::Clock;

/// A signal that follows the first one within this time is a duplicate.
const TWICE: Span = Span::from_millis(300);

/// Whether a stop was requested.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(AtomicBool, Mutex<()>, Condvar)>);

impl Stop {
    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.0.load(Ordering::Acquire)
    }

    /// [`Stop::is_asked`] as a function that can be passed on.
    pub fn question(&self) -> impl Fn() -> bool + 'static {
        let stop = self.clone();
        move || stop.is_asked()
    }

    /// Waits until a stop is requested.
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

/// The watch in use; a command that runs other commands shares it with them.
static WATCHED: Mutex<Option<Stop>> = Mutex::new(None);

/// Starts to watch for both signals.
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
            // On the second signal only the terminal is restored.
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

/// Calls `strike` on each of these signals from now on; the program continues.
///
/// # Errors
/// The signals are watched already.
pub fn each(strike: impl Fn() + Send + 'static) -> Result<()> {
    ctrlc::set_handler(strike).context("watch for Ctrl-C")
}
