//! Making files that are missing or too short, with data in them that nothing can compress or store
//! once.

use crate::permit::Permit;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use uring::{mark, space};

/// What a file is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Data all through, from this seed.
    Random(u64),
    /// Zeroes that were written, over space that was taken ahead: what is written later costs what
    /// it always costs.
    Zeroes,
    /// Space that was taken ahead, where the file system can do that.
    Space,
    /// The same, but the file stays as long as it is: what lies behind its end waits for it there.
    SpaceAlone,
    /// Nothing: what is never written takes no space.
    Holes,
}

/// How a file is to be made or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutPlan {
    /// Its length afterwards, in bytes.
    pub len: u64,
    /// What is added.
    pub contents: Contents,
    /// Where no space is left it ends there, which is no failure.
    pub until_full: bool,
}

/// How far a lay-out came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaidOut {
    /// To its end.
    Whole,
    /// It was stopped before; what was filled until then stays.
    Stopped,
}

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

impl Permit {
    /// Makes or extends a file, with the folders that are missing, and marks one that was empty as
    /// one that may be overwritten. What is there already stays, except that data is filled in from
    /// its last whole MiB on; where the file is long enough, all of it is filled.
    ///
    /// `is_stopped` is asked before each MiB. A file that was stopped is as long as what is filled;
    /// the next lay-out makes it whole.
    ///
    /// # Errors
    /// No leave was given to make it, it is no file, or the system refuses. What was made is
    /// removed then.
    pub fn lay_out(&self, plan: LayoutPlan, is_stopped: &mut dyn FnMut() -> bool) -> io::Result<LaidOut> {
        let path = self.path().filter(|_| self.makes()).ok_or(io::ErrorKind::PermissionDenied)?;
        let made = !path.exists();
        if let Some(folder) = path.parent().filter(|_| made) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)?;
        let laid_out = extend(&file, plan, is_stopped);
        if laid_out.is_err() && made {
            // What was made a moment ago and is not whole helps nobody; the error is the one to
            // tell.
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
                // The length follows what is filled, so that whoever is killed has no whole file.
                space::reserve(file, 0, plan.len)?;
            }
            fill(file, before, plan, is_stopped, |piece| piece.fill(0))?
        }
        Contents::Space | Contents::Holes | Contents::SpaceAlone => {
            take_space(file, before, plan)?;
            LaidOut::Whole
        }
    };
    // Who stopped it does not wait for what it wrote.
    if laid_out == LaidOut::Whole {
        file.sync_all()?;
    }
    Ok(laid_out)
}

/// Gives a file of `before` bytes its length or space, and nothing to hold.
fn take_space(file: &File, before: u64, plan: LayoutPlan) -> io::Result<()> {
    match plan.contents {
        Contents::SpaceAlone => {
            let _ = space::reserve(file, 0, plan.len);
            Ok(())
        }
        _ if before >= plan.len => Ok(()),
        // A file system that cannot take space ahead has it all the same when it is written.
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

/// Reads all of a file, so that the page cache holds it.
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

    /// Stopped before its third MiB a file of 4 MiB and a half has two; laid out again it is what
    /// it would have been in length, its first two MiB are the same, and nothing of it is empty. So
    /// it is where space was taken ahead.
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
