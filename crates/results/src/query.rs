//! Queries of users: read-only, within a time, and of our tables alone.

use super::{BUSY_TIMEOUT, Error, Results, escape, functions, math};
use rusqlite::hooks::{AuthAction, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Result};
use std::os::unix::ffi::OsStrExt as _;

/// How many steps of SQLite's machine pass between two looks at the time: about a millisecond.
const STEPS_A_LOOK: i32 = 100_000;

/// The most rows of an answer: what a table of text can be read of, and what memory has room for.
pub const ROWS_MAX: usize = 1_000_000;

/// The longest value and statement, in bytes.
const LENGTH_MAX: i32 = 64 << 20;

/// The schema of the published table `PerfTools.RanRead`; SQLite does not tell capitals from small
/// letters here.
const PUBLISHED: &str = "perftools";

/// What a query answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, in order, each with a value for each column.
    pub rows: Vec<Vec<SqlValue>>,
    /// There were more than [`ROWS_MAX`].
    pub cut: bool,
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    /// Not known.
    Null,
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Real(f64),
    /// Words.
    Text(String),
    /// So many bytes.
    Bytes(usize),
}

impl Results {
    /// Answers a query. It is asked at a connection of its own that cannot write; `is_over` is
    /// asked again and again, and ends the query by returning true. Escapes of ODBC are understood,
    /// and so is the published name `PerfTools.RanRead`.
    ///
    /// # Errors
    /// The statement is wrong, would change something, or took too long.
    pub fn query(&self, sql: &str, is_over: impl FnMut() -> bool + Send + 'static) -> Result<Answer, Error> {
        let error = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => Error::TooLong,
            Some(ErrorCode::AuthorizationForStatementDenied) => Error::NotAQuery,
            // Of a text without a statement SQLite makes none, which cannot be asked then.
            Some(ErrorCode::ApiMisuse) => Error::NoQuery,
            _ => Error::Query { why: said(&source) },
        };
        let sql = &escape::without(sql)?;
        let published = sql.to_ascii_lowercase().contains(PUBLISHED);
        let mut connection = self.to_read(published).map_err(error)?;
        connection.progress_handler(STEPS_A_LOOK, Some(is_over)).map_err(error)?;
        answer(&mut connection, sql).map_err(error)
    }

    /// A connection that reads our tables and does nothing else; on request it knows them by the
    /// published name as well.
    fn to_read(&self, published: bool) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // Otherwise a name that begins with `file:` is a name.
        flags.set(OpenFlags::SQLITE_OPEN_URI, self.name != self.path);
        let mut connection = Connection::open_with_flags(&self.name, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        functions::register(&connection)?;
        math::register(&connection)?;
        if published {
            // The same file once more: a view in another database could not look into this one.
            // What is attached to a connection that cannot write cannot be written either.
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

/// SQLite's own words, without the code around them.
fn said(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::MultipleStatement => "one statement at a time, without a second one behind it".into(),
        other => other.to_string(),
    }
}

impl Results {
    /// The views that are made for people, each with its columns.
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
