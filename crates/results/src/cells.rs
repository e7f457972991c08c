//! The cells of a row, read from left to right, and written in the order of a table's columns.

use block::{Bytes, Span};
use rusqlite::types::{FromSql, Value};
use rusqlite::{Connection, Params, Result, Row, params_from_iter};
use stats::{Counts, Machine, Scale, Summary};

pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &str,
    key: impl Params,
    mut read: impl FnMut(&mut Cells<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(key, |row| read(&mut Cells::of(row)))?.collect()
}

pub(crate) fn one<T>(
    connection: &Connection,
    sql: &str,
    key: impl Params,
    read: impl FnOnce(&mut Cells<'_>) -> Result<T>,
) -> Result<T> {
    connection.prepare_cached(sql)?.query_row(key, |row| read(&mut Cells::of(row)))
}

/// Reads the cells of a row from left to right, in the order of the SELECT.
pub(crate) struct Cells<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl<'r> Cells<'r> {
    pub(crate) fn of(row: &'r Row<'r>) -> Cells<'r> {
        Cells { row, next: 0 }
    }

    pub(crate) fn next<T: FromSql>(&mut self) -> Result<T> {
        self.next += 1;
        self.row.get(self.next - 1)
    }

    /// A 64-bit number, stored bit for bit.
    pub(crate) fn number(&mut self) -> Result<u64> {
        Ok(self.next::<i64>()? as u64)
    }

    pub(crate) fn optional(&mut self) -> Result<Option<u64>> {
        Ok(self.next::<Option<i64>>()?.map(|number| number as u64))
    }

    pub(crate) fn count(&mut self) -> Result<usize> {
        Ok(self.number()? as usize)
    }

    pub(crate) fn span(&mut self) -> Result<Span> {
        self.number().map(Span::from_nanos)
    }

    pub(crate) fn counts(&mut self) -> Result<Counts> {
        Ok(Counts {
            reads: self.number()?,
            writes: self.number()?,
            other: self.number()?,
            read_bytes: self.number()?,
            write_bytes: self.number()?,
            faults: self.number()?,
            ..Counts::default()
        })
    }

    pub(crate) fn summary(&mut self) -> Result<Summary> {
        Ok(Summary {
            count: self.number()?,
            mean: self.span()?,
            p50: self.span()?,
            p99: self.span()?,
            p999: self.span()?,
            max: self.span()?,
        })
    }

    pub(crate) fn machine(&mut self) -> Result<Machine> {
        Ok(Machine {
            host: self.next()?,
            kernel: self.next()?,
            cpu: self.next()?,
            cores: self.next()?,
            memory: Bytes(self.number()?),
            storage: self.next()?,
            backend: self.next()?,
        })
    }

    pub(crate) fn scale(&mut self) -> Result<Option<Scale>> {
        let (factor, published_iops, measured_iops) = (self.next()?, self.next::<Option<f64>>()?, self.next()?);
        let known = Option::zip(factor, published_iops);
        Ok(known.map(|(factor, published_iops)| Scale { factor, published_iops, measured_iops }))
    }
}

/// Inserts a row with all of a table's columns in order. The table's name must be a constant, never
/// input.
pub(crate) fn insert(connection: &Connection, table: &str, cells: impl IntoIterator<Item = Value>) -> Result<()> {
    let cells: Vec<Value> = cells.into_iter().collect();
    let marks = vec!["?"; cells.len()].join(", ");
    connection.prepare_cached(&format!("INSERT INTO {table} VALUES ({marks})"))?.execute(params_from_iter(cells))?;
    Ok(())
}

/// A value that can be stored in a cell.
pub(crate) trait Cell {
    fn cell(&self) -> Value;
}

impl Cell for u64 {
    /// Stored bit for bit.
    fn cell(&self) -> Value {
        Value::Integer(*self as i64)
    }
}

impl Cell for u32 {
    fn cell(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
}

impl Cell for usize {
    fn cell(&self) -> Value {
        (*self as u64).cell()
    }
}

impl Cell for bool {
    fn cell(&self) -> Value {
        Value::Integer(i64::from(*self))
    }
}

impl Cell for f64 {
    fn cell(&self) -> Value {
        Value::Real(*self)
    }
}

impl Cell for Span {
    fn cell(&self) -> Value {
        self.as_nanos().cell()
    }
}

impl Cell for str {
    fn cell(&self) -> Value {
        Value::Text(self.into())
    }
}

impl Cell for String {
    fn cell(&self) -> Value {
        self.as_str().cell()
    }
}

impl<T: Cell> Cell for Option<T> {
    fn cell(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::cell)
    }
}
