//! A connection to a MariaDB server, on top of the library `mysql`: prepared statements, values in
//! the load's types, and loading rows from memory.

use super::address::{MysqlAddress, Place};
use mysql::consts::{CapabilityFlags, ColumnType};
use mysql::prelude::Queryable as _;
use mysql::{Column, Conn, DriverError, LocalInfileHandler, OptsBuilder, Params, Statement};
use oltp::{Row, Value, in_mariadb};
use std::collections::HashMap;
use std::io::Write as _;
use std::time::Duration;

/// Why a statement failed.
#[derive(Debug, thiserror::Error)]
pub enum MysqlError {
    /// An error of the server.
    #[error("{message} ({code})")]
    Server {
        /// The number in MariaDB's list of error codes.
        code: u16,
        /// The message.
        message: String,
    },
    /// The connection was lost, or never established.
    #[error("{0}")]
    Gone(String),
    /// The account needs a password, and there is none.
    #[error("the server refuses this account without a password; set MYSQL_PWD")]
    NoPassword,
    /// The server wants an authentication method that is not supported.
    #[error("the server wants to log this account in by {0}; give the account a password (mysql_native_password)")]
    Login(String),
    /// The server is not MariaDB.
    #[error("the server is {0}; the load needs MariaDB, which has sequences")]
    Foreign(String),
    /// The server does not allow clients to load rows.
    #[error("the server takes no LOAD DATA LOCAL; SET GLOBAL local_infile = ON there, and try again")]
    NoLoading,
    /// Rows were changed or dropped while loading.
    #[error("{table}: took {taken} of {sent} rows, with {warnings} warnings")]
    Rows {
        /// The table.
        table: &'static str,
        /// Number of rows stored.
        taken: u64,
        /// Number of rows sent.
        sent: u64,
        /// Number of warnings.
        warnings: u16,
    },
}

impl MysqlError {
    /// The server's error code; `None` if the error is not the server's.
    pub fn code(&self) -> Option<u16> {
        match self {
            MysqlError::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl From<mysql::Error> for MysqlError {
    fn from(error: mysql::Error) -> MysqlError {
        match error {
            mysql::Error::MySqlError(said) => MysqlError::Server { code: said.code, message: said.message },
            mysql::Error::IoError(error) => MysqlError::Gone(error.to_string()),
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(way)) => MysqlError::Login(way),
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((address, why, _)))) => {
                MysqlError::Gone(format!("{address}: {why}"))
            }
            mysql::Error::DriverError(error) => MysqlError::Gone(error.to_string()),
            // Its own words, without the library's around them.
            mysql::Error::CodecError(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                MysqlError::Gone(cause.unwrap_or_else(|| error.to_string()))
            }
            other => MysqlError::Gone(other.to_string()),
        }
    }
}

type Result<T> = std::result::Result<T, MysqlError>;

/// Timeout of a connection attempt.
const CONNECTING: Duration = Duration::from_secs(10);
/// A user's server is considered lost after this much silence, which is more than a statement may
/// take ([`super::TIMEOUT_S`]).
pub(super) const SILENCE: Duration = Duration::from_secs(150);
/// Number of prepared statements that a connection keeps, more than the load has.
const PREPARED: usize = 64;
/// The error for an account that is not let in.
const ACCESS_DENIED: u16 = 1045;
/// The errors of older and newer servers if `local_infile` is off.
const NOT_TAKEN: [u16; 2] = [1148, 4166];

/// A connection.
pub struct Wire {
    conn: Conn,
    /// Prepared statements by the address of their text.
    prepared: HashMap<(usize, usize), Prepared>,
}

/// A prepared statement, with the argument for each of its placeholders.
struct Prepared {
    statement: Statement,
    args: Vec<usize>,
}

impl Wire {
    /// Connects and logs in. `settings` are statements to run first; after `silence` without an
    /// answer the server is considered lost.
    ///
    /// # Errors
    /// The server refuses or cannot be reached.
    pub fn connect(address: &MysqlAddress, settings: &[&str], silence: Option<Duration>) -> Result<Wire> {
        let MysqlAddress { place, user, database, password } = address;
        let options = OptsBuilder::new()
            .user(Some(user.as_str()))
            .db_name(Some(database.as_str()))
            .pass(password.as_deref())
            // Uses exactly the given address.
            .prefer_socket(false)
            .tcp_connect_timeout(Some(CONNECTING))
            .tcp_nodelay(true)
            .read_timeout(silence)
            .stmt_cache_size(PREPARED)
            // Counts rows that an update matches but does not change.
            .additional_capabilities(CapabilityFlags::CLIENT_FOUND_ROWS)
            .init(settings.to_vec());
        let options = match place {
            Place::Tcp(host, port) => options.ip_or_hostname(Some(host.as_str())).tcp_port(*port),
            Place::Socket(path) => options.socket(Some(path.to_string_lossy())),
        };
        let conn = Conn::new(options).map_err(|error| match MysqlError::from(error) {
            MysqlError::Server { code: ACCESS_DENIED, .. } if password.is_none() => MysqlError::NoPassword,
            error => error,
        })?;
        Ok(Wire { conn, prepared: HashMap::new() })
    }

    /// Runs a statement with arguments, which is prepared once for each connection; returns the
    /// number of rows that it returned or changed.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub fn run(&mut self, sql: &'static str, args: &[Value], each: &mut dyn FnMut(Row)) -> Result<u64> {
        let place = (sql.as_ptr() as usize, sql.len());
        if !self.prepared.contains_key(&place) {
            let prepared = prepare(&mut self.conn, sql)?;
            self.prepared.insert(place, prepared);
        }
        ask(&mut self.conn, &self.prepared[&place], args, each)
    }

    /// [`Wire::run`] for a statement that is not repeated.
    ///
    /// # Errors
    /// Those of [`Wire::run`].
    pub fn once(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Row)) -> Result<u64> {
        let prepared = prepare(&mut self.conn, sql)?;
        ask(&mut self.conn, &prepared, args, each)
    }

    /// Runs a statement without arguments and rows.
    ///
    /// # Errors
    /// Those of [`Wire::run`].
    pub fn batch(&mut self, sql: &str) -> Result<()> {
        Ok(self.conn.query_drop(sql)?)
    }

    /// Loads lines of rows into a table.
    ///
    /// # Errors
    /// Those of [`Wire::run`], or some rows were not stored unchanged.
    pub fn load(&mut self, table: &'static str, lines: Vec<u8>, sent: u64) -> Result<()> {
        // Whatever file the server asks for, it gets these rows.
        let handler = LocalInfileHandler::new(move |_, out| out.write_all(&lines));
        self.conn.set_local_infile_handler(Some(handler));
        let done =
            self.conn.query_drop(format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {table} CHARACTER SET utf8mb4"));
        self.conn.set_local_infile_handler(None);
        done.map_err(|error| match MysqlError::from(error) {
            MysqlError::Server { code, .. } if NOT_TAKEN.contains(&code) => MysqlError::NoLoading,
            error => error,
        })?;
        // The server drops rows that it cannot store, and only warns.
        let (taken, warnings) = (self.conn.affected_rows(), self.conn.warnings());
        if taken == sent && warnings == 0 { Ok(()) } else { Err(MysqlError::Rows { table, taken, sent, warnings }) }
    }
}

fn prepare(conn: &mut Conn, sql: &str) -> Result<Prepared> {
    let words = in_mariadb(sql);
    Ok(Prepared { statement: conn.prep(words.sql)?, args: words.args })
}

fn ask(conn: &mut Conn, prepared: &Prepared, args: &[Value], each: &mut dyn FnMut(Row)) -> Result<u64> {
    let given = prepared.args.iter().map(|at| args.get(*at).map_or(mysql::Value::NULL, given)).collect();
    let mut result = conn.exec_iter(&prepared.statement, Params::Positional(given))?;
    // Available before the rows are read; 0 for a query.
    let changed = result.affected_rows();
    let mut count = 0;
    if let Some(rows) = result.iter() {
        for row in rows {
            each(values(row?));
            count += 1;
        }
    }
    Ok(changed + count)
}

fn given(value: &Value) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Number(number) => mysql::Value::Int(*number),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().to_vec()),
    }
}

/// A row in the load's types.
fn values(row: mysql::Row) -> Row {
    let columns = row.columns();
    row.unwrap().into_iter().zip(columns.iter()).map(|(value, column)| taken(value, column)).collect()
}

/// Converts a value. Sums of integers come as decimals without decimal places, in text form.
fn taken(value: mysql::Value, column: &Column) -> Value {
    let is_sum = column.column_type() == ColumnType::MYSQL_TYPE_NEWDECIMAL && column.decimals() == 0;
    match value {
        mysql::Value::Int(number) => Value::Number(number),
        mysql::Value::UInt(number) => i64::try_from(number).map_or(Value::Null, Value::Number),
        mysql::Value::Bytes(bytes) => {
            let text =
                String::from_utf8(bytes).unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into());
            let number = if is_sum { text.parse().ok() } else { None };
            number.map_or(Value::Text(text), Value::Number)
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_is_told_in_the_systems_words() {
        let reset = std::io::Error::from_raw_os_error(104);
        let lost = mysql::Error::CodecError(reset.into());
        assert_eq!(MysqlError::from(lost).to_string(), "Connection reset by peer (os error 104)");
    }
}
