//! What host and database did while users worked.

use crate::stored::Stored;
use block::Span;
use std::ops::AddAssign;

/// What the host and the programs did in the window; a part is of one.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// All processors' time that was used.
    pub cpu: Option<f64>,
    /// The busiest device and the part of the time in which it had requests.
    pub device: Option<(String, f64)>,
    /// Bytes that all watched devices read.
    pub device_read: Option<u64>,
    /// The part of the time in which something waited for I/O.
    pub io_pressure: Option<f64>,
    /// Processors that this program used, the database too where that is inside of it.
    pub own_cores: Option<f64>,
    /// Processors that a server's processes used, where they are on this host.
    pub database_cores: Option<f64>,
    /// Processors of the host; 0 where unknown.
    pub cores: u32,
    /// Users think, or wait until they are due; else all of their time is the database's or ours.
    pub paced: bool,
    /// Bytes that came from below the page cache into this program.
    pub fetched: Option<u64>,
    /// What a server counted.
    pub server: Option<ServerCounts>,
    /// What it counted of each table and index, where it does.
    pub stored: Vec<StoredCounts>,
    /// Bytes that the processes of a server of one's own may have, page cache included.
    pub memory: Option<u64>,
    /// Bytes of that which were page cache at the end of the window.
    pub page_cache: Option<u64>,
}

/// What a server counted of a table or an index in a window, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredCounts {
    /// Of what.
    pub stored: Stored,
    /// Its pages at the end.
    pub pages: u64,
    /// Those that came at its end meanwhile.
    pub added: u64,
    /// How often a page was asked for.
    pub asked: u64,
    /// Pages that were asked of the system; those that came new are none of them.
    pub read: u64,
}

/// What a user's connection was found at, when the server was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum At {
    /// At work, or for want of a processor.
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

impl At {
    /// All of them.
    pub const ALL: [At; 6] = [At::Processor, At::Reading, At::Committing, At::Locked, At::Client, At::Other];

    /// Its name.
    pub const fn name(self) -> &'static str {
        ["processor", "reading", "committing", "locked", "client", "other"][self as usize]
    }

    /// What a connection of MariaDB is at, by the command and the state in its list of connections;
    /// `Locked` is one that waits for a transaction. It does not tell work from reads: both are
    /// `Other`.
    pub fn of_mariadb(command: &str, state: &str) -> At {
        match (command, state) {
            ("Sleep", _) => At::Client,
            ("Locked", _) => At::Locked,
            (_, state) if state.starts_with("Waiting for") && state.ends_with("lock") => At::Locked,
            // The second is after a commit until the log is synced, as another session does that.
            (_, state) if state.starts_with("Commit") || state == "Updating status" => At::Committing,
            _ => At::Other,
        }
    }

    /// What PostgreSQL's wait event is, by its manual's table of wait events; none is work.
    pub fn of_postgres(kind: &str, event: &str) -> At {
        match (kind, event) {
            ("", _) => At::Processor,
            ("Client", _) => At::Client,
            ("Lock", _) => At::Locked,
            // Who commits waits for the log's lock while another syncs for both.
            ("IO" | "LWLock", event) if event.starts_with("WAL") => At::Committing,
            ("IPC", "SyncRep") => At::Committing,
            ("IO", event) if event.starts_with("DataFile") => At::Reading,
            // Another reads the block that is wanted.
            ("LWLock" | "IPC", "BufferIO" | "BufferIo") => At::Reading,
            _ => At::Other,
        }
    }
}

/// What a server counted in a second, or in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Bytes of blocks that it had to ask the system for.
    pub read: u64,
    /// Bytes of blocks that it had in its own cache.
    pub hit: u64,
    /// Transactions of the database that were committed; a logon is one.
    pub commits: u64,
    /// Those that were taken back.
    pub rollbacks: u64,
    /// Bytes of the log.
    pub wal: u64,
    /// Syncs of the log, where it counts them.
    pub wal_syncs: Option<u64>,
    /// Checkpoints that ended, where it counts them.
    pub checkpoints: Option<u64>,
    /// Bytes of blocks that were written.
    pub written: u64,
    /// How often users' connections were found at each of [`At::ALL`].
    pub found: [u64; 6],
    /// Processor time of its processes, where they are seen.
    pub cpu: Option<Span>,
    /// Bytes that came from below the page cache into them, where they are seen.
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
    /// All of them as one; `None` of none.
    pub fn sum(all: &[ServerCounts]) -> Option<ServerCounts> {
        let (first, rest) = all.split_first()?;
        Some(rest.iter().fold(*first, |mut sum, more| {
            sum += *more;
            sum
        }))
    }

    /// In which part of all looks connections were found there; `None` without a look.
    pub fn part(&self, at: At) -> Option<f64> {
        let all: u64 = self.found.iter().sum();
        (all > 0).then(|| self.found[at as usize] as f64 / all as f64)
    }

    /// The part of blocks that its own cache had.
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
            (("", ""), At::Processor),
            (("Client", "ClientRead"), At::Client),
            (("IO", "WALSync"), At::Committing),
            (("LWLock", "WALWrite"), At::Committing),
            (("IO", "DataFileRead"), At::Reading),
            (("LWLock", "BufferIO"), At::Reading),
            (("Lock", "transactionid"), At::Locked),
            (("LWLock", "BufferContent"), At::Other),
        ];
        for ((kind, event), at) in events {
            assert_eq!(At::of_postgres(kind, event), at, "{kind} {event}");
        }
    }

    #[test]
    fn a_connection_of_mariadb_is_at_a_place() {
        let places = [
            (("Sleep", ""), At::Client),
            (("Locked", "Updating"), At::Locked),
            (("Query", "Waiting for table metadata lock"), At::Locked),
            (("Query", "Commit"), At::Committing),
            (("Query", "Updating status"), At::Committing),
            (("Execute", "Statistics"), At::Other),
            (("Execute", ""), At::Other),
        ];
        for ((command, state), at) in places {
            assert_eq!(At::of_mariadb(command, state), at, "{command} {state}");
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
            (sum.read, sum.hits(), sum.part(At::Reading), sum.cpu),
            (16, Some(0.75), Some(0.25), Some(Span::from_millis(10)))
        );
        let unknown = ServerCounts { cpu: None, ..second };
        assert_eq!(ServerCounts::sum(&[second, unknown]).unwrap().cpu, None);
        assert_eq!(ServerCounts::sum(&[]), None);
        assert_eq!(ServerCounts::default().hits(), None);
    }
}
