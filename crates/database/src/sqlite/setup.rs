//! Tables made and loaded.

use super::{Error, MADE_BY, Sqlite, remove};
use oltp::{Indexes, Row, Rows, SEQUENCES_TABLE, Sequence, Sizes, Table, Value, create, create_views, digest, insert};
use rusqlite::{OptionalExtension as _, params_from_iter};
use std::fs::File;

/// What was loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Rows by table.
    pub rows: Vec<(Table, u64)>,
}

/// Units of rows between two reports of progress.
const STEP: u64 = 1000;

impl Sqlite {
    /// Makes and loads all tables. `progress` is given the part of the whole that is done, and stops it by
    /// `false`; what was made is removed then, as after a failure.
    ///
    /// # Errors
    /// Tables of the same names are there, or the database cannot be written.
    pub fn setup(
        &self,
        rows: Rows,
        indexes: Indexes,
        progress: &mut dyn FnMut(f64, &str) -> bool,
    ) -> Result<Loaded, Error> {
        let is_new = !self.path.exists();
        let connection = rusqlite::Connection::open(&self.path).map_err(self.wrong())?;
        self.must_be_free(&connection)?;
        let loaded = self.fill(&connection, rows, indexes, progress);
        if loaded.is_err() {
            if is_new {
                drop(connection);
                self.remove_file()?;
            } else {
                // The first failure is the one to tell.
                let _ = connection.execute_batch("ROLLBACK");
                let _ = remove(&connection);
            }
        }
        loaded
    }

    fn must_be_free(&self, connection: &rusqlite::Connection) -> Result<(), Error> {
        let sql = "SELECT name FROM sqlite_master WHERE lower(name) = ?1";
        let ours = Table::ALL.into_iter().map(Table::name).chain([SEQUENCES_TABLE]);
        for table in ours.chain(create_views().map(|(view, _)| view)) {
            let found: Option<String> =
                connection.query_row(sql, [table], |row| row.get(0)).optional().map_err(self.wrong())?;
            if let Some(table) = found {
                return Err(Error::Taken { database: self.name(), table });
            }
        }
        Ok(())
    }

    fn fill(
        &self,
        connection: &rusqlite::Connection,
        rows: Rows,
        indexes: Indexes,
        progress: &mut dyn FnMut(f64, &str) -> bool,
    ) -> Result<Loaded, Error> {
        let batch = |sql: &str| connection.execute_batch(sql).map_err(self.wrong());
        // Nothing is durable before the end, and nothing has to be: a load that is cut off is removed.
        batch("PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")?;
        for table in Table::ALL {
            batch(&create(table, indexes))?;
        }
        batch(&format!("CREATE TABLE {SEQUENCES_TABLE} (name VARCHAR(40) PRIMARY KEY, value BIGINT)"))?;
        create_views().iter().try_for_each(|(_, sql)| batch(sql))?;
        self.note(connection, MADE_BY.0, MADE_BY.1)?;
        let mut work = Work { rows, all: work_of(&rows.sizes), done: 0.0, progress };
        let mut loaded = Loaded::default();
        for table in Table::ALL.into_iter().filter(|table| *table != Table::Metadata) {
            batch("BEGIN")?;
            let (count, sum) = work.load(connection, table).map_err(|error| match error {
                Trouble::Stopped => Error::Stopped,
                Trouble::Database(error) => self.wrong()(error),
            })?;
            batch("COMMIT")?;
            self.note(connection, &format!("rows:{}", table.name()), &count.to_string())?;
            self.note(connection, &format!("digest:{}", table.name()), &format!("{sum:016x}"))?;
            loaded.rows.push((table, count));
        }
        for table in Table::ALL {
            if !(work.progress)(work.done / work.all, "indexes") {
                return Err(Error::Stopped);
            }
            oltp::indexes(table, indexes).iter().try_for_each(|sql| batch(sql))?;
        }
        self.end(connection, &rows, &loaded)?;
        Ok(loaded)
    }

    /// Sequences, what is known of the whole, and all of it on storage.
    fn end(&self, connection: &rusqlite::Connection, rows: &Rows, loaded: &Loaded) -> Result<(), Error> {
        for sequence in Sequence::ALL {
            let last = loaded.rows.iter().find(|(table, _)| *table == sequence.table()).map_or(0, |(_, count)| *count);
            let sql = format!("INSERT INTO {SEQUENCES_TABLE} VALUES (?1, ?2)");
            connection.execute(&sql, rusqlite::params![sequence.name(), last as i64]).map_err(self.wrong())?;
        }
        let sql = "SELECT SUM(quantity_on_hand) FROM inventories";
        let stock: i64 = connection.query_row(sql, [], |row| row.get(0)).map_err(self.wrong())?;
        self.note(connection, "stock", &stock.to_string())?;
        self.note(connection, "scale", &rows.sizes.scale.to_string())?;
        self.note(connection, "seed", &rows.seed.to_string())?;
        connection.execute_batch("ANALYZE; PRAGMA journal_mode = WAL").map_err(self.wrong())?;
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| Error::File(self.name(), error))
    }

    fn note(&self, connection: &rusqlite::Connection, key: &str, value: &str) -> Result<(), Error> {
        let sql = "INSERT INTO orderentry_metadata VALUES (?1, ?2)";
        connection.execute(sql, [key, value]).map(drop).map_err(self.wrong())
    }
}

enum Trouble {
    Stopped,
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Database(error)
    }
}

struct Work<'p> {
    rows: Rows,
    all: f64,
    done: f64,
    progress: &'p mut dyn FnMut(f64, &str) -> bool,
}

impl Work<'_> {
    /// Loads a table; its rows and their digest.
    fn load(&mut self, connection: &rusqlite::Connection, table: Table) -> Result<(u64, u64), Trouble> {
        let mut statement = connection.prepare(&insert(table))?;
        let (mut count, mut sum, mut rows) = (0, 0u64, Vec::<Row>::new());
        for unit in 0..self.rows.sizes.units(table) {
            self.rows.unit(table, unit, &mut rows);
            for row in rows.drain(..) {
                sum = sum.wrapping_add(digest(&row));
                statement.execute(params_from_iter(row.iter().map(value)))?;
                count += 1;
            }
            self.done += weight(table);
            if unit % STEP == 0 && !(self.progress)(self.done / self.all, table.name()) {
                return Err(Trouble::Stopped);
            }
        }
        Ok((count, sum))
    }
}

fn value(value: &Value) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        Value::Number(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
    }
}

/// Rows of a unit, on average.
const fn weight(table: Table) -> f64 {
    match table {
        Table::Inventories => 900.0,
        Table::OrderItems => 3.5,
        _ => 1.0,
    }
}

fn work_of(sizes: &Sizes) -> f64 {
    Table::ALL.into_iter().map(|table| sizes.units(table) as f64 * weight(table)).sum()
}
