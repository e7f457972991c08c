//! Looking for a server that was lost, on a thread of its own: connecting blocks, and a worker must not.

use super::connect::{ConnectError, Connection};
use super::export::Export;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;
use uring::Waker;

/// Pauses between attempts: short at first, as a server that is started again is back soon, and then no flood.
const PAUSE_LEAST: Duration = Duration::from_millis(10);
const PAUSE_MOST: Duration = Duration::from_secs(1);

/// Attempts that go on until one succeeds or this is dropped.
pub(super) struct Search {
    news: Receiver<Result<Connection, ConnectError>>,
    /// Its end tells the thread to stop.
    _stop: Sender<()>,
    /// Why the last attempt failed.
    pub(super) last: Option<String>,
}

impl Search {
    /// Starts to look; `waker` is rung at every end of an attempt. `None` where no thread can be started.
    pub(super) fn start(export: &Export, waker: Waker) -> Option<Search> {
        let (export, (tell, news), (stop, stopped)) = (export.clone(), channel(), channel());
        let body = move || look(&export, &waker, &tell, &stopped);
        std::thread::Builder::new().name("reconnect".into()).spawn(body).ok()?;
        Some(Search { news, _stop: stop, last: None })
    }

    /// The connection, if it was made. Never blocks.
    pub(super) fn take(&mut self) -> Option<Connection> {
        loop {
            match self.news.try_recv() {
                Ok(Ok(connection)) => return Some(connection),
                Ok(Err(error)) => self.last = Some(error.to_string()),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
            }
        }
    }
}

fn look(export: &Export, waker: &Waker, tell: &Sender<Result<Connection, ConnectError>>, stopped: &Receiver<()>) {
    let mut pause = PAUSE_LEAST;
    loop {
        let made = Connection::to(export);
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
