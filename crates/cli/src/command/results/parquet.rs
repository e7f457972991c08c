//! Rows as a Parquet file, for DuckDB, pandas and similar programs.
//!
//! The type of a column follows from its name and not from its values: the files of several runs
//! have the same schema and can be read as one table, even if a column is NULL in all rows of one
//! of them.

use anyhow::{Context as _, Result, bail};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use results::{Answer, SqlValue};
use std::sync::Arc;

/// Rows of a row group: readers read a group as a whole or skip it.
const ROWS_A_GROUP: usize = 100_000;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// Counts, sizes in bytes and numbers of rows: INT64.
    Whole,
    /// Times and rates, in the unit that ends the name: DOUBLE.
    Number,
    /// Names: BYTE_ARRAY in UTF-8.
    Words,
}

/// The columns of the views `results` and `seconds`, except those whose names end in a unit.
const WHOLE: [&str; 11] =
    ["run", "point", "actor", "ops", "bytes", "failed", "short", "late", "held", "never_sent", "outstanding"];
const WORDS: [&str; 8] = ["tool", "title", "point_name", "arm", "actor_name", "host", "place", "class"];
const UNITS: [&str; 5] = ["seconds", "second", "iops", "mb_s", "_us"];

/// The contents of the file.
///
/// # Errors
/// A column is not one of the two views, or has a value of another type.
pub fn of(answer: &Answer) -> Result<Vec<u8>> {
    let kinds = answer.columns.iter().map(|name| holds(name)).collect::<Result<Vec<Holds>>>()?;
    let fields = answer.columns.iter().zip(&kinds).map(|(name, kind)| Ok(Arc::new(field(name, *kind)?)));
    let fields = fields.collect::<Result<Vec<TypePtr>>>()?;
    let schema = Arc::new(Type::group_type_builder("rows").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().set_created_by(CREATED_BY.into()).build());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, properties)?;
    for rows in answer.rows.chunks(ROWS_A_GROUP) {
        let mut group = file.next_row_group()?;
        for (column, kind) in kinds.iter().enumerate() {
            let cells: Vec<&SqlValue> = rows.iter().map(|row| &row[column]).collect();
            write(&mut group, *kind, &cells).with_context(|| answer.columns[column].clone())?;
        }
        group.close()?;
    }
    Ok(file.into_inner()?)
}

const CREATED_BY: &str = concat!("seawall version ", env!("CARGO_PKG_VERSION"));

fn holds(name: &str) -> Result<Holds> {
    match name {
        _ if WHOLE.contains(&name) => Ok(Holds::Whole),
        _ if WORDS.contains(&name) => Ok(Holds::Words),
        _ if UNITS.iter().any(|unit| name.ends_with(unit)) => Ok(Holds::Number),
        _ => bail!("{name}: is no column that Parquet has a type for"),
    }
}

fn field(name: &str, kind: Holds) -> Result<Type> {
    let (physical, logical) = match kind {
        Holds::Whole => (Physical::INT64, None),
        Holds::Number => (Physical::DOUBLE, None),
        Holds::Words => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
    Ok(builder.with_logical_type(logical).build()?)
}

/// Writes the next column of a group. Parquet stores the values that exist, and separately for each
/// row whether there is one (definition level 1) or NULL (0).
fn write(group: &mut SerializedRowGroupWriter<'_, Vec<u8>>, kind: Holds, cells: &[&SqlValue]) -> Result<()> {
    let mut column = group.next_column()?.context("a column more than the schema has")?;
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(!matches!(cell, SqlValue::Null))).collect();
    let there = cells.iter().filter(|cell| !matches!(cell, SqlValue::Null));
    match kind {
        Holds::Whole => {
            let values = there.map(|cell| whole(cell)).collect::<Result<Vec<i64>>>()?;
            column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        Holds::Number => {
            let values = there.map(|cell| number(cell)).collect::<Result<Vec<f64>>>()?;
            column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
        }
        Holds::Words => {
            let values = there.map(|cell| words(cell)).collect::<Result<Vec<ByteArray>>>()?;
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
    }
    Ok(column.close()?)
}

fn whole(cell: &SqlValue) -> Result<i64> {
    match cell {
        SqlValue::Integer(number) => Ok(*number),
        other => bail!("must be a whole number, is {}", kind(other)),
    }
}

fn number(cell: &SqlValue) -> Result<f64> {
    match cell {
        SqlValue::Real(number) => Ok(*number),
        // SQLite returns 2 for 2.0 if both sides of a division were whole.
        SqlValue::Integer(number) => Ok(*number as f64),
        other => bail!("must be a number, is {}", kind(other)),
    }
}

fn words(cell: &SqlValue) -> Result<ByteArray> {
    match cell {
        SqlValue::Text(words) => Ok(words.as_str().into()),
        other => bail!("must be words, is {}", kind(other)),
    }
}

fn kind(cell: &SqlValue) -> String {
    match cell {
        SqlValue::Null => "empty".into(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => number.to_string(),
        SqlValue::Text(text) => format!("the text {text:?}"),
        SqlValue::Bytes(count) => format!("{count} bytes of binary data"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both views with all columns, under SQLite's names.
    #[test]
    fn every_column_has_a_type() {
        let folder = tempfile::tempdir().unwrap();
        let database = results::Results::open(&folder.path().join("r.sqlite")).unwrap();
        for (view, count) in [("results", 30), ("seconds", 21)] {
            let answer = database.query(&format!("SELECT * FROM {view}"), || false).unwrap();
            assert_eq!(answer.columns.len(), count, "{view}: {:?}", answer.columns);
            let file = of(&answer).unwrap();
            assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
        }
    }

    #[test]
    fn what_is_not_of_a_columns_kind_is_an_error_with_its_name() {
        let answer = |name: &str, cell| Answer { columns: vec![name.into()], rows: vec![vec![cell]], cut: false };
        for (name, cell, line) in [
            ("ops", SqlValue::Real(1.5), "ops: must be a whole number, is 1.5"),
            ("p99_us", SqlValue::Text("x".into()), "p99_us: must be a number, is the text \"x\""),
            ("class", SqlValue::Integer(1), "class: must be words, is 1"),
            ("colour", SqlValue::Null, "colour: is no column that Parquet has a type for"),
        ] {
            assert_eq!(format!("{:#}", of(&answer(name, cell)).unwrap_err()), line);
        }
    }
}
