//! Fills a directory: several threads, each with one job after the other in order, so that a stop
//! leaves complete jobs and beginnings of jobs, and nothing else.

use super::pipe::{DEPTH, Pipe};
use super::{Place, consent, room, words};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Fault;
use ramp::{BLOCK, Dataset};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use storage::{Intent, Permit};
use uring::disk::Create;

/// Locks a directory, file or device against other writers while the result lives: two fills or two
/// journals would overwrite each other. `does` names the use in the error.
///
/// # Errors
/// Another process has it, or it cannot be opened.
pub fn only_writer(path: &Path, does: &str) -> Result<File> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    if !uring::space::try_lock(&file).with_context(|| path.display().to_string())? {
        bail!("{}: another process has it locked, to {does}; wait for its end, or name another place", path.display());
    }
    Ok(file)
}

/// Observes a fill.
pub trait Filling: Sync {
    /// Called with the total of bytes written so far.
    fn written(&self, bytes: u64);
    /// Whether to end early.
    fn is_stopped(&self) -> bool;
}

/// What all threads share.
struct Shared<'a> {
    folder: &'a Path,
    dataset: Dataset,
    blocks: u64,
    next_job: AtomicU32,
    written: AtomicU64,
    watch: &'a dyn Filling,
}

/// Fills every job of `dataset` in `folder` up to `blocks` blocks. Then removes blocks from the end
/// of the last job until at most `used_at_most` bytes of the file system are in use, and records
/// the result in the manifest. Returns the bytes written.
pub fn fill(folder: &Path, dataset: &Dataset, blocks: u64, used_at_most: u64, watch: &dyn Filling) -> Result<u64> {
    for job in 1..=dataset.jobs {
        let home = folder.join(Dataset::folder(job));
        storage::make_folder(&home)?;
    }
    let before = super::find(folder)?.map_or(0, |found| found.blocks_of(dataset.jobs));
    let (next_job, written) = (AtomicU32::new(1), AtomicU64::new(0));
    let shared = Shared { folder, dataset: *dataset, blocks, next_job, written, watch };
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get() * 2);
    let threads = cores.min(dataset.jobs as usize).max(1);
    let outcomes: Vec<Result<()>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| jobs(&shared))).collect();
        let ended =
            |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or(Err(anyhow!("a thread died")));
        running.into_iter().map(ended).collect()
    });
    outcomes.into_iter().collect::<Result<Vec<()>>>()?;
    trim(folder, dataset, before, used_at_most)?;
    if !watch.is_stopped() {
        super::note(folder)?;
    }
    Ok(shared.written.into_inner())
}

fn jobs(shared: &Shared<'_>) -> Result<()> {
    loop {
        let job = shared.next_job.fetch_add(1, Ordering::Relaxed);
        if job > shared.dataset.jobs || shared.watch.is_stopped() {
            return Ok(());
        }
        let mut first = 0;
        while first < shared.blocks && !shared.watch.is_stopped() {
            let blocks = Dataset::FILE_BLOCKS.min(shared.blocks - first);
            file(shared, job, first, blocks)?;
            first += blocks;
        }
    }
}

/// Extends one file from its current end to its full length.
fn file(shared: &Shared<'_>, job: u32, first: u64, blocks: u64) -> Result<()> {
    let path = shared.folder.join(Dataset::folder(job)).join(Dataset::file(first / Dataset::FILE_BLOCKS));
    let permit = Permit::ask(&Place::Path(path.clone()), Intent::Write(&consent(&[], &[])))?;
    let mut pipe = Pipe::open_or_make(&permit, Create::IfMissing)?;
    uring::mark::set(&File::open(&path)?).with_context(|| path.display().to_string())?;
    if pipe.size() >= blocks * BLOCK {
        return Ok(());
    }
    // The last existing pieces may be incomplete, because several were in flight; they are written
    // again.
    let per_piece = pipe.piece() / BLOCK;
    let mut done = (pipe.size() / pipe.piece()).saturating_sub(DEPTH as u64) * per_piece;
    while done < blocks && !shared.watch.is_stopped() {
        let count = per_piece.min(blocks - done);
        let write = pipe.write(done * BLOCK, count * BLOCK, |bytes| {
            for (number, block) in bytes.chunks_exact_mut(BLOCK as usize).enumerate() {
                shared.dataset.recipe.fill(block, u64::from(job), first + done + number as u64);
            }
        });
        write.map_err(|fault| refusal(shared, &path, fault))?;
        done += count;
        let added = count * BLOCK;
        shared.watch.written(shared.written.fetch_add(added, Ordering::Relaxed) + added);
    }
    pipe.sync().map_err(|fault| refusal(shared, &path, fault))
}

fn refusal(shared: &Shared<'_>, path: &Path, fault: Fault) -> anyhow::Error {
    if fault == Fault::NoSpace {
        let written = block::Bytes(shared.written.load(Ordering::Relaxed));
        return anyhow!(
            "{}: no space left after {written} were written, as somebody else fills it, too; what was written is kept: \
             make room and run the same command again, or lower --pctfull",
            path.display()
        );
    }
    anyhow!("{}: {}", path.display(), words(fault))
}

/// Removes blocks from the end of the last job until at most `used_at_most` bytes are in use, but
/// never any of the first `before` blocks, which existed already.
fn trim(folder: &Path, dataset: &Dataset, before: u64, used_at_most: u64) -> Result<()> {
    let Some(found) = super::find(folder)? else { return Ok(()) };
    let mut left = found.blocks_of(dataset.jobs).saturating_sub(before);
    let mut files: Vec<_> = found.files.into_iter().filter(|(job, ..)| *job == dataset.jobs).collect();
    loop {
        let now = room(folder)?;
        let over = (now.total - now.free).saturating_sub(used_at_most);
        let Some((.., path, blocks)) = files.last_mut().filter(|_| over > 0) else { return Ok(()) };
        if left == 0 {
            bail!("{}: others filled the file system meanwhile; lower --pctfull or make room", folder.display());
        }
        if *blocks == 0 {
            files.pop();
            continue;
        }
        let taken = over.div_ceil(BLOCK).min(*blocks).min(left);
        (*blocks, left) = (*blocks - taken, left - taken);
        let file = File::options().write(true).open(&*path).with_context(|| path.display().to_string())?;
        file.set_len(*blocks * BLOCK).with_context(|| path.display().to_string())?;
        file.sync_all().with_context(|| path.display().to_string())?;
    }
}
