//! A relation that is read at random through its server: each row fills a block, so that reading a
//! row by its physical position reads a block.

use crate::books::Books as _;
use crate::error::Error;
use crate::play::StopSignal;
use crate::postgres::{Connection, Postgres};
use block::Bytes;
use oltp::{Chance, Failure, Session as _, Value};

/// Its name, and the comment by which setup recognises its own.
const NAME: &str = "seawall_ranread";
const MARK: &str = "made by seawall ranread setup";
/// Bytes of a block in a standard build of PostgreSQL.
pub const BLOCK: u64 = 8192;
/// Characters of a row. With headers (24 and 4 bytes of a block, 24 and 8 of the row, 4 of the
/// text), 8192 bytes have no room for a second row.
const LETTERS: usize = 7900;
/// Rows that are sent at once.
const ROWS: u64 = 64;

/// A relation on a server.
#[derive(Clone, Debug)]
pub struct Relation {
    postgres: Postgres,
    /// Number of blocks.
    blocks: u64,
}

/// Accesses of the server's cache, in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Blocks found in the cache.
    pub hits: u64,
    /// Blocks requested from the system.
    pub reads: u64,
}

impl Relation {
    /// Creates a relation of that size; `progress` gets the fraction done and stops it by returning
    /// `false`.
    ///
    /// # Errors
    /// The relation exists, or the database cannot be written; then it is removed again.
    pub fn set_up(
        postgres: &Postgres,
        size: Bytes,
        seed: u64,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Relation, Error> {
        Relation::must_be_missing(postgres)?;
        let mut book = postgres.books()?;
        let name = postgres.name();
        // Storage `plain`: not compressed, and not moved out of the row.
        book.batch(&format!(
            "BEGIN; CREATE TABLE {NAME} (id BIGINT, letters TEXT) WITH (autovacuum_enabled = off); ALTER TABLE {NAME} ALTER \
             COLUMN letters SET STORAGE PLAIN; COMMENT ON TABLE {NAME} IS '{MARK}'; COMMIT"
        ))?;
        let blocks = (size.0 / BLOCK).max(1);
        let mut row = 0;
        let filled = book.wire.copy(&format!("COPY {NAME} FROM STDIN"), &mut |out| {
            for row in row..(row + ROWS).min(blocks) {
                letters(seed, row, out);
            }
            row = (row + ROWS).min(blocks);
            progress(row as f64 / blocks as f64)
        });
        let done = match filled {
            Ok(true) => book.batch(&format!("VACUUM (FREEZE, ANALYZE) {NAME}")),
            Ok(false) => Err(Error::Stopped),
            Err(error) => Err(Error::Postgres(name, error)),
        };
        // Only some roles may do this.
        let _ = book.batch("CHECKPOINT");
        match done.and_then(|()| Relation::open(postgres.clone())) {
            Ok(relation) => Ok(relation),
            Err(error) => {
                // The first error is reported.
                let _ = postgres.books().and_then(|mut book| book.batch(&format!("DROP TABLE {NAME}")));
                Err(error)
            }
        }
    }

    /// Refuses a database in which one cannot be made.
    ///
    /// # Errors
    /// There is one, or a table of that name that setup did not make.
    pub fn must_be_missing(postgres: &Postgres) -> Result<(), Error> {
        match found(postgres)? {
            None => Ok(()),
            Some(Maker::Setup) => Err(Error::HasRelation { database: postgres.name(), option: postgres.option() }),
            Some(Maker::Others) => Err(Error::NotOurRelation(postgres.name())),
        }
    }

    /// Opens the relation that setup made.
    ///
    /// # Errors
    /// There is none.
    pub fn open(postgres: Postgres) -> Result<Relation, Error> {
        let mut book = postgres.books()?;
        let sql = "SELECT pg_relation_size(oid) / current_setting('block_size')::bigint FROM pg_class WHERE oid = \
                   to_regclass(CAST($1 AS text)) AND obj_description(oid, 'pg_class') = $2";
        let blocks = book.text(sql, &[NAME.into(), MARK.into()])?.and_then(|text| text.parse().ok());
        let blocks = blocks.filter(|blocks| *blocks > 0).ok_or_else(|| no_relation(&postgres))?;
        Ok(Relation { postgres, blocks })
    }

    /// Removes the one that setup made, or began to make before it was killed.
    ///
    /// # Errors
    /// There is none, or it is in use.
    pub fn remove(postgres: &Postgres) -> Result<(), Error> {
        match found(postgres)? {
            Some(Maker::Setup) => postgres.books()?.batch(&format!("DROP TABLE {NAME}")),
            Some(Maker::Others) | None => Err(no_relation(postgres)),
        }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Its size.
    pub fn size(&self) -> Bytes {
        Bytes(self.blocks * BLOCK)
    }

    /// The server.
    pub fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    /// Accesses to its blocks since the server began to count.
    ///
    /// # Errors
    /// The server does not answer.
    pub fn looked(&self) -> Result<Looked, Error> {
        let mut looked = Looked::default();
        let sql = "SELECT heap_blks_hit, heap_blks_read FROM pg_statio_user_tables WHERE relid = to_regclass(CAST($1 AS text))";
        self.postgres.books()?.ask(sql, &[NAME.into()], &mut |row| {
            let of = |at: usize| row.get(at).and_then(Value::number).unwrap_or(0) as u64;
            looked = Looked { hits: of(0), reads: of(1) };
        })?;
        Ok(looked)
    }

    /// A connection that reads it. The signal is required by the connection, but has no effect
    /// here.
    ///
    /// # Errors
    /// The server refuses or cannot be reached.
    pub fn reader<'w>(&self, signal: &'w StopSignal) -> Result<Reader<'w>, Failure> {
        Ok(Reader { connection: self.postgres.connect(signal)? })
    }
}

/// The origin of a table with the relation's name.
#[derive(Clone, Copy)]
enum Maker {
    Setup,
    Others,
}

/// The error where setup has made none.
fn no_relation(postgres: &Postgres) -> Error {
    Error::NoRelation { database: postgres.name(), option: postgres.option() }
}

/// The origin of the table with the relation's name in that database, if there is one.
fn found(postgres: &Postgres) -> Result<Option<Maker>, Error> {
    let sql =
        "SELECT COALESCE(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE oid = to_regclass(CAST($1 AS text))";
    let mark = postgres.books()?.text(sql, &[NAME.into()])?;
    Ok(mark.map(|mark| if mark == MARK { Maker::Setup } else { Maker::Others }))
}

/// A connection that reads blocks.
pub struct Reader<'w> {
    connection: Connection<'w>,
}

impl Reader<'_> {
    /// Reads a block, numbered from 0.
    ///
    /// # Errors
    /// The server refuses, the connection is lost, or the block has no row.
    pub fn read(&mut self, block: u64) -> Result<(), Failure> {
        const READ: &str = "SELECT id FROM seawall_ranread WHERE ctid = CAST($1 AS tid)";
        let rows = self.connection.rows(READ, &[format!("({block},1)").into()])?;
        if rows.is_empty() { Err(Failure::Other(format!("block {block} has no row"))) } else { Ok(()) }
    }

    /// Makes the server update its counters before it answers; before 15 they are updated a second
    /// later.
    pub fn count(&mut self) {
        let _ = self.connection.rows("SELECT pg_stat_force_next_flush()", &[]);
    }
}

/// A row in the format of COPY, with characters that are hard to compress.
fn letters(seed: u64, row: u64, out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut chance = Chance::new(seed, row);
    out.extend_from_slice(row.to_string().as_bytes());
    out.push(b'\t');
    for at in (0..LETTERS).step_by(10) {
        // Ten characters of six bits from one random number.
        let mut bits = chance.between(0, (1 << 60) - 1);
        for _ in at..(at + 10).min(LETTERS) {
            out.push(ALPHABET[(bits & 63) as usize]);
            bits >>= 6;
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_number_and_its_letters() {
        let (mut one, mut same, mut other) = (Vec::new(), Vec::new(), Vec::new());
        letters(1, 7, &mut one);
        letters(1, 7, &mut same);
        letters(1, 8, &mut other);
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert!(one.starts_with(b"7\t") && one.len() == 2 + LETTERS + 1);
    }
}
