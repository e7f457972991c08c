//! Watches a server under load on a connection of its own: counters once a second, users'
//! connections ten times a second.

use crate::error::Error;
use crate::play::StopSignal;
use crate::process::ProcessUse;
use block::{Span, Time};
use oltp::{ConnectionState, ServerCounts, StoredCounts};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use uring::Clock;

/// Time between two looks at connections.
const LOOK: Span = Span::from_millis(100);

/// How many connections of users were seen in each state of [`ConnectionState::ALL`].
pub(crate) type Places = [u64; ConnectionState::ALL.len()];

/// A connection that observes its server.
pub(crate) trait ServerProbe: Send {
    /// Reconnects to a server that was lost.
    fn again(&mut self) -> Result<(), Error>;

    /// Adds the current states of users' connections.
    fn look(&mut self, found: &mut Places) -> Result<(), Error>;

    /// The server's counters since its start, without connections and processes.
    fn counters(&mut self) -> Result<ServerCounts, Error>;

    /// Resources used by the server's processes, by process id; empty if they are not visible.
    fn processes(&mut self) -> Result<HashMap<i64, ProcessUse>, Error>;

    /// Counters of each table and index since the server's start, with their present pages; empty
    /// if the server has none.
    fn stored(&mut self) -> Result<Vec<StoredCounts>, Error> {
        Ok(Vec::new())
    }

    /// Whether pages appended to a table count as read.
    fn counts_new_as_read(&self) -> bool {
        false
    }
}

/// What was observed.
#[derive(Debug, Default)]
pub struct ServerSeen {
    /// By whole seconds. While the server was lost, seconds are zero.
    pub seconds: Vec<ServerCounts>,
    /// For each table and index, from beginning to end; empty if they are not counted, or the
    /// server was lost.
    pub stored: Vec<StoredCounts>,
}

/// Watches a server in a thread.
pub struct ServerWatch {
    seen: Arc<Mutex<ServerSeen>>,
    signal: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
}

impl ServerWatch {
    /// Starts to watch a server, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the thread could not be started.
    pub(crate) fn begin(server: Box<dyn ServerProbe>) -> Result<ServerWatch, Error> {
        let mut look = Look::new(server)?;
        let (seen, signal) = (Arc::new(Mutex::new(ServerSeen::default())), Arc::new(StopSignal::default()));
        let (shared, ends) = (Arc::clone(&seen), Arc::clone(&signal));
        let work = move || look.watch(&shared, &ends);
        let thread = std::thread::Builder::new().name("server".into()).spawn(work);
        let thread = thread.map_err(|error| Error::File("watching the server".into(), error))?;
        Ok(ServerWatch { seen, signal, thread: Some(thread) })
    }

    /// Ends the watch; returns what was observed.
    pub fn end(mut self) -> ServerSeen {
        self.stop();
        std::mem::take(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) {
        self.signal.raise();
        if let Some(thread) = self.thread.take() {
            // What was observed before a panic is kept.
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
    server: Box<dyn ServerProbe>,
    clock: Clock,
    before: ServerCounts,
    /// The last resource usage of each process.
    processes: HashMap<i64, ProcessUse>,
    /// The counters at the start.
    stored: Vec<StoredCounts>,
    /// States seen in the current second.
    found: Places,
}

impl Look {
    fn new(mut server: Box<dyn ServerProbe>) -> Result<Look, Error> {
        let (before, processes, stored) = (server.counters()?, server.processes()?, server.stored()?);
        Ok(Look { server, clock: Clock::new(), before, processes, stored, found: Places::default() })
    }

    fn watch(&mut self, seen: &Mutex<ServerSeen>, signal: &StopSignal) {
        let start = self.clock.now();
        let (mut next, mut next_second): (Time, Time) = (start + LOOK, start + Span::SECOND);
        while !signal.wait(next.since(self.clock.now())) {
            // A server that is lost comes back, or the run ends.
            if self.server.look(&mut self.found).is_err() {
                let _ = self.server.again();
            }
            next += LOOK;
            if next > next_second {
                let counts = self.second().unwrap_or_else(|_| nothing_like(&self.before));
                seen.lock().unwrap_or_else(PoisonError::into_inner).seconds.push(counts);
                next_second += Span::SECOND;
            }
            // Looks that were missed are not repeated.
            next = next.max(self.clock.now());
        }
        let stored = self.server.stored().unwrap_or_default();
        seen.lock().unwrap_or_else(PoisonError::into_inner).stored =
            between(&self.stored, stored, self.server.counts_new_as_read());
    }

    fn second(&mut self) -> Result<ServerCounts, Error> {
        let now = self.server.counters()?;
        let before = std::mem::replace(&mut self.before, now);
        let processes = self.server.processes()?;
        let had = |pid| self.processes.get(pid).copied().unwrap_or_default();
        let passed = processes.iter().map(|(pid, used)| used.cpu.saturating_sub(had(pid).cpu));
        let cpu = (!processes.is_empty()).then(|| passed.fold(Span::ZERO, |sum, time| sum + time));
        let fetched =
            processes.iter().map(|(pid, used)| Some(used.fetched?.saturating_sub(had(pid).fetched.unwrap_or(0))));
        let fetched = (!processes.is_empty()).then(|| fetched.sum()).flatten();
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
            fetched,
        })
    }
}

/// The difference of counters. If the server was restarted in between, it is empty.
fn between(before: &[StoredCounts], now: Vec<StoredCounts>, new_are_read: bool) -> Vec<StoredCounts> {
    let passed = |now: StoredCounts| {
        let before = before.iter().find(|before| before.stored == now.stored)?;
        let added = now.pages.saturating_sub(before.pages);
        let (asked, read) = (now.asked.checked_sub(before.asked)?, now.read.checked_sub(before.read)?);
        let read = if new_are_read { read.saturating_sub(added) } else { read };
        Some(StoredCounts { added, asked, read, ..now })
    };
    now.into_iter().map(passed).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Zero for everything that the server counts.
fn nothing_like(counts: &ServerCounts) -> ServerCounts {
    let none = |count: Option<u64>| count.map(|_| 0);
    ServerCounts { wal_syncs: none(counts.wal_syncs), checkpoints: none(counts.checkpoints), ..ServerCounts::default() }
}
