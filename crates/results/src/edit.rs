//! Changes to stored runs: deletion and labels.

use super::{Error, Results};
use rusqlite::params;

impl Results {
    /// Deletes a run with all of its rows.
    ///
    /// # Errors
    /// There is no such run, or the file cannot be written.
    pub fn delete(&mut self, run: i64) -> Result<(), Error> {
        let path = self.path.clone();
        let deleted = self.write(|connection| connection.execute("DELETE FROM run WHERE id = ?1", [run]))?;
        if deleted == 0 { Err(Error::NoRun { path, run }) } else { Ok(()) }
    }

    /// Sets a label of a run, or removes it if `word` is `None`; returns whether the run had one
    /// with that key.
    ///
    /// # Errors
    /// There is no such run, or the file cannot be written.
    pub fn label(&mut self, run: i64, key: &str, word: Option<&str>) -> Result<bool, Error> {
        let path = self.path.clone();
        let had = self.write(|connection| {
            let exists =
                connection.query_row("SELECT count(*) FROM run WHERE id = ?1", [run], |row| row.get::<_, i64>(0));
            if exists? == 0 {
                return Ok(None);
            }
            let had = connection.execute("DELETE FROM label WHERE run = ?1 AND key = ?2", params![run, key])? > 0;
            if let Some(word) = word {
                connection.execute("INSERT INTO label VALUES (?1, ?2, ?3)", params![run, key, word])?;
            }
            Ok(Some(had))
        })?;
        had.ok_or(Error::NoRun { path, run })
    }

    /// The name of a run, which is the same in all files.
    ///
    /// # Errors
    /// There is no such run, or the file cannot be read.
    pub fn uuid(&self, run: i64) -> Result<String, Error> {
        let found = self.connection.query_row("SELECT uuid FROM run WHERE id = ?1", [run], |row| row.get(0));
        found.map_err(|source| match source {
            rusqlite::Error::QueryReturnedNoRows => Error::NoRun { path: self.path.clone(), run },
            source => Error::sqlite(&self.path, source),
        })
    }
}
