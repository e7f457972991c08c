//! A place for a journal: a file whose space is allocated in advance, an older journal of ours, or
//! a part of a device or an export.

use super::buffers::Header;
use crate::dataset::{Consent, Pipe, wipe_edges, words};
use crate::interrupt::Stop;
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Fault};
use ramp::BLOCK;
use std::path::Path;
use storage::{Contents, LaidOut, LayoutPlan, Permit, PlaceKind};

/// Makes `path`, which may be written, a journal of at least `need` bytes.
///
/// # Errors
/// It has no folder or no room, or a stop was requested; a partial journal is completed by the next
/// ramp.
pub fn prepare_file(option: &str, permit: &Permit, path: &Path, need: u64, stop: &Stop) -> Result<()> {
    let name = || format!("--{option} {}", path.display());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        bail!("{}: {} is no directory; make it first", name(), parent.display());
    }
    let there = permit.size().0;
    let space = uring::space::space(parent).with_context(name)?;
    if need > there && need - there > space.available.0 {
        bail!(
            "{}: a journal of {} is needed, and {} are free on its file system; fill less with seawall dgen --pctfull, or \
             lower --maxiops",
            name(),
            Bytes(need),
            space.available
        );
    }
    // The first write to a block is more expensive than later ones; it is done in advance, as in a
    // database that has run before.
    let plan = LayoutPlan { len: need, contents: Contents::Zeroes, until_full: false };
    whole(permit.lay_out(plan, &mut || stop.is_asked()).with_context(name)?, &name())
}

fn whole(made: LaidOut, name: &str) -> Result<()> {
    match made {
        LaidOut::Whole => Ok(()),
        LaidOut::Stopped => bail!("{name}: stopped before the journal was made; nothing was measured"),
    }
}

/// A part of a device or an export.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its first byte.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
}

fn header(pipe: &mut Pipe, at: u64) -> Result<Option<Header>, Fault> {
    pipe.bytes(at, BLOCK).map(|block| Header::read(&block))
}

/// Writes a part of a device once in advance, unless an earlier ramp did so. Marks of earlier
/// contents are erased.
///
/// # Errors
/// It cannot be written, or a stop was requested; the next ramp writes it from the start.
pub fn prepare_part(permit: &Permit, part: Part, consent: &Consent, stop: &Stop) -> Result<()> {
    let place = permit.place();
    if permit.kind() == PlaceKind::Nothing {
        return Ok(());
    }
    let was_other = part.at == 0 && permit.kind() != PlaceKind::File && !permit.holds(consent)?.is_empty();
    let mut pipe = Pipe::open(permit)?;
    let mut prepare = || -> Result<LaidOut, Fault> {
        if was_other {
            wipe_edges(&mut pipe)?;
        }
        let ready = header(&mut pipe, part.at)?.map_or(0, |header| header.ready);
        if ready >= part.bytes {
            return Ok(LaidOut::Whole);
        }
        let (piece, end) = (pipe.piece(), part.at + part.bytes);
        for at in (part.at..end).step_by(piece as usize) {
            if stop.is_asked() {
                return Ok(LaidOut::Stopped);
            }
            pipe.write(at, piece.min(end - at), |bytes| bytes.fill(0))?;
        }
        pipe.sync()?;
        let header = Header { blocks: 0, generation: 0, ready: part.bytes };
        pipe.write(part.at, BLOCK, |block| header.write(block))?;
        pipe.sync().map(|()| LaidOut::Whole)
    };
    let made = prepare().map_err(|fault| anyhow!("{place}: making room for a journal: {}", words(fault)))?;
    whole(made, &place.to_string())
}
