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

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

impl Permit {
    /// Makes or extends a file, with the folders that are missing, and marks one that was empty as
    /// one that may be overwritten. What is there already stays, except that data is filled in from
    /// its last whole MiB on; where the file is long enough, all of it is filled.
    ///
    /// # Errors
    /// No leave was given to make it, it is no file, or the system refuses. What was made is
    /// removed then.
    pub fn lay_out(&self, plan: LayoutPlan) -> io::Result<()> {
        let path = self.path().filter(|_| self.makes()).ok_or(io::ErrorKind::PermissionDenied)?;
        let made = !path.exists();
        if let Some(folder) = path.parent().filter(|_| made) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)?;
        let laid_out = extend(&file, plan);
        if laid_out.is_err() && made {
            // What was made a moment ago and is not whole helps nobody; the error is the one to
            // tell.
            let _ = std::fs::remove_file(path);
        }
        laid_out
    }
}

fn extend(file: &File, plan: LayoutPlan) -> io::Result<()> {
    let before = file.metadata()?.len();
    if before == 0 {
        mark::set(file)?;
    }
    match plan.contents {
        Contents::Random(seed) => {
            let from = if before < plan.len { before / PIECE as u64 * PIECE as u64 } else { 0 };
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ from);
            fill(file, from, plan, |piece| random.fill_bytes(piece))?;
        }
        Contents::Zeroes => {
            if before < plan.len {
                space::allocate(file, 0, plan.len)?;
            }
            fill(file, before, plan, |piece| piece.fill(0))?;
        }
        // A file system that cannot take space ahead has it all the same when it is written.
        Contents::Space if before < plan.len && space::allocate(file, 0, plan.len).is_ok() => {}
        Contents::Space | Contents::Holes if before < plan.len => file.set_len(plan.len)?,
        Contents::Space | Contents::Holes => {}
        Contents::SpaceAlone => {
            let _ = space::reserve(file, 0, plan.len);
        }
    }
    file.sync_all()
}

fn fill(file: &File, from: u64, plan: LayoutPlan, mut make: impl FnMut(&mut [u8])) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut at = from;
    while at < plan.len {
        let len = (plan.len - at).min(PIECE as u64) as usize;
        make(&mut piece[..len]);
        match file.write_all_at(&piece[..len], at) {
            Err(error) if plan.until_full && error.kind() == io::ErrorKind::StorageFull => return Ok(()),
            written => written?,
        }
        at += len as u64;
    }
    Ok(())
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
