//! What was observed of the host and the database during a load.

use crate::stored::Stored;
use block::Span;
use std::ops::AddAssign;

/// What the host and the programs did in the window; fractions are from 0 to 1.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Fraction of all processors' time that was used.
    pub cpu: Option<f64>,
    /// The busiest device, and the fraction of the time in which it had requests.
    pub device: Option<(String, f64)>,
    /// Bytes that all watched devices read.
    pub device_read: Option<u64>,
    /// Fraction of the time in which some task waited for I/O.
    pub io_pressure: Option<f64>,
    /// Processors used by this program, including the database if that is embedded.
    pub own_cores: Option<f64>,
    /// Processors used by a server's processes, if they are on this host.
    pub database_cores: Option<f64>,
    /// Processors of the host; 0 if unknown.
    pub cores: u32,
    /// Users think or follow a schedule; otherwise all of their time is spent in the database or in
    /// this program.
    pub paced: bool,
    /// Bytes that this program read from below the page cache.
    pub fetched: Option<u64>,
    /// The server's counters.
    pub server: Option<ServerCounts>,
    /// The server's counters of each table and index, if it has them.
    pub stored: Vec<StoredCounts>,
    /// Memory limit of a private server's processes in bytes, page cache included.
    pub memory: Option<u64>,
    /// Bytes of it that were page cache at the end of the window.
    pub page_cache: Option<u64>,
}

/// A server's counters of a table or an index in a window, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCounts {
    /// The table or index.
    pub stored: Stored,
    /// Its pages at the end.
    pub pages: u64,
    /// Pages appended in the window.
    pub added: u64,
    /// How often a page was requested.
    pub asked: u64,
    /// Pages read from the operating system, without new ones.
    pub read: u64,
}

/// What a user's connection was doing when the server was sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum ConnectionState {
    /// Working, or waiting for a processor.
    Processor,
    /// Waiting for blocks of tables and indexes.
    Reading,
    /// Waiting for the log to be written or synced, or for a replica.
    Committing,
    /// Waiting for another transaction.
    Locked,
    /// Waiting for the next statement.
    Client,
    /// Waiting for anything else.
    Other,
}

impl ConnectionState {
    /// All of them.
    pub const ALL: [ConnectionState; 6] = [
        ConnectionState::Processor,
        ConnectionState::Reading,
        ConnectionState::Committing,
        ConnectionState::Locked,
        ConnectionState::Client,
        ConnectionState::Other,
    ];

    /// The name of the state.
    pub const fn name(self) -> &'static str {
        ["processor", "reading", "committing", "locked", "client", "other"][self as usize]
    }

    /// The state of a MariaDB connection, from the command and the state in the list of
    /// connections; `Locked` waits for another transaction. Work and reads cannot be told apart:
    /// both are `Other`.
    pub fn of_mariadb(command: &str, state: &str) -> ConnectionState {
        match (command, state) {
            ("Sleep", _) => ConnectionState::Client,
            ("Locked", _) => ConnectionState::Locked,
            (_, state) if state.starts_with("Waiting for") && state.ends_with("lock") => ConnectionState::Locked,
            // The second one follows a commit until another session has synced the log.
            (_, state) if state.starts_with("Commit") || state == "Updating status" => ConnectionState::Committing,
            _ => ConnectionState::Other,
        }
    }

    /// The state for a PostgreSQL wait event, by the manual's table of wait events; no event means
    /// work.
    pub fn of_postgres(kind: &str, event: &str) -> ConnectionState {
        match (kind, event) {
            ("", _) => ConnectionState::Processor,
            ("Client", _) => ConnectionState::Client,
            ("Lock", _) => ConnectionState::Locked,
            // A committing session waits for the log's lock while another one syncs for both.
            ("IO" | "LWLock", event) if event.starts_with("WAL") => ConnectionState::Committing,
            ("IPC", "SyncRep") => ConnectionState::Committing,
            ("IO", event) if event.starts_with("DataFile") => ConnectionState::Reading,
            // Another session is reading the requested block.
            ("LWLock" | "IPC", "BufferIO" | "BufferIo") => ConnectionState::Reading,
            _ => ConnectionState::Other,
        }
    }
}

/// A server's counters of a second, or of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Bytes of blocks that were read from the operating system.
    pub read: u64,
    /// Bytes of blocks that were found in the server's cache.
    pub hit: u64,
    /// Committed transactions of the database; a logon is one.
    pub commits: u64,
    /// Rolled back transactions.
    pub rollbacks: u64,
    /// Bytes of the log.
    pub wal: u64,
    /// Syncs of the log, if counted.
    pub wal_syncs: Option<u64>,
    /// Completed checkpoints, if counted.
    pub checkpoints: Option<u64>,
    /// Bytes of blocks that were written.
    pub written: u64,
    /// How often users' connections were found in each state of [`ConnectionState::ALL`].
    pub found: [u64; 6],
    /// Processor time of its processes, if they are visible.
    pub cpu: Option<Span>,
    /// Bytes that they read from below the page cache, if they are visible.
    pub fetched: Option<u64>,
}

impl AddAssign for ServerCounts {
    fn add_assign(&mut self, more: ServerCounts) {
        self.read += more.read;
        self.hit += more.hit;
        self.commits += more.commits;
        self.rollbacks += more.rollbacks;
        self.wal += more.wal;
        self.wal_syncs = self.wal_syncs.zip(more.wal_syncs).map(|(sum, more)| sum + more);
        self.checkpoints = self.checkpoints.zip(more.checkpoints).map(|(sum, more)| sum + more);
        self.written += more.written;
        self.found.iter_mut().zip(more.found).for_each(|(sum, more)| *sum += more);
        self.cpu = self.cpu.zip(more.cpu).map(|(sum, more)| sum + more);
        self.fetched = self.fetched.zip(more.fetched).map(|(sum, more)| sum + more);
    }
}

impl ServerCounts {
    /// The sum of all; `None` if there are none.
    pub fn sum(all: &[ServerCounts]) -> Option<ServerCounts> {
        let (first, rest) = all.split_first()?;
        Some(rest.iter().fold(*first, |mut sum, more| {
            sum += *more;
            sum
        }))
    }

    /// The fraction of all samples in which connections were in that state; `None` without samples.
    pub fn part(&self, at: ConnectionState) -> Option<f64> {
        let all: u64 = self.found.iter().sum();
        (all > 0).then(|| self.found[at as usize] as f64 / all as f64)
    }

    /// The hit ratio of the server's cache.
    pub fn hits(&self) -> Option<f64> {
        let all = self.hit + self.read;
        (all > 0).then(|| self.hit as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_events_have_their_place() {
        let events = [
            (("", ""), ConnectionState::Processor),
            (("Client", "ClientRead"), ConnectionState::Client),
            (("IO", "WALSync"), ConnectionState::Committing),
            (("LWLock", "WALWrite"), ConnectionState::Committing),
            (("IO", "DataFileRead"), ConnectionState::Reading),
            (("LWLock", "BufferIO"), ConnectionState::Reading),
            (("Lock", "transactionid"), ConnectionState::Locked),
            (("LWLock", "BufferContent"), ConnectionState::Other),
        ];
        for ((kind, event), at) in events {
            assert_eq!(ConnectionState::of_postgres(kind, event), at, "{kind} {event}");
        }
    }

    #[test]
    fn a_connection_of_mariadb_is_at_a_place() {
        let places = [
            (("Sleep", ""), ConnectionState::Client),
            (("Locked", "Updating"), ConnectionState::Locked),
            (("Query", "Waiting for table metadata lock"), ConnectionState::Locked),
            (("Query", "Commit"), ConnectionState::Committing),
            (("Query", "Updating status"), ConnectionState::Committing),
            (("Execute", "Statistics"), ConnectionState::Other),
            (("Execute", ""), ConnectionState::Other),
        ];
        for ((command, state), at) in places {
            assert_eq!(ConnectionState::of_mariadb(command, state), at, "{command} {state}");
        }
    }

    #[test]
    fn seconds_add_up() {
        let second = ServerCounts {
            read: 8,
            hit: 24,
            found: [3, 1, 0, 0, 0, 0],
            cpu: Some(Span::from_millis(5)),
            ..Default::default()
        };
        let sum = ServerCounts::sum(&[second, second]).unwrap();
        assert_eq!(
            (sum.read, sum.hits(), sum.part(ConnectionState::Reading), sum.cpu),
            (16, Some(0.75), Some(0.25), Some(Span::from_millis(10)))
        );
        let unknown = ServerCounts { cpu: None, ..second };
        assert_eq!(ServerCounts::sum(&[second, unknown]).unwrap().cpu, None);
        assert_eq!(ServerCounts::sum(&[]), None);
        assert_eq!(ServerCounts::default().hits(), None);
    }
}
