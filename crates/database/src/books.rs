//! What setup and runs write down in the database, and what is proved by it: one text for all
//! databases.

use crate::error::Error;
use oltp::{
    Check, Counts, Dialect, Expected, Ranges, SEQUENCES_TABLE, Sequence, Table, Value, checks, create_views, digest,
};

/// What mark setup leaves.
pub(crate) const MADE_BY: (&str, &str) = ("made_by", "seawall");
/// Counts the runs that have not said what they added.
const OPEN_RUNS: &str = "open_runs";
/// Counts transactions that failed and may have been committed, in part or whole.
const UNSURE: &str = "unsure";

/// A connection that is not a user's.
pub(crate) trait Books {
    /// The words that the database takes.
    fn dialect(&self) -> Dialect;

    /// Asks, with arguments `$1`, `$2` … in the order in which they appear; how many rows were
    /// concerned.
    fn ask(&mut self, sql: &str, args: &[Value], each: &mut dyn FnMut(Vec<Value>)) -> Result<u64, Error>;

    /// Statements without arguments.
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

/// What a check found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What must hold.
    pub what: String,
    /// Whether it does; `None` where nothing can be said.
    pub holds: Option<bool>,
    /// The figures.
    pub because: String,
}

/// Whether setup may make its tables; `sql` asks for the name of a thing of the name `$1`.
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

/// What was written down under that key.
pub(crate) fn noted(books: &mut dyn Books, key: &str) -> Result<Option<String>, Error> {
    books.text("SELECT metadata_value FROM orderentry_metadata WHERE metadata_key = $1", &[key.into()])
}

/// Writes down.
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

/// Whether setup made this.
pub(crate) fn must_be_ours(books: &mut dyn Books, database: &str) -> Result<(), Error> {
    match noted(books, MADE_BY.0)? {
        Some(by) if by == MADE_BY.1 => Ok(()),
        _ => Err(Error::NotOurs(database.into())),
    }
}

/// A number that setup left.
pub(crate) fn left(books: &mut dyn Books, database: &str, key: &str) -> Result<f64, Error> {
    noted(books, key)?.and_then(|value| value.parse().ok()).ok_or_else(|| Error::NotOurs(database.into()))
}

/// What there is to draw from.
pub(crate) fn ranges(books: &mut dyn Books, database: &str) -> Result<Ranges, Error> {
    let mut of = |key| left(books, database, key).map(|number| number as i64);
    Ok(Ranges { customers: of("rows:customers")?, products: of("rows:product_information")? })
}

/// A run begins: until it says what it added, rows cannot be compared.
pub(crate) fn run_begins(books: &mut dyn Books) -> Result<(), Error> {
    add(books, OPEN_RUNS, 1)
}

/// A run has ended that added so much; of so many transactions it is not known whether they were
/// committed.
pub(crate) fn run_ends(books: &mut dyn Books, counts: &Counts, unsure: u64) -> Result<(), Error> {
    books.batch("BEGIN")?;
    for table in Table::ALL {
        add(books, &format!("counted:{}", table.name()), counts.inserts[table as usize] as i64)?;
    }
    add(books, UNSURE, unsure as i64)?;
    add(books, OPEN_RUNS, -1)?;
    books.batch("COMMIT")
}

/// Whether a run has begun that has not ended.
pub(crate) fn is_in_use(books: &mut dyn Books) -> Result<bool, Error> {
    Ok(noted(books, OPEN_RUNS)?.is_some_and(|runs| runs != "0"))
}

/// Rows of one table that a transaction adds at most: five items.
const MOST_ROWS: i64 = 5;

/// Looks whether all holds that must.
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

/// The digest of each table's rows as they are now.
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
