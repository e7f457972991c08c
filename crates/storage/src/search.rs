//! Searching for a lost server on a separate thread, since connecting blocks and a worker must not.

use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;
use uring::Waker;

/// Pauses between attempts: short at first, for a server that is restarted quickly, then longer, so
/// as not to flood it.
const PAUSE_LEAST: Duration = Duration::from_millis(10);
const PAUSE_MOST: Duration = Duration::from_secs(1);

/// Attempts to connect that continue until one succeeds or this is dropped.
pub(crate) struct Search<C> {
    news: Receiver<Result<C, String>>,
    /// Dropping it tells the thread to stop.
    _stop: Sender<()>,
    /// Why the last attempt failed.
    pub(crate) last: Option<String>,
}

impl<C: Send + 'static> Search<C> {
    /// Starts to call `attempt`; `waker` is called after each attempt. `None` if no thread can be
    /// started.
    pub(crate) fn start<E: Display>(
        attempt: impl Fn() -> Result<C, E> + Send + 'static,
        waker: Waker,
    ) -> Option<Search<C>> {
        let ((tell, news), (stop, stopped)) = (channel(), channel());
        let attempt = move || attempt().map_err(|error| error.to_string());
        let body = move || look(attempt, &waker, &tell, &stopped);
        std::thread::Builder::new().name("reconnect".into()).spawn(body).ok()?;
        Some(Search { news, _stop: stop, last: None })
    }

    /// The connection, if there is one. Never blocks.
    pub(crate) fn take(&mut self) -> Option<C> {
        loop {
            match self.news.try_recv() {
                Ok(Ok(connection)) => return Some(connection),
                Ok(Err(line)) => self.last = Some(line),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
            }
        }
    }
}

fn look<C>(
    attempt: impl Fn() -> Result<C, String>,
    waker: &Waker,
    tell: &Sender<Result<C, String>>,
    stopped: &Receiver<()>,
) {
    let mut pause = PAUSE_LEAST;
    loop {
        let made = attempt();
        let is_made = made.is_ok();
        let is_heard = tell.send(made).is_ok();
        waker.wake();
        if is_made || !is_heard {
            return;
        }
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        pause = (pause * 2).min(PAUSE_MOST);
    }
}
