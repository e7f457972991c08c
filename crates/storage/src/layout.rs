//! Laying out files: creating files that are missing, and extending short ones, with data that can
//! neither be compressed nor deduplicated.

use crate::permit::Permit;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use uring::{mark, space};

/// What a file is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Random data from this seed.
    Random(u64),
    /// Written zeroes, over preallocated space, so that later writes have their usual cost.
    Zeroes,
    /// Preallocated space, if the file system supports that.
    Space,
    /// Preallocated space beyond the file's end; its length does not change.
    SpaceAlone,
    /// Nothing: what is never written takes no space.
    Holes,
}

/// How a file is to be created or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutPlan {
    /// Its final length in bytes.
    pub len: u64,
    /// What to add.
    pub contents: Contents,
    /// If no space is left, the lay-out ends there without a failure.
    pub until_full: bool,
}

/// The result of a lay-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaidOut {
    /// It was completed.
    Whole,
    /// It was stopped; what was filled before stays.
    Stopped,
}

/// Bytes that are written at a time.
const PIECE: usize = 1 << 20;

impl Permit {
    /// Creates or extends a file, including missing folders, and marks a file that was empty as one
    /// that may be overwritten. Existing data stays, except that filling starts at its last whole
    /// MiB. If the file is long enough already, all of it is filled.
    ///
    /// `is_stopped` is called before each MiB. A file that was stopped is as long as its filled
    /// part; the next lay-out completes it.
    ///
    /// # Errors
    /// There is no permission to create it, it is not a file, or the system refuses. If it was
    /// created, it is removed.
    pub fn lay_out(&self, plan: LayoutPlan, is_stopped: &mut dyn FnMut() -> bool) -> io::Result<LaidOut> {
        let path = self.path().filter(|_| self.makes()).ok_or(io::ErrorKind::PermissionDenied)?;
        let made = !path.exists();
        if let Some(folder) = path.parent().filter(|_| made) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)?;
        let laid_out = extend(&file, plan, is_stopped);
        if laid_out.is_err() && made {
            // An incomplete new file is of no use. If it cannot be removed, the error above is
            // still the one to report.
            let _ = std::fs::remove_file(path);
        }
        laid_out
    }
}

fn extend(file: &File, plan: LayoutPlan, is_stopped: &mut dyn FnMut() -> bool) -> io::Result<LaidOut> {
    let before = file.metadata()?.len();
    if before == 0 {
        mark::set(file)?;
    }
    let laid_out = match plan.contents {
        Contents::Random(seed) => {
            let from = if before < plan.len { before / PIECE as u64 * PIECE as u64 } else { 0 };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ from);
            fill(file, from, plan, is_stopped, |piece| random.fill_bytes(piece))?
        }
        Contents::Zeroes => {
            if before < plan.len {
                // The length follows the filling, so that an interrupted file does not look
                // complete.
                space::reserve(file, 0, plan.len)?;
            }
            fill(file, before, plan, is_stopped, |piece| piece.fill(0))?
        }
        Contents::Space | Contents::Holes | Contents::SpaceAlone => {
            take_space(file, before, plan)?;
            LaidOut::Whole
        }
    };
    // Whoever stopped it does not wait for the data to be durable.
    if laid_out == LaidOut::Whole {
        file.sync_all()?;
    }
    Ok(laid_out)
}

/// Gives a file of `before` bytes its length or space, without data.
fn take_space(file: &File, before: u64, plan: LayoutPlan) -> io::Result<()> {
    match plan.contents {
        Contents::SpaceAlone => {
            let _ = space::reserve(file, 0, plan.len);
            Ok(())
        }
        _ if before >= plan.len => Ok(()),
        // A file system that cannot preallocate may still have the space for the writes.
        Contents::Space if space::allocate(file, 0, plan.len).is_ok() => Ok(()),
        _ => file.set_len(plan.len),
    }
}

fn fill(
    file: &File,
    from: u64,
    plan: LayoutPlan,
    is_stopped: &mut dyn FnMut() -> bool,
    mut make: impl FnMut(&mut [u8]),
) -> io::Result<LaidOut> {
    let mut piece = vec![0; PIECE];
    let mut at = from;
    while at < plan.len {
        if is_stopped() {
            return Ok(LaidOut::Stopped);
        }
        let len = (plan.len - at).min(PIECE as u64) as usize;
        make(&mut piece[..len]);
        match file.write_all_at(&piece[..len], at) {
            Err(error) if plan.until_full && error.kind() == io::ErrorKind::StorageFull => {
                return Ok(LaidOut::Whole);
            }
            written => written?,
        }
        at += len as u64;
    }
    Ok(LaidOut::Whole)
}

/// Reads a whole file, so that it is in the page cache.
///
/// # Errors
/// It cannot be read.
pub fn read_ahead(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        match file.read_at(&mut piece, at)? {
            0 => return Ok(()),
            read => at += read as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Intent, Place};

    /// A file of 4.5 MiB that is stopped before its third MiB has two. Laid out again, it has its
    /// full length, its first two MiB are the same, and nothing of it is empty. The same holds with
    /// preallocated space.
    #[test]
    fn a_file_that_was_stopped_is_completed() {
        let whole = stopped_and_completed(Contents::Random(7));
        assert!(whole.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
        stopped_and_completed(Contents::Zeroes);
    }

    fn stopped_and_completed(contents: Contents) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let consent = crate::Consent::new(&[], &[]);
        let permit = || Permit::ask(&Place::Path(path.clone()), Intent::Remove(&consent)).unwrap();
        let plan = LayoutPlan { len: 9 << 19, contents, until_full: false };
        let mut asked = 0;
        let mut third = || {
            asked += 1;
            asked == 3
        };
        assert_eq!(permit().lay_out(plan, &mut third).unwrap(), LaidOut::Stopped);
        let short = std::fs::read(&path).unwrap();
        assert_eq!(short.len(), 2 << 20);
        assert_eq!(permit().lay_out(plan, &mut || false).unwrap(), LaidOut::Whole);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), 9 << 19);
        assert!(whole.starts_with(&short));
        whole
    }
}
