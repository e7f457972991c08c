//! A place for a journal: a file, made with its space taken ahead or overwritten if it is one of ours, or a part of a
//! device or an export.

use super::buffers::Header;
use crate::dataset::{Pipe, Place, objections, refuse, words};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Fault};
use ramp::BLOCK;
use std::fs::OpenOptions;
use std::path::Path;

/// Makes `path` a journal of at least `need` bytes.
pub fn prepare_file(option: &str, path: &Path, need: u64) -> Result<()> {
    let name = || format!("--{option} {}", path.display());
    let objections = engine::safety::objections(path).with_context(name)?;
    if !objections.is_empty() {
        bail!("{}: {}; name a file that does not exist, or one that seawall made", name(), objections.join(", "));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() {
        bail!("{}: {} is no directory; make it first", name(), parent.display());
    }
    let there = std::fs::metadata(path).map_or(0, |about| about.len());
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
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).with_context(name)?;
    uring::mark::set(&file).with_context(name)?;
    if there < need {
        uring::space::allocate(&file, 0, need).with_context(name)?;
    }
    // Blocks that were never written cost more to write than others: once ahead, as in a database that has run before.
    zero_file(&file, there.min(need), need).with_context(name)?;
    file.sync_all().with_context(name)
}

fn zero_file(file: &std::fs::File, from: u64, to: u64) -> std::io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    let zeroes = vec![0; 1 << 20];
    let mut at = from;
    while at < to {
        let len = zeroes.len().min((to - at) as usize);
        file.write_all_at(&zeroes[..len], at)?;
        at += len as u64;
    }
    Ok(())
}

/// A part of a device or an export.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its first byte.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
}

/// Refuses a device whose first bytes are something else's: neither a journal of ours nor nothing.
pub fn may_overwrite(place: &Place, destroy: &[String]) -> Result<()> {
    if place.is_among(destroy) || matches!(place, Place::Nothing(_)) {
        return Ok(());
    }
    let found = objections(place)?;
    if found.is_empty() || (!place.is_block_device() && is_journal(place)?) {
        return Ok(());
    }
    refuse(place, &found)
}

fn is_journal(place: &Place) -> Result<bool> {
    let mut pipe = Pipe::open(place, false)?;
    Ok(pipe.size() >= BLOCK && header(&mut pipe, 0).is_ok_and(|header| header.is_some()))
}

fn header(pipe: &mut Pipe, at: u64) -> Result<Option<Header>, Fault> {
    pipe.bytes(at, BLOCK).map(|block| Header::read(&block))
}

/// Writes a part of a device once ahead, unless that was done for an earlier ramp.
pub fn prepare_part(place: &Place, part: Part) -> Result<()> {
    if matches!(place, Place::Nothing(_)) {
        return Ok(());
    }
    let mut pipe = Pipe::open(place, true)?;
    let mut prepare = || -> Result<(), Fault> {
        let ready = header(&mut pipe, part.at)?.map_or(0, |header| header.ready);
        if ready >= part.bytes {
            return Ok(());
        }
        let (piece, end) = (pipe.piece(), part.at + part.bytes);
        for at in (part.at..end).step_by(piece as usize) {
            pipe.write(at, piece.min(end - at), |bytes| bytes.fill(0))?;
        }
        pipe.sync()?;
        let header = Header { blocks: 0, generation: 0, ready: part.bytes };
        pipe.write(part.at, BLOCK, |block| header.write(block))?;
        pipe.sync()
    };
    prepare().map_err(|fault| anyhow!("{place}: making room for a journal: {}", words(fault)))
}
