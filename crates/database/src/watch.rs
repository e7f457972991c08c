//! A server under load, looked at from a connection of its own: counters once a second, users'
//! connections ten times.

use crate::error::Error;
use crate::play::Whistle;
use block::{Span, Time};
use oltp::{At, ServerCounts};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use uring::Clock;

/// Between two looks at connections.
const LOOK: Span = Span::from_millis(100);

/// How often users' connections were found at each of [`At::ALL`].
pub(crate) type Places = [u64; At::ALL.len()];

/// A connection that looks at its server.
pub(crate) trait Seeing: Send {
    /// Connects anew to a server that was gone.
    fn again(&mut self) -> Result<(), Error>;

    /// Adds where users' connections are now.
    fn look(&mut self, found: &mut Places) -> Result<(), Error>;

    /// What the server has counted since it began to; connections and processes are not in it.
    fn counters(&mut self) -> Result<ServerCounts, Error>;

    /// Processor time of the server's processes by their numbers; none where they are not seen.
    fn processes(&mut self) -> Result<HashMap<i64, Span>, Error>;
}

/// Watches a server from its start on.
pub struct ServerWatch {
    seen: Arc<Mutex<Vec<ServerCounts>>>,
    whistle: Arc<Whistle>,
    thread: Option<JoinHandle<()>>,
}

impl ServerWatch {
    /// Begins to watch, from now on, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the system gives no thread.
    pub(crate) fn begin(server: Box<dyn Seeing>) -> Result<ServerWatch, Error> {
        let mut look = Look::new(server)?;
        let (seen, whistle) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Whistle::default()));
        let (shared, ends) = (Arc::clone(&seen), Arc::clone(&whistle));
        let work = move || look.watch(&shared, &ends);
        let thread = std::thread::Builder::new().name("server".into()).spawn(work);
        let thread = thread.map_err(|error| Error::File("watching the server".into(), error))?;
        Ok(ServerWatch { seen, whistle, thread: Some(thread) })
    }

    /// Ends it; what was seen, by whole seconds. A server that was gone for a while has seconds of
    /// nothing.
    pub fn end(mut self) -> Vec<ServerCounts> {
        self.stop();
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) {
        self.whistle.blow();
        if let Some(thread) = self.thread.take() {
            // What it saw before it broke off is there.
            let _ = thread.join();
        }
    }
}

impl Drop for ServerWatch {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Look {
    server: Box<dyn Seeing>,
    clock: Clock,
    before: ServerCounts,
    /// Processor time of each process.
    processes: HashMap<i64, Span>,
    /// Of the second that is not over.
    found: Places,
}

impl Look {
    fn new(mut server: Box<dyn Seeing>) -> Result<Look, Error> {
        let (before, processes) = (server.counters()?, server.processes()?);
        Ok(Look { server, clock: Clock::new(), before, processes, found: Places::default() })
    }

    fn watch(&mut self, seen: &Mutex<Vec<ServerCounts>>, whistle: &Whistle) {
        let start = self.clock.now();
        let (mut next, mut next_second): (Time, Time) = (start + LOOK, start + Span::SECOND);
        while !whistle.wait(next.since(self.clock.now())) {
            // A server that is gone comes back, or the run ends.
            if self.server.look(&mut self.found).is_err() {
                let _ = self.server.again();
            }
            next += LOOK;
            if next > next_second {
                let counts = self.second().unwrap_or_else(|_| nothing_like(&self.before));
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
                next_second += Span::SECOND;
            }
            // Looks that were missed are not made up for.
            next = next.max(self.clock.now());
        }
    }

    fn second(&mut self) -> Result<ServerCounts, Error> {
        let now = self.server.counters()?;
        let before = std::mem::replace(&mut self.before, now);
        let processes = self.server.processes()?;
        let had =
            |(pid, time): (&i64, &Span)| time.saturating_sub(self.processes.get(pid).copied().unwrap_or(Span::ZERO));
        let passed = processes.iter().map(had).fold(Span::ZERO, |sum, time| sum + time);
        let cpu = (!processes.is_empty()).then_some(passed);
        self.processes = processes;
        let known = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        Ok(ServerCounts {
            read: now.read.saturating_sub(before.read),
            hit: now.hit.saturating_sub(before.hit),
            commits: now.commits.saturating_sub(before.commits),
            rollbacks: now.rollbacks.saturating_sub(before.rollbacks),
            wal: now.wal.saturating_sub(before.wal),
            wal_syncs: known(now.wal_syncs, before.wal_syncs),
            checkpoints: known(now.checkpoints, before.checkpoints),
            written: now.written.saturating_sub(before.written),
            found: std::mem::take(&mut self.found),
            cpu,
        })
    }
}

/// Nothing, of what the server counts.
fn nothing_like(counts: &ServerCounts) -> ServerCounts {
    let none = |count: Option<u64>| count.map(|_| 0);
    ServerCounts { wal_syncs: none(counts.wal_syncs), checkpoints: none(counts.checkpoints), ..ServerCounts::default() }
}
