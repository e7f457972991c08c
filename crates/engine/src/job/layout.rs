//! Making files that are missing or too short, with data in them that nothing can compress or store once.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use uring::{mark, space};

/// How a file is to be made or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Its length afterwards.
    pub(crate) len: u64,
    /// With data all through, or with space alone.
    pub(crate) filled: bool,
    /// Its space is taken ahead where it is not filled.
    pub(crate) allocated: bool,
    pub(crate) seed: u64,
}

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// Makes or extends a file and marks it as one that may be overwritten. What is there already stays, unless it is to be
/// filled.
pub(crate) fn lay_out(path: &Path, plan: Plan, new: bool) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o644).open(path)?;
    let made = (|| {
        if new {
            mark::set(&file)?;
        }
        let before = file.metadata()?.len();
        if plan.filled {
            fill(&file, if before < plan.len { before / PIECE as u64 * PIECE as u64 } else { 0 }, plan)?;
        } else if before < plan.len {
            // A file system that cannot take space ahead has it all the same when it is written.
            if !plan.allocated || space::allocate(&file, 0, plan.len).is_err() {
                file.set_len(plan.len)?;
            }
        }
        file.sync_all()
    })();
    if made.is_err() && new {
        // What was made a moment ago and is not whole helps nobody; the error is the one to tell.
        let _ = std::fs::remove_file(path);
    }
    made
}

fn fill(file: &File, from: u64, plan: Plan) -> io::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed ^ from);
    let mut piece = vec![0; PIECE];
    let mut at = from;
    while at < plan.len {
        let len = (plan.len - at).min(PIECE as u64) as usize;
        random.fill_bytes(&mut piece[..len]);
        file.write_all_at(&piece[..len], at)?;
        at += len as u64;
    }
    Ok(())
}

/// Reads all of a file, so that the page cache holds it.
pub(crate) fn read_ahead(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    loop {
        match file.read_at(&mut piece, at)? {
            0 => return Ok(()),
            read => at += read as u64,
        }
    }
}
