//! Locks of files among the jobs of this program: one call at a time, or one writer or many
//! readers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

/// A file's lock. All locks of the same file exclude each other, whatever names it was opened by.
#[derive(Clone, Debug)]
pub struct Lock {
    file: Arc<RwLock<()>>,
    reads_share: bool,
}

/// Holds a lock until it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "what is held is only ever dropped")]
pub enum Held<'l> {
    /// Shared with other readers.
    Shared(RwLockReadGuard<'l, ()>),
    /// Exclusive.
    Alone(RwLockWriteGuard<'l, ()>),
}

/// Locks by the numbers of the file system and the file.
type Locks = BTreeMap<(u64, u64), Weak<RwLock<()>>>;

/// The locks in use.
static LOCKS: Mutex<Locks> = Mutex::new(Locks::new());

impl Lock {
    /// The lock of `file`. With `reads_share`, calls that only read share it.
    ///
    /// # Errors
    /// The file's metadata cannot be read.
    pub fn of(file: &File, reads_share: bool) -> io::Result<Lock> {
        let about = file.metadata()?;
        let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        let known = locks.entry((about.dev(), about.ino())).or_default();
        let file = known.upgrade().unwrap_or_default();
        *known = Arc::downgrade(&file);
        Ok(Lock { file, reads_share })
    }

    /// Waits until no other call excludes this one.
    pub fn hold(&self, reads: bool) -> Held<'_> {
        match reads && self.reads_share {
            true => Held::Shared(self.file.read().unwrap_or_else(PoisonError::into_inner)),
            false => Held::Alone(self.file.write().unwrap_or_else(PoisonError::into_inner)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two names of one file have one lock; another file has its own. Readers share the lock if
    /// that was chosen.
    #[test]
    fn one_file_has_one_lock() {
        let one = File::open("Cargo.toml").unwrap();
        let again = File::open("./src/../Cargo.toml").unwrap();
        let other = File::open("src/lib.rs").unwrap();
        for (reads_share, reads, free) in
            [(false, true, false), (false, false, false), (true, true, true), (true, false, false)]
        {
            let (lock, same) = (Lock::of(&one, reads_share).unwrap(), Lock::of(&again, reads_share).unwrap());
            let held = lock.hold(reads);
            assert_eq!(same.file.try_read().is_ok(), free, "{reads_share} {reads}");
            assert!(Lock::of(&other, reads_share).unwrap().file.try_write().is_ok());
            drop(held);
            assert!(same.file.try_write().is_ok());
        }
    }
}
