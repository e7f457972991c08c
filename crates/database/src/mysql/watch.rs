//! Watches a MariaDB server by its status variables and its list of connections.
//!
//! The counters are those of the whole server, not of one database.

use super::{Book, Mysql};
use crate::books::Books as _;
use crate::error::Error;
use crate::process::{ProcessUse, used};
use crate::watch::{Places, ServerProbe, ServerWatch};
use oltp::{ConnectionState, ServerCounts, Value};
use std::collections::HashMap;
use std::path::PathBuf;

impl Mysql {
    /// Starts to watch the server, second by second.
    ///
    /// # Errors
    /// The server does not answer, or the thread could not be started.
    pub fn watch(&self) -> Result<ServerWatch, Error> {
        let mut book = self.books()?;
        // Waits for locks are visible only with the privilege PROCESS.
        let may_see = book.ask(WITH_LOCKS, &[], &mut |_| {}).is_ok();
        let pid_file = self.folder().zip(self.setting("pid_file")).map(|(folder, path)| folder.join(path));
        let connections = if may_see { WITH_LOCKS } else { CONNECTIONS };
        ServerWatch::begin(Box::new(MysqlProbe { mysql: self.clone(), book, connections, pid_file }))
    }
}

struct MysqlProbe {
    mysql: Mysql,
    book: Book,
    /// One of [`CONNECTIONS`] and [`WITH_LOCKS`].
    connections: &'static str,
    /// The file that contains the server's process id.
    pid_file: Option<PathBuf>,
}

/// This account's connections to this database, which are the users' and the one that runs this
/// query, with their states.
const CONNECTIONS: &str = "SELECT command, COALESCE(state, ''), COUNT(*) FROM information_schema.processlist WHERE db = \
     DATABASE() AND user = SUBSTRING_INDEX(USER(), '@', 1) AND id <> CONNECTION_ID() GROUP BY 1, 2";
/// The same, with the state `Locked` for those that wait for another transaction's lock.
const WITH_LOCKS: &str = "SELECT CASE WHEN t.trx_state = 'LOCK WAIT' THEN 'Locked' ELSE p.command END, \
     COALESCE(p.state, ''), COUNT(*) FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t ON \
     t.trx_mysql_thread_id = p.id WHERE p.db = DATABASE() AND p.user = SUBSTRING_INDEX(USER(), '@', 1) AND p.id <> \
     CONNECTION_ID() GROUP BY 1, 2";
/// The variables that [`MysqlProbe::counters`] reads.
const STATUS: &str = "SHOW GLOBAL STATUS WHERE variable_name IN ('Innodb_page_size', 'Innodb_pages_read', \
     'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_read_requests', 'Com_commit', 'Com_rollback', \
     'Innodb_os_log_written', 'Innodb_os_log_fsyncs', 'Innodb_pages_written')";

impl ServerProbe for MysqlProbe {
    fn again(&mut self) -> Result<(), Error> {
        self.book = self.mysql.books()?;
        Ok(())
    }

    fn look(&mut self, found: &mut Places) -> Result<(), Error> {
        self.book.ask(self.connections, &[], &mut |row| {
            if let [Value::Text(command), Value::Text(state), Value::Number(count)] = row.as_slice() {
                found[ConnectionState::of_mariadb(command, state) as usize] += *count as u64;
            }
        })?;
        Ok(())
    }

    fn counters(&mut self) -> Result<ServerCounts, Error> {
        let mut status = HashMap::new();
        self.book.ask(STATUS, &[], &mut |row| {
            if let [Value::Text(name), Value::Text(value)] = row.as_slice() {
                status.extend(value.parse::<u64>().ok().map(|value| (name.clone(), value)));
            }
        })?;
        let of = |name: &str| status.get(name).copied().unwrap_or(0);
        let page = of("Innodb_page_size");
        let misses = of("Innodb_buffer_pool_reads");
        Ok(ServerCounts {
            // Includes pages that were read ahead.
            read: of("Innodb_pages_read") * page,
            hit: of("Innodb_buffer_pool_read_requests").saturating_sub(misses) * page,
            commits: of("Com_commit"),
            rollbacks: of("Com_rollback"),
            wal: of("Innodb_os_log_written"),
            // Removed in 10.8.
            wal_syncs: status.get("Innodb_os_log_fsyncs").copied(),
            // The server reports the age of the last checkpoint, not their number.
            checkpoints: None,
            written: of("Innodb_pages_written") * page,
            ..ServerCounts::default()
        })
    }

    fn processes(&mut self) -> Result<HashMap<i64, ProcessUse>, Error> {
        let pid = self.pid_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok());
        // In a container the same number may be another process.
        let found = pid.and_then(|pid: i64| Some((pid, used(pid)?)));
        let is_server = |name: &str| name.starts_with("mariadbd") || name.starts_with("mysqld");
        Ok(found.filter(|(_, (name, _))| is_server(name)).map(|(pid, (_, used))| (pid, used)).into_iter().collect())
    }
}
