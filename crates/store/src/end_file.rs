//! The end of a pool with a sparse file a LUN: which edition of the catalogue its files belong to, in `data/end`. What is in
//! it is as in `maps/end`, without a log.

use crate::error::StoreError;
use map::{Agreed, END_SIZE, End};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Its name in the folder of the data.
pub(crate) const END: &str = "end";

/// The open file.
#[derive(Debug)]
pub(crate) struct EndFile {
    path: PathBuf,
    file: File,
    end: End,
}

impl EndFile {
    /// Makes that of a new pool; durable when it returns.
    pub(crate) fn create(data: &Path, pool: u64, agreed: Agreed) -> Result<(), StoreError> {
        let path = data.join(END);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        let bytes = map::format_end(pool, agreed);
        let made = file.and_then(|file| file.write_all_at(&bytes, 0).and_then(|()| file.sync_all()));
        made.and_then(|()| File::open(data)?.sync_all()).map_err(StoreError::file(path, "make it"))
    }

    /// What it says; `None` if it is not there or not whole.
    pub(crate) fn read(data: &Path) -> Result<Option<End>, StoreError> {
        let path = data.join(END);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(END_SIZE).read_to_end(&mut bytes));
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::file(&path, "read it")(error)),
            Ok(_) => {}
        }
        End::newest(&bytes).map_err(|found| StoreError::TooNew { path, found, known: map::END_FORMAT })
    }

    /// Opens it, where it says that.
    pub(crate) fn open(data: &Path, end: End) -> Result<EndFile, StoreError> {
        let path = data.join(END);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(StoreError::file(&path, "open it"))?;
        Ok(EndFile { path, file, end })
    }

    /// What is known of the catalogue.
    pub(crate) fn agreed(&self) -> &Agreed {
        &self.end.agreed
    }

    /// Keeps that; durable when it returns.
    pub(crate) fn keep(&mut self, agreed: Agreed) -> Result<(), StoreError> {
        let end = End { count: self.end.count + 1, agreed, ..self.end };
        let written = self.file.write_all_at(&end.encode(), end.place()).and_then(|()| self.file.sync_all());
        written.map_err(StoreError::file(&self.path, "say which catalogue belongs to the pool"))?;
        self.end = end;
        Ok(())
    }
}
