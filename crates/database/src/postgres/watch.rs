//! Watches a PostgreSQL server by its statistics views.

use super::{Book, Postgres};
use crate::books::Books as _;
use crate::error::Error;
use crate::process::{ProcessUse, used};
use crate::watch::{Places, ServerProbe, ServerWatch};
use oltp::{ConnectionState, ServerCounts, Stored, StoredCounts, Value};
use std::collections::HashMap;

impl Postgres {
    /// Starts to watch the server, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the thread could not be started.
    pub fn watch(&self) -> Result<ServerWatch, Error> {
        let book = self.books()?;
        let major = book.wire.version().split(['.', ' ']).next().and_then(|part| part.parse().ok()).unwrap_or(0);
        ServerWatch::begin(Box::new(PostgresProbe { postgres: self.clone(), book, sql: counters(major), major }))
    }
}

struct PostgresProbe {
    postgres: Postgres,
    book: Book,
    sql: String,
    major: u32,
}

/// Connections of users, with what they wait for. One between transactions waits for its client.
const CONNECTIONS: &str = "SELECT CASE WHEN state = 'active' THEN coalesce(wait_event_type, '') ELSE 'Client' END, \
     coalesce(wait_event, ''), count(*) FROM pg_stat_activity WHERE application_name = 'seawall user' AND datname = \
     current_database() GROUP BY 1, 2";
/// The ids of all processes of the server.
const PROCESSES: &str = "SELECT pid FROM pg_stat_activity";

/// Tables and indexes: their pages, pages read, and pages found in the server's cache.
const STORED: &str = "SELECT relname, pg_relation_size(relid) / current_setting('block_size')::bigint, heap_blks_read, \
     heap_blks_hit FROM pg_statio_user_tables WHERE schemaname = current_schema() UNION ALL SELECT indexrelname, \
     pg_relation_size(indexrelid) / current_setting('block_size')::bigint, idx_blks_read, idx_blks_hit FROM \
     pg_statio_user_indexes WHERE schemaname = current_schema()";

impl ServerProbe for PostgresProbe {
    fn again(&mut self) -> Result<(), Error> {
        self.book = self.postgres.books()?;
        Ok(())
    }

    fn look(&mut self, found: &mut Places) -> Result<(), Error> {
        self.book.ask(CONNECTIONS, &[], &mut |row| {
            if let [Value::Text(kind), Value::Text(event), Value::Number(count)] = row.as_slice() {
                found[ConnectionState::of_postgres(kind, event) as usize] += *count as u64;
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

    fn processes(&mut self) -> Result<HashMap<i64, ProcessUse>, Error> {
        let mut all = HashMap::new();
        if self.postgres.is_local() {
            self.book.ask(PROCESSES, &[], &mut |row| {
                let pid = row.first().and_then(Value::number);
                // In a container the same number may be another process.
                let found = pid.and_then(|pid| Some((pid, used(pid)?)));
                all.extend(
                    found.filter(|(_, (name, _))| name.starts_with("postgres")).map(|(pid, (_, used))| (pid, used)),
                );
            })?;
        }
        Ok(all)
    }

    fn stored(&mut self) -> Result<Vec<StoredCounts>, Error> {
        let mut all = Vec::new();
        self.book.ask(STORED, &[], &mut |row| {
            let [Value::Text(name), numbers @ ..] = row.as_slice() else { return };
            let of = |at: usize| numbers.get(at).and_then(Value::number).unwrap_or(0) as u64;
            if let Some(stored) = Stored::named(name) {
                all.push(StoredCounts { stored, pages: of(0), added: 0, asked: of(1) + of(2), read: of(1) });
            }
        })?;
        Ok(all)
    }

    /// True up to 15. Later versions extend tables by other means, which are not counted.
    fn counts_new_as_read(&self) -> bool {
        self.major < 16
    }
}

/// The query for counters of a server of this version, in the order of [`ServerProbe::counters`].
/// Those of the log and of checkpoints have moved between views twice. Blocks are those of this
/// database, even where `pg_stat_io` has those of all databases.
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
