//! Ctrl-C and SIGTERM: the first one requests a clean stop, the second one stops at once. A command
//! that can end without waiting for its storage and still report takes the second one as that wish;
//! then the third one stops at once.
//!
//! timeout(1) sends its signal twice, to the process and to its group. So a signal that follows
//! another one counts only if it comes later than a user could have noticed that the other one had
//! no effect.

use crate::terminal;
use anyhow::{Context as _, Result};
use block::{Span, Time};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use uring::Clock;

/// A signal that follows another one within this time is a duplicate.
const TWICE: Span = Span::from_millis(300);

/// Whether a stop was requested.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    asked: AtomicBool,
    /// A second signal came that the command heeds.
    insisted: AtomicBool,
    /// The command heeds a second signal.
    heeds: AtomicBool,
    waiting: Mutex<()>,
    changed: Condvar,
}

impl Stop {
    /// Whether a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.asked.load(Ordering::Acquire)
    }

    /// From now on the command asks for [`Stop::is_insisted_on`], and a second signal does not end
    /// the program.
    pub fn let_insist(&self) {
        self.0.heeds.store(true, Ordering::Release);
    }

    /// Whether a second signal came: the command is to end without waiting for its storage.
    pub fn is_insisted_on(&self) -> bool {
        self.0.insisted.load(Ordering::Acquire)
    }

    /// [`Stop::is_asked`] as a function that can be passed on.
    pub fn question(&self) -> impl Fn() -> bool + 'static {
        let stop = self.clone();
        move || stop.is_asked()
    }

    /// Waits until a stop is requested.
    pub fn wait(&self) {
        let mut guard = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_asked() {
            guard = self.0.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a signal; returns whether the program is to end at once.
    fn take_signal(&self) -> bool {
        if self.0.asked.swap(true, Ordering::AcqRel) {
            return !self.0.heeds.load(Ordering::Acquire) || self.0.insisted.swap(true, Ordering::AcqRel);
        }
        let _guard = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.changed.notify_all();
        false
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
    let mut last: Option<Time> = None;
    ctrlc::set_handler(move || {
        let now = clock.now();
        if last.is_some_and(|last| now.since(last) <= TWICE) {
            return;
        }
        last = Some(now);
        if seen.take_signal() {
            // Only the terminal is restored.
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
