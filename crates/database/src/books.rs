//! The records that setup and runs keep in the database, and the checks against them: the same SQL
//! for all databases.

use crate::error::Error;
use oltp::{
    Check, Counts, Dialect, Expected, Ranges, SEQUENCES_TABLE, Sequence, Table, Value, checks, create_views, digest,
};

/// The mark of setup.
pub(crate) const MADE_BY: (&str, &str) = ("made_by", "seawall");
/// What setup records last; without it, setup was cut off or is in progress.
pub(crate) const WHOLE: &str = "seed";
/// Counts the runs so far; each has its number from it.
const RUNS: &str = "runs";
/// Followed by the number of a run that has not ended: its users, and its sign of life.
const OPEN_RUN: &str = "open_run:";
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

    /// Takes a sign of life for the run with that number, which lasts as long as this connection,
    /// or for SQLite this process; returns what [`Books::lives`] needs.
    fn sign(&mut self, run: i64) -> Result<String, Error>;

    /// From now on the connection is not counted among those of users.
    fn withdraw(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Whether the run with that sign of life is still there.
    fn lives(&mut self, run: i64, sign: &str) -> Result<bool, Error>;

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

/// A number that setup recorded.
pub(crate) fn left(books: &mut dyn Books, database: &str, key: &str) -> Result<f64, Error> {
    noted(books, key)?.and_then(|value| value.parse().ok()).ok_or_else(|| Error::NotOurs(database.into()))
}

/// The ranges from which keys are drawn.
pub(crate) fn ranges(books: &mut dyn Books, database: &str) -> Result<Ranges, Error> {
    let mut of = |key| left(books, database, key).map(|number| number as i64);
    Ok(Ranges { customers: of("rows:customers")?, products: of("rows:product_information")? })
}

/// A run that has begun; its sign of life lasts as long as this value.
pub struct OpenRun {
    number: i64,
    /// Its record.
    mark: String,
    _signed: Box<dyn Books>,
}

/// Records the start of a run. Until [`run_ends`], row counts cannot be checked.
pub(crate) fn run_begins(mut books: Box<dyn Books>, users: u32) -> Result<OpenRun, Error> {
    settle(&mut *books)?;
    books.batch("BEGIN")?;
    add(&mut *books, RUNS, 1)?;
    let number = counted(&mut *books, RUNS)?;
    books.batch("COMMIT")?;
    let mark = format!("{users} {}", books.sign(number)?);
    note(&mut *books, &format!("{OPEN_RUN}{number}"), &mark)?;
    books.withdraw()?;
    Ok(OpenRun { number, mark, _signed: books })
}

/// Records the end of a run and the rows that it added; `unsure` is the number of transactions that
/// may or may not have been committed.
pub(crate) fn run_ends(books: &mut dyn Books, run: &OpenRun, counts: &Counts, unsure: u64) -> Result<(), Error> {
    books.batch("BEGIN")?;
    if close(books, run.number)? {
        for table in Table::ALL {
            add(books, &format!("counted:{}", table.name()), counts.inserts[table as usize] as i64)?;
        }
        add(books, UNSURE, unsure as i64)?;
    } else {
        // If a server restarted, the run's lock was lost, and a check may have taken the run for
        // dead and accepted the rows that it had added. The remaining rows are accepted in the same
        // way.
        note(books, &format!("{OPEN_RUN}{}", run.number), &run.mark)?;
    }
    books.batch("COMMIT")
}

/// Removes the mark of an open run; false if there was none.
fn close(books: &mut dyn Books, run: i64) -> Result<bool, Error> {
    let sql = "DELETE FROM orderentry_metadata WHERE metadata_key = $1 RETURNING metadata_key";
    Ok(books.text(sql, &[format!("{OPEN_RUN}{run}").as_str().into()])?.is_some())
}

/// A run whose added rows are not recorded yet.
struct Open {
    number: i64,
    users: i64,
    lives: bool,
}

fn open_runs(books: &mut dyn Books) -> Result<Vec<Open>, Error> {
    let sql = "SELECT metadata_key, metadata_value FROM orderentry_metadata WHERE metadata_key LIKE 'open_run:%'";
    let mut marks = Vec::new();
    books.ask(sql, &[], &mut |row| {
        if let [Value::Text(key), Value::Text(mark)] = &row[..] {
            marks.push((key.clone(), mark.clone()));
        }
    })?;
    let mut open = Vec::new();
    for (key, mark) in marks {
        let number = key.strip_prefix(OPEN_RUN).and_then(|number| number.parse().ok());
        let (Some(number), Some((users, sign))) = (number, mark.split_once(' ')) else { continue };
        open.push(Open { number, users: users.parse().unwrap_or(0), lives: books.lives(number, sign)? });
    }
    Ok(open)
}

/// Whether a run is under way.
pub(crate) fn is_in_use(books: &mut dyn Books) -> Result<bool, Error> {
    Ok(open_runs(books)?.iter().any(|run| run.lives))
}

/// The key for the rows of a table or the numbers of a sequence that dead runs left.
fn left_key(expected: &Expected) -> Option<String> {
    match expected {
        Expected::Zero => None,
        Expected::LoadedAndCounted(table) => Some(format!("left:{}", table.name())),
        Expected::LastOf(table) => Some(format!("left_last:{}", table.name())),
    }
}

/// If no run is in progress, accepts the rows that dead runs added; returns how many, by key.
///
/// A server may still run the last request of each of their users: that many transactions are
/// unsure.
fn settle(books: &mut dyn Books) -> Result<Vec<(String, i64)>, Error> {
    let open = open_runs(books)?;
    if open.is_empty() || open.iter().any(|run| run.lives) {
        return Ok(Vec::new());
    }
    let mut left = Vec::new();
    for Check { sql, expected, .. } in all_checks(books)? {
        let (Some(key), Some(wanted)) = (left_key(&expected), wanted(books, &expected)?) else { continue };
        let more = books.number(&sql)?.unwrap_or(0) - wanted;
        if more > 0 {
            left.push((key, more));
        }
    }
    books.batch("BEGIN")?;
    for run in &open {
        // Another process has settled it meanwhile.
        if !close(books, run.number)? {
            books.batch("ROLLBACK")?;
            return Ok(Vec::new());
        }
    }
    // A run that began meanwhile may have added some of them.
    if !open_runs(books)?.is_empty() {
        books.batch("ROLLBACK")?;
        return Ok(Vec::new());
    }
    for (key, more) in &left {
        add(books, key, *more)?;
    }
    add(books, UNSURE, open.iter().map(|run| run.users).sum())?;
    books.batch("COMMIT")?;
    Ok(left)
}

/// Maximum number of rows that a transaction adds to a table: five items.
const MOST_ROWS: i64 = 5;

/// The count with that key.
fn counted(books: &mut dyn Books, key: &str) -> Result<i64, Error> {
    Ok(noted(books, key)?.and_then(|value| value.parse().ok()).unwrap_or(0))
}

fn all_checks(books: &mut dyn Books) -> Result<Vec<Check>, Error> {
    let (orders, stock) = (counted(books, "rows:orders")?, counted(books, "stock")?);
    Ok(checks(books.dialect(), orders, stock))
}

/// The rows that setup and runs account for, dead runs too; `None` if the check counts no rows.
fn wanted(books: &mut dyn Books, expected: &Expected) -> Result<Option<i64>, Error> {
    let (Some(left), Expected::LoadedAndCounted(table) | Expected::LastOf(table)) = (left_key(expected), expected)
    else {
        return Ok(None);
    };
    let mut sum = counted(books, &left)?;
    for kind in ["rows", "counted"] {
        sum += counted(books, &format!("{kind}:{}", table.name()))?;
    }
    Ok(Some(sum))
}

/// Checks everything that must hold.
pub(crate) fn check(books: &mut dyn Books, said: &mut dyn FnMut(&Found)) -> Result<bool, Error> {
    let failed_before = counted(books, UNSURE)?;
    let left_now = settle(books)?;
    let (is_open, unsure) = (!open_runs(books)?.is_empty(), counted(books, UNSURE)?);
    let mut all = true;
    for Check { what, sql, expected } in all_checks(books)? {
        let number = books.number(&sql)?.unwrap_or(0);
        let (Some(key), Some(wanted)) = (left_key(&expected), wanted(books, &expected)?) else {
            let found = Found { what, holds: Some(number == 0), because: format!("{number} are wrong") };
            all &= found.holds == Some(true);
            said(&found);
            continue;
        };
        let found = if is_open {
            Found { what, holds: None, because: "a run is under way; check again when it has ended".into() }
        } else if let Some((_, more)) = left_now.iter().find(|(now, _)| *now == key) {
            // The rows of both are alike.
            let or = match failed_before {
                0 => String::new(),
                failed => format!(" or of {failed} earlier transactions that failed, which cannot be told apart"),
            };
            let because = format!(
                "{number}, expected {}; {more} more are of a run that died before it could tell{or}, and are taken as \
                 they are from now on",
                wanted - more
            );
            Found { what, holds: None, because }
        } else {
            let close = number > wanted && number - wanted <= unsure * MOST_ROWS;
            let holds = if close { None } else { Some(number == wanted) };
            let lost = match close {
                true => format!("; of {unsure} transactions that failed it is not known what was committed"),
                false => String::new(),
            };
            let left = counted(books, &key)?;
            let what = if left > 0 { format!("{what}, and {left} of runs that died") } else { what };
            Found { what, holds, because: format!("{number}, expected {wanted}{lost}") }
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
