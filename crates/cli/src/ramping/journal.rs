//! The journal's file: made with its space taken ahead, or overwritten if it is one of ours.

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use std::fs::OpenOptions;
use std::path::Path;

/// Makes `path` a journal of at least `need` bytes.
pub fn prepare(path: &Path, need: u64) -> Result<()> {
    let name = || format!("--wijfile {}", path.display());
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
            "{}: a journal of {} is needed for the largest burst, and {} are free on its file system; fill less with \
             seawall dgen --pctfull, or lower --maxiops",
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
    zero(&file, there.min(need), need).with_context(name)?;
    file.sync_all().with_context(name)
}

fn zero(file: &std::fs::File, from: u64, to: u64) -> std::io::Result<()> {
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
