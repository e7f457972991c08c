//! The records that setup and runs keep in the database, and the checks against them: the same SQL
//! for all databases.

use crate::error::Error;
use oltp::{
    Check, Counts, Dialect, Expected, Ranges, SEQUENCES_TABLE, Sequence, Table, Value, checks, create_views, digest,
};

/// The mark of setup.
pub(crate) const MADE_BY: (&str, &str) = ("made_by", "seawall");
/// What setup writes down last: without it, it was cut off or goes on.
pub(crate) const WHOLE: &str = "seed";
/// Counts the runs that have not said what they added.
const OPEN_RUNS: &str = "open_runs";
/// Counts transactions that failed and may have been committed, in part or completely.
const UNSURE: &str = "unsure";

/// A connection for records and checks, not for a user.
pub(crate) trait Books {
    /// The SQL dialect of the database.
    fn dialect(&self) -> Dialect;

    /// Runs a statement with arguments `$1`, `$2` … in order of appearance; returns the number of
    /// rows that it returned or changed.
    fn ask(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64, Error>;

    /// Runs statements without arguments.
    fn batch(&mut self, sql: &str) -> Result<(), Error>;

    /// The first value of the first row, as text.
    fn text(&mut self, sql: &str, args: &[Value]) -> Result<Option<String>, Error> {
        let mut first = None;
        self.ask(sql, args, &mut |row| _ = first.get_or_insert(row))?;
        Ok(first.and_then(|row| match row.into_iter().next()? {
            Value::Null => None,
            Value::Number(number) => Some(number.to_string()),
            Value::Text(text) => Some(text),
        }))
    }

    /// The first value of the first row.
    fn number(&mut self, sql: &str) -> Result<Option<i64>, Error> {
        Ok(self.text(sql, &[])?.and_then(|text| text.parse().ok()))
    }
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Found {
    /// What must hold.
    pub what: String,
    /// Whether it holds; `None` if that cannot be said.
    pub holds: Option<bool>,
    /// The figures for the result.
    pub because: String,
}

/// Fails unless setup may create its objects; the query `sql` returns the name of an object named
/// `$1`.
pub(crate) fn must_be_free(books: &mut dyn Books, database: &str, sql: &str) -> Result<(), Error> {
    let ours = Table::ALL.into_iter().map(Table::name).chain([SEQUENCES_TABLE]);
    let ours = ours.chain(create_views().map(|(view, _)| view)).chain(Sequence::ALL.map(Sequence::name));
    for name in ours {
        if let Some(table) = books.text(sql, &[name.into()])? {
            return Err(Error::Taken { database: database.into(), table });
        }
    }
    Ok(())
}

/// The value recorded under a key.
pub(crate) fn noted(books: &mut dyn Books, key: &str) -> Result<Option<String>, Error> {
    books.text("SELECT metadata_value FROM orderentry_metadata WHERE metadata_key = $1", &[key.into()])
}

/// Records a value under a key.
pub(crate) fn note(books: &mut dyn Books, key: &str, value: &str) -> Result<(), Error> {
    let sql = "INSERT INTO orderentry_metadata VALUES ($1, $2)";
    books.ask(sql, &[key.into(), value.into()], &mut |_| {}).map(drop)
}

fn add(books: &mut dyn Books, key: &str, more: i64) -> Result<(), Error> {
    let sql = match books.dialect() {
        Dialect::Sqlite | Dialect::Postgres => {
            "INSERT INTO orderentry_metadata VALUES ($1, CAST(CAST($2 AS BIGINT) AS VARCHAR(200))) ON CONFLICT \
             (metadata_key) DO UPDATE SET metadata_value = CAST(CAST(orderentry_metadata.metadata_value AS BIGINT) + \
             CAST($2 AS BIGINT) AS VARCHAR(200))"
        }
        Dialect::Mariadb => {
            "INSERT INTO orderentry_metadata VALUES ($1, $2) ON DUPLICATE KEY UPDATE metadata_value = \
             CAST(metadata_value AS SIGNED) + $2"
        }
    };
    books.ask(sql, &[key.into(), more.into()], &mut |_| {}).map(drop)
}

/// Fails unless setup made the database.
pub(crate) fn must_be_ours(books: &mut dyn Books, database: &str) -> Result<(), Error> {
    match noted(books, MADE_BY.0)? {
        Some(by) if by == MADE_BY.1 => Ok(()),
        _ => Err(Error::NotOurs(database.into())),
    }
}

/// Whether setup made this, all of it.
pub(crate) fn must_be_whole(books: &mut dyn Books, database: &str) -> Result<(), Error> {
    must_be_ours(books, database)?;
    noted(books, WHOLE)?.map(drop).ok_or_else(|| Error::Unfinished(database.into()))
}

/// A number that setup left.
pub(crate) fn left(books: &mut dyn Books, database: &str, key: &str) -> Result<f64, Error> {
    noted(books, key)?.and_then(|value| value.parse().ok()).ok_or_else(|| Error::NotOurs(database.into()))
}

/// The ranges from which keys are drawn.
pub(crate) fn ranges(books: &mut dyn Books, database: &str) -> Result<Ranges, Error> {
    let mut of = |key| left(books, database, key).map(|number| number as i64);
    Ok(Ranges { customers: of("rows:customers")?, products: of("rows:product_information")? })
}

/// Records the start of a run. Until it ends, row counts cannot be checked.
pub(crate) fn run_begins(books: &mut dyn Books) -> Result<(), Error> {
    add(books, OPEN_RUNS, 1)
}

/// Records the end of a run and the rows that it added; `unsure` transactions may or may not have
/// been committed.
pub(crate) fn run_ends(books: &mut dyn Books, counts: &Counts, unsure: u64) -> Result<(), Error> {
    books.batch("BEGIN")?;
    for table in Table::ALL {
        add(books, &format!("counted:{}", table.name()), counts.inserts[table as usize] as i64)?;
    }
    add(books, UNSURE, unsure as i64)?;
    add(books, OPEN_RUNS, -1)?;
    books.batch("COMMIT")
}

/// Whether a run has begun and not ended.
pub(crate) fn is_in_use(books: &mut dyn Books) -> Result<bool, Error> {
    Ok(noted(books, OPEN_RUNS)?.is_some_and(|runs| runs != "0"))
}

/// Maximum number of rows that a transaction adds to a table: five items.
const MOST_ROWS: i64 = 5;

/// Checks everything that must hold; returns whether all checks passed.
pub(crate) fn check(books: &mut dyn Books, said: &mut dyn FnMut(&Found)) -> Result<bool, Error> {
    let stored = |books: &mut dyn Books, key: &str| -> Result<i64, Error> {
        Ok(noted(books, key)?.and_then(|value| value.parse().ok()).unwrap_or(0))
    };
    let (is_open, unsure) = (stored(books, OPEN_RUNS)? != 0, stored(books, UNSURE)?);
    let (orders, stock) = (stored(books, "rows:orders")?, stored(books, "stock")?);
    let mut all = true;
    for Check { what, sql, expected } in checks(books.dialect(), orders, stock) {
        let number = books.number(&sql)?.unwrap_or(0);
        let found = match expected {
            Expected::Zero => Found { what, holds: Some(number == 0), because: format!("{number} are wrong") },
            Expected::LoadedAndCounted(_) | Expected::LastOf(_) if is_open => {
                Found { what, holds: None, because: "a run goes on, or was killed before it could tell".into() }
            }
            Expected::LoadedAndCounted(table) | Expected::LastOf(table) => {
                let wanted = stored(books, &format!("rows:{}", table.name()))?
                    + stored(books, &format!("counted:{}", table.name()))?;
                let close = number > wanted && number - wanted <= unsure * MOST_ROWS;
                let holds = if close { None } else { Some(number == wanted) };
                let lost = match close {
                    true => format!("; of {unsure} transactions that failed it is not known what was committed"),
                    false => String::new(),
                };
                Found { what, holds, because: format!("{number}, expected {wanted}{lost}") }
            }
        };
        all &= found.holds == Some(true);
        said(&found);
    }
    Ok(all)
}

/// The present digest of each table's rows.
pub(crate) fn digests(books: &mut dyn Books) -> Result<Vec<(Table, u64)>, Error> {
    let tables = Table::ALL.into_iter().filter(|table| *table != Table::Metadata);
    let of = |table: Table| {
        let columns: Vec<&str> = table.columns().collect();
        let mut sum = 0u64;
        let sql = format!("SELECT {} FROM {}", columns.join(", "), table.name());
        books.ask(&sql, &[], &mut |row| sum = sum.wrapping_add(digest(&row)))?;
        Ok((table, sum))
    };
    tables.map(of).collect()
}
