//! A server under load, looked at from a connection of its own: counters once a second, users'
//! connections ten times.

use super::{Book, Postgres};
use crate::books::Books as _;
use crate::error::Error;
use crate::play::Whistle;
use crate::process::process;
use block::{Span, Time};
use oltp::{At, ServerCounts, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use uring::Clock;

/// Between two looks at connections.
const LOOK: Span = Span::from_millis(100);

/// Watches a server from its start on.
pub struct ServerWatch {
    seen: Arc<Mutex<Vec<ServerCounts>>>,
    whistle: Arc<Whistle>,
    thread: Option<JoinHandle<()>>,
}

impl Postgres {
    /// Begins to watch, from now on, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the system gives no thread.
    pub fn watch(&self) -> Result<ServerWatch, Error> {
        let mut look = Look::new(self.clone())?;
        let (seen, whistle) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Whistle::default()));
        let (shared, ends) = (Arc::clone(&seen), Arc::clone(&whistle));
        let work = move || look.watch(&shared, &ends);
        let thread = std::thread::Builder::new().name("server".into()).spawn(work);
        let thread = thread.map_err(|error| Error::File("watching the server".into(), error))?;
        Ok(ServerWatch { seen, whistle, thread: Some(thread) })
    }
}

impl ServerWatch {
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
    postgres: Postgres,
    book: Book,
    clock: Clock,
    sql: String,
    before: ServerCounts,
    /// Processor time of each process.
    processes: HashMap<i64, Span>,
    /// Of the second that is not over.
    found: [u64; 6],
}

/// Connections of users, and what they wait for. One that is between transactions waits for its
/// client.
const CONNECTIONS: &str = "SELECT CASE WHEN state = 'active' THEN coalesce(wait_event_type, '') ELSE 'Client' END, \
     coalesce(wait_event, ''), count(*) FROM pg_stat_activity WHERE application_name = 'seawall user' AND datname = \
     current_database() GROUP BY 1, 2";
/// All processes of the server.
const PROCESSES: &str = "SELECT pid FROM pg_stat_activity";

impl Look {
    fn new(postgres: Postgres) -> Result<Look, Error> {
        let book = postgres.books()?;
        let major = book.wire.version().split(['.', ' ']).next().and_then(|part| part.parse().ok()).unwrap_or(0);
        let mut look = Look {
            postgres,
            book,
            clock: Clock::new(),
            sql: counters(major),
            before: ServerCounts::default(),
            processes: HashMap::new(),
            found: [0; 6],
        };
        look.before = look.counters()?;
        look.processes = look.processes()?;
        Ok(look)
    }

    fn watch(&mut self, seen: &Mutex<Vec<ServerCounts>>, whistle: &Whistle) {
        let start = self.clock.now();
        let (mut next, mut next_second): (Time, Time) = (start + LOOK, start + Span::SECOND);
        while !whistle.wait(next.since(self.clock.now())) {
            // A server that is gone comes back, or the run ends.
            if self.look().is_err()
                && let Ok(book) = self.postgres.books()
            {
                self.book = book;
            }
            next += LOOK;
            if next > next_second {
                let counts = self.second().unwrap_or_default();
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(counts);
                next_second += Span::SECOND;
            }
            // Looks that were missed are not made up for.
            next = next.max(self.clock.now());
        }
    }

    fn look(&mut self) -> Result<(), Error> {
        let found = &mut self.found;
        self.book.ask(CONNECTIONS, &[], &mut |row| {
            if let [Value::Text(kind), Value::Text(event), Value::Number(count)] = row.as_slice() {
                found[At::of_postgres(kind, event) as usize] += *count as u64;
            }
        })?;
        Ok(())
    }

    fn second(&mut self) -> Result<ServerCounts, Error> {
        let now = self.counters()?;
        let before = std::mem::replace(&mut self.before, now);
        let processes = self.processes()?;
        let had =
            |(pid, time): (&i64, &Span)| time.saturating_sub(self.processes.get(pid).copied().unwrap_or(Span::ZERO));
        let passed = processes.iter().map(had).fold(Span::ZERO, |sum, time| sum + time);
        let cpu = (!processes.is_empty()).then_some(passed);
        self.processes = processes;
        Ok(ServerCounts {
            read: now.read.saturating_sub(before.read),
            hit: now.hit.saturating_sub(before.hit),
            commits: now.commits.saturating_sub(before.commits),
            rollbacks: now.rollbacks.saturating_sub(before.rollbacks),
            wal: now.wal.saturating_sub(before.wal),
            wal_syncs: now.wal_syncs.saturating_sub(before.wal_syncs),
            checkpoints: now.checkpoints.saturating_sub(before.checkpoints),
            written: now.written.saturating_sub(before.written),
            found: std::mem::take(&mut self.found),
            cpu,
        })
    }

    fn counters(&mut self) -> Result<ServerCounts, Error> {
        let mut counts = ServerCounts::default();
        self.book.ask(&self.sql, &[], &mut |row| {
            let of = |at: usize| row.get(at).and_then(Value::number).unwrap_or(0) as u64;
            let [read, hit, commits, rollbacks, wal, wal_syncs, checkpoints, written] =
                [0, 1, 2, 3, 4, 5, 6, 7].map(of);
            counts = ServerCounts { read, hit, commits, rollbacks, wal, wal_syncs, checkpoints, written, ..counts };
        })?;
        Ok(counts)
    }

    /// Processor time of the server's processes; none where they are not seen.
    fn processes(&mut self) -> Result<HashMap<i64, Span>, Error> {
        let mut all = HashMap::new();
        if self.postgres.is_local() {
            self.book.ask(PROCESSES, &[], &mut |row| {
                let pid = row.first().and_then(Value::number);
                // In a container the same number is another process.
                let found = pid.and_then(|pid| Some((pid, process(&pid.to_string())?)));
                all.extend(
                    found.filter(|(_, (name, _))| name.starts_with("postgres")).map(|(pid, (_, time))| (pid, time)),
                );
            })?;
        }
        Ok(all)
    }
}

/// Counters of a server of that version, in the order of [`Look::counters`]. What the log and
/// checkpoints did has moved between views twice; blocks are those of this database, also where
/// `pg_stat_io` has those of all.
fn counters(major: u32) -> String {
    let syncs = match major {
        18.. => "(SELECT SUM(fsyncs) FROM pg_stat_io WHERE object = 'wal')",
        _ => "(SELECT wal_sync FROM pg_stat_wal)",
    };
    let (checkpoints, written) = match major {
        17.. => (
            "(SELECT num_timed + num_requested FROM pg_stat_checkpointer)",
            "(SELECT SUM(writes) FROM pg_stat_io WHERE object = 'relation')",
        ),
        16 => (
            "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)",
            "(SELECT SUM(writes) FROM pg_stat_io WHERE object = 'relation')",
        ),
        _ => (
            "(SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)",
            "(SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter)",
        ),
    };
    let block = "current_setting('block_size')::bigint";
    format!(
        "SELECT blks_read * {block}, blks_hit * {block}, xact_commit, xact_rollback, (SELECT wal_bytes FROM pg_stat_wal), \
         {syncs}, {checkpoints}, {written} * {block} FROM pg_stat_database WHERE datname = current_database()"
    )
}
