//! Creates, finds and removes databases.

use crate::classic::aim;
use crate::{Answer, dataset, date, interrupt, machine, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Span;
use engine::job::{JobProgress, RunSettings, Watch};
use ranread::{DATABASE_FILE, Installation, MANIFEST_FILE, Manifest, PurgeOptions, SetupOptions};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use storage::{Consent, Intent, Permit, Place};
use uring::Clock;

/// Creates a database.
pub fn set_up(ask: &SetupOptions) -> Result<Answer> {
    let folder = Path::new(&ask.directory);
    let path = folder.join(DATABASE_FILE);
    if folder.exists() && !folder.is_dir() {
        bail!("setup: {} is no directory; name another", folder.display());
    }
    if folder.join(MANIFEST_FILE).exists() || path.exists() {
        bail!("setup: {} has a database already; purge it first, or name another directory", folder.display());
    }
    let there = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    let above = there.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let available = block::Bytes(dataset::room(above)?.available);
    if available <= ask.size {
        bail!("setup: {} has {available} left, and the database needs more than {}", above.display(), ask.size);
    }
    let was_there = folder.exists();
    storage::make_folder(folder).context("setup")?;
    let stop = interrupt::watch()?;
    let shown = with_slash(&ask.directory);
    terminal::print(&ranread::setup_begins(&shown, &ask.size_said));
    let manifest = Manifest { name: ask.name.clone(), bytes: ask.size.0, seed: ask.seed };
    let mut job = ranread::setup_job(&path, &manifest);
    job.direct = uring::disk::alignment_in(folder).is_some();
    let filled = fill(job, &stop);
    if let Err(error) = filled {
        // It is incomplete, and this program created it.
        let _ = fs::remove_file(&path);
        if !was_there {
            let _ = fs::remove_dir(folder);
        }
        return Err(error);
    }
    let (clock, began) = (Clock::new(), date::since_1970().as_secs());
    let start = clock.now();
    keep(folder, &manifest).with_context(|| format!("setup: {}", folder.display()))?;
    let elapsed = clock.now().since(start);
    let ended = date::since_1970().as_secs();
    let (directory, name, log_level) = (shown.as_str(), ask.name.as_str(), ask.log_level);
    terminal::print(&ranread::setup_ends(&Installation { directory, name, log_level, began, ended, elapsed }));
    let advice = ranread::setup_advice(ask.size, machine::look(None, "").memory, ask.array_cache);
    advice.iter().for_each(|line| terminal::complain(line));
    Ok(Answer::Yes)
}

fn fill(job: workload::job::JobSpec, stop: &interrupt::Stop) -> Result<()> {
    struct Quiet<'s>(&'s interrupt::Stop);
    impl Watch for Quiet<'_> {
        fn laying_out(&mut self, _path: &Path, _bytes: u64) {}
        fn progress(&mut self, _passed: Span, _jobs: &[JobProgress]) {}
        fn wants_stop(&mut self) -> bool {
            self.0.is_asked()
        }
    }
    let outcomes = engine::job::run(&[job], &RunSettings::default(), &mut Quiet(stop))?;
    if stop.is_asked() {
        bail!("setup: stopped before the database was whole; it is removed");
    }
    match outcomes.iter().find_map(|outcome| outcome.error.as_ref()) {
        Some(error) => bail!("setup: {}", error.text),
        None => Ok(()),
    }
}

/// Writes the manifest atomically.
fn keep(folder: &Path, manifest: &Manifest) -> std::io::Result<()> {
    let (path, beside) = (folder.join(MANIFEST_FILE), folder.join(format!("{MANIFEST_FILE}.new")));
    let mut file = fs::File::create(&beside)?;
    file.write_all(manifest.text().as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &path)?;
    fs::File::open(folder)?.sync_all()
}

/// The database of a directory.
///
/// # Errors
/// Setup made none there, or it has changed since.
pub fn find(directory: &str) -> Result<(Manifest, PathBuf)> {
    let folder = Path::new(directory);
    if !folder.is_dir() {
        bail!("{directory}: is no directory; setup makes one with a database");
    }
    let text = match fs::read_to_string(folder.join(MANIFEST_FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "{directory}: has no database of setup; make one with: seawall ranread setup {directory} NAME SIZE_GB"
            )
        }
        text => text.with_context(|| directory.to_owned())?,
    };
    let manifest = Manifest::read(&text).map_err(|error| anyhow!("{directory}/{MANIFEST_FILE}: {error}"))?;
    let path = folder.join(DATABASE_FILE);
    let size = aim(&path.display().to_string())?.size;
    if size.0 != manifest.bytes {
        let wanted = block::Bytes(manifest.bytes);
        bail!("{}: has {size} and setup made {wanted}; purge it and set it up again", path.display());
    }
    Ok((manifest, path))
}

/// Removes a database that setup made, and its directory if nothing else is in it.
pub fn purge(ask: &PurgeOptions) -> Result<Answer> {
    let (manifest, path) = find(&ask.directory)?;
    if let Some(name) = ask.name.as_ref().filter(|name| **name != manifest.name) {
        bail!("purge: {} has the database {} and not {name}; nothing was removed", ask.directory, manifest.name);
    }
    let consent = Consent::default();
    Permit::ask(&Place::Path(path.clone()), Intent::Remove(&consent)).map_err(|error| anyhow!("purge: {error}"))?;
    let folder = Path::new(&ask.directory);
    fs::remove_file(&path).with_context(|| format!("purge: {}", path.display()))?;
    fs::remove_file(folder.join(MANIFEST_FILE)).with_context(|| format!("purge: {}", folder.display()))?;
    // It stays if it has other files.
    let removed = fs::remove_dir(folder).is_ok();
    let what = if removed { "and its directory are" } else { "is" };
    terminal::line(&format!("Database {} in {} {what} removed.", manifest.name, with_slash(&ask.directory)));
    Ok(Answer::Yes)
}

/// A directory as the console prints it.
pub fn with_slash(directory: &str) -> String {
    format!("{}/", directory.trim_end_matches('/'))
}
