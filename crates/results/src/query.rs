//! Users' queries: read-only, with a time limit, and only of our tables.

use super::{BUSY_TIMEOUT, Error, Results, escape, functions, math};
use rusqlite::hooks::{AuthAction, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Result};
use std::os::unix::ffi::OsStrExt as _;

/// Steps of SQLite's virtual machine between checks of the time: about a millisecond.
const STEPS_A_LOOK: i32 = 100_000;

/// Maximum number of rows of an answer, which memory must hold.
pub const ROWS_MAX: usize = 1_000_000;

/// Maximum length of values and statements, in bytes.
const LENGTH_MAX: i32 = 64 << 20;

/// The schema of the published table `PerfTools.RanRead`; SQLite ignores case here.
const PUBLISHED: &str = "perftools";

/// The answer to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, in order, each with a value for each column.
    pub rows: Vec<Vec<SqlValue>>,
    /// Whether there were more than [`ROWS_MAX`].
    pub cut: bool,
}

/// A value in an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Text.
    Text(String),
    /// Binary data, of this many bytes.
    Bytes(usize),
}

impl Results {
    /// Runs a query on a separate connection that cannot write. `is_over` is polled and ends the
    /// query by returning true. ODBC escapes and the published name `PerfTools.RanRead` are
    /// supported.
    ///
    /// # Errors
    /// The statement is invalid, would change something, or took too long.
    pub fn query(&self, sql: &str, is_over: impl FnMut() -> bool + Send + 'static) -> Result<Answer, Error> {
        let error = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Error::TooLong,
            Some(ErrorCode::AuthorizationForStatementDenied) => Error::NotAQuery,
            // Text without a statement is not prepared, and using it is a misuse.
            Some(ErrorCode::ApiMisuse) => Error::NoQuery,
            _ => Error::Query { why: said(&source) },
        };
        let sql = &escape::without(sql)?;
        let published = sql.to_ascii_lowercase().contains(PUBLISHED);
        let mut connection = self.to_read(published).map_err(error)?;
        connection.progress_handler(STEPS_A_LOOK, Some(is_over)).map_err(error)?;
        answer(&mut connection, sql).map_err(error)
    }

    /// A connection that can only read our tables; optionally under the published name as well.
    fn to_read(&self, published: bool) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Otherwise a name that begins with `file:` is an ordinary name.
        flags.set(OpenFlags::SQLITE_OPEN_URI, self.name != self.path);
        let mut connection = Connection::open_with_flags(&self.name, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        functions::register(&connection)?;
        math::register(&connection)?;
        if published {
            // Attaches the same file again, because a view in another database could not refer to
            // this one. What is attached to a read-only connection is read-only too.
            connection.execute(&format!("ATTACH ?1 AS {PUBLISHED}"), [self.name.as_os_str().as_bytes()])?;
        }
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LENGTH_MAX)?;
        connection.authorizer(Some(|context: rusqlite::hooks::AuthContext<'_>| match context.action {
            AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
            AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
            _ => Authorization::Deny,
        }))?;
        Ok(connection)
    }
}

fn answer(connection: &mut Connection, sql: &str) -> Result<Answer> {
    let mut statement = connection.prepare(sql)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut found = Answer { columns, ..Answer::default() };
    let width = found.columns.len();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        if found.rows.len() == ROWS_MAX {
            found.cut = true;
            break;
        }
        found.rows.push((0..width).map(|column| Ok(cell(row.get_ref(column)?))).collect::<Result<_>>()?);
    }
    Ok(found)
}

fn cell(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(text) => SqlValue::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Bytes(bytes.len()),
    }
}

/// SQLite's message, without the error code around it.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::MultipleStatement => "one statement at a time, without a second one behind it".into(),
        other => other.to_string(),
    }
}

impl Results {
    /// The views meant for users, each with its columns.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn views(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = "SELECT m.name, group_concat(c.name, ' ' ORDER BY c.cid)
            FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'view' GROUP BY m.name ORDER BY m.name";
        super::cells::rows(&self.connection, sql, [], |cells| Ok((cells.next()?, cells.next()?)))
            .map_err(|source| Error::sqlite(&self.path, source))
    }
}
