//! What a PostgreSQL server shows of itself: the views of its statistics.

use super::{Book, Postgres};
use crate::books::Books as _;
use crate::error::Error;
use crate::process::process;
use crate::watch::{Places, Seeing, ServerWatch};
use block::Span;
use oltp::{At, ServerCounts, Value};
use std::collections::HashMap;

impl Postgres {
    /// Begins to watch, from now on, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the system gives no thread.
    pub fn watch(&self) -> Result<ServerWatch, Error> {
        let book = self.books()?;
        let major = book.wire.version().split(['.', ' ']).next().and_then(|part| part.parse().ok()).unwrap_or(0);
        ServerWatch::begin(Box::new(Eyes { postgres: self.clone(), book, sql: counters(major) }))
    }
}

struct Eyes {
    postgres: Postgres,
    book: Book,
    sql: String,
}

/// Connections of users, and what they wait for. One that is between transactions waits for its
/// client.
const CONNECTIONS: &str = "SELECT CASE WHEN state = 'active' THEN coalesce(wait_event_type, '') ELSE 'Client' END, \
     coalesce(wait_event, ''), count(*) FROM pg_stat_activity WHERE application_name = 'seawall user' AND datname = \
     current_database() GROUP BY 1, 2";
/// All processes of the server.
const PROCESSES: &str = "SELECT pid FROM pg_stat_activity";

impl Seeing for Eyes {
    fn again(&mut self) -> Result<(), Error> {
        self.book = self.postgres.books()?;
        Ok(())
    }

    fn look(&mut self, found: &mut Places) -> Result<(), Error> {
        self.book.ask(CONNECTIONS, &[], &mut |row| {
            if let [Value::Text(kind), Value::Text(event), Value::Number(count)] = row.as_slice() {
                found[At::of_postgres(kind, event) as usize] += *count as u64;
            }
        })?;
        Ok(())
    }

    fn counters(&mut self) -> Result<ServerCounts, Error> {
        let mut counts = ServerCounts::default();
        self.book.ask(&self.sql, &[], &mut |row| {
            let of = |at: usize| row.get(at).and_then(Value::number).unwrap_or(0) as u64;
            let [read, hit, commits, rollbacks, wal, wal_syncs, checkpoints, written] =
                [0, 1, 2, 3, 4, 5, 6, 7].map(of);
            let (wal_syncs, checkpoints) = (Some(wal_syncs), Some(checkpoints));
            counts = ServerCounts { read, hit, commits, rollbacks, wal, wal_syncs, checkpoints, written, ..counts };
        })?;
        Ok(counts)
    }

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

/// Counters of a server of that version, in the order of [`Seeing::counters`]. What the log and
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
