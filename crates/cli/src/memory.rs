//! The place where runs are kept: this user's results database, or the one that an option names.
//!
//! The run has priority: if the database cannot be opened or written, one line reports it, the run
//! continues, and its exit code is not affected.

pub mod process;
mod writer;

use crate::{machine, state, terminal};
use anyhow::Context as _;
use block::Span;
use engine::{HostWatch, RunWatcher};
use results::Results;
use stats::run::{HostRecord, Identity, Run};
use stats::{DispatchTrace, Recording};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use writer::Writer;

/// The name of the file in the folder of this user's state.
const FILE: &str = "results.sqlite";

/// The name that keeps no run.
const NOWHERE: &str = "none";

/// The environment variable that names the file if no option does.
pub const VARIABLE: &str = "SEAWALL_RESULTS";

/// Where runs are kept, and their labels. The ids differ from those of all commands' own options,
/// which clap would confuse.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Memory {
    /// Keep runs in this results database; `none` keeps none. With fio, orion and ranread this
    /// option and --label come before the tool's own options [default: SEAWALL_RESULTS, else
    /// seawall/results.sqlite in XDG_STATE_HOME or ~/.local/state]
    #[arg(id = "results-file", long = "results", global = true, value_name = "FILE|none", display_order = 900)]
    results: Option<PathBuf>,
    /// Label the run, so that it can be found, as in storage=raid5; repeatable
    #[arg(id = "run-labels", long = "label", global = true, value_name = "KEY=WORD", value_parser = label, display_order = 901)]
    labels: Vec<(String, String)>,
    /// The devices below the storage that is loaded.
    #[arg(skip)]
    loaded: Vec<PathBuf>,
    /// Whether the host is watched even if nothing is kept.
    #[arg(skip)]
    is_watched: bool,
}

impl Memory {
    /// The database; `None` if nothing is to be kept or no place is known.
    pub fn file(&self) -> Option<PathBuf> {
        let named = self.results.clone().or_else(|| {
            let set = std::env::var_os(VARIABLE).filter(|set| !set.is_empty());
            set.map(PathBuf::from)
        });
        match named {
            Some(named) => Some(named).filter(|named| named.as_os_str() != NOWHERE),
            None => state::folder().map(|folder| folder.join(FILE)),
        }
    }

    /// Refuses labels, for a command that keeps no runs.
    ///
    /// # Errors
    /// A label was given.
    pub fn keeps_no_run(&self) -> anyhow::Result<()> {
        match self.labels.first() {
            Some((key, word)) => anyhow::bail!("--label {key}={word}: this command keeps no run; leave it out"),
            None => Ok(()),
        }
    }

    /// [`Memory::keeps_no_run`] for a command that does not read runs either.
    ///
    /// # Errors
    /// A label or a database was given.
    pub fn reads_no_run(&self) -> anyhow::Result<()> {
        if let Some(file) = &self.results {
            anyhow::bail!("--results {}: this command keeps and reads no run; leave it out", file.display());
        }
        self.keeps_no_run()
    }

    /// A copy for a run that names its own file.
    pub fn with_file(&self, file: Option<&str>) -> Memory {
        Memory { results: file.map(PathBuf::from).or_else(|| self.results.clone()), ..self.clone() }
    }

    /// A copy with more labels for each run.
    pub fn labelled(&self, more: Vec<(String, String)>) -> Memory {
        Memory { labels: self.labels.iter().cloned().chain(more).collect(), ..self.clone() }
    }

    /// A copy for runs that need the host's figures, whether they are kept or not.
    pub fn watched(self) -> Memory {
        Memory { is_watched: true, ..self }
    }

    /// A copy for runs that load these files, folders and devices: the host and the devices below
    /// them are watched.
    pub fn loading<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Memory {
        Memory { loaded: paths.into_iter().map(|path| device_under(path.as_ref())).collect(), ..self.clone() }
    }

    /// Puts the user's labels on a run; the last one with a key wins.
    pub fn mark(&self, run: &mut Run) {
        label_with(run, &self.labels);
    }

    /// Begins to keep a run: from now on it has a number, and it stays whatever ends it.
    pub fn begin(&self, mut run: Run) -> Kept {
        let mut kept = Kept { labels: self.labels.clone(), simulated: run.identity.simulated, ..Kept::default() };
        kept.mark_running(&mut run);
        kept.writer = self.file().and_then(|file| Writer::begin(file, &run));
        // In virtual time the host only computes. If the thread for it cannot be started, the
        // host's figures are unknown.
        if (kept.writer.is_some() || self.is_watched) && !kept.simulated {
            kept.watch = HostWatch::start(&self.loaded).ok();
        }
        kept
    }
}

/// The device of the file system of a path. The kernel reports it for most files; for file systems
/// over several devices it is in the list of mounts.
fn device_under(path: &Path) -> PathBuf {
    let under = machine::file_system(path).map(|(_, device)| PathBuf::from(device));
    under.filter(|device| device.starts_with("/dev") && device.exists()).unwrap_or_else(|| path.into())
}

fn database(file: &Path) -> anyhow::Result<Results> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        state::make(folder).with_context(|| format!("{}: make the folder", folder.display()))?;
    }
    Ok(Results::open(file)?)
}

/// Prints one line; the run continues.
fn complain(what: &str, error: &anyhow::Error) {
    let why = crate::error_line::of(error);
    let why = why.lines().next().unwrap_or_default();
    terminal::complain(&format!("{what}: {why} (--results names another file, or none)"));
}

/// A run in progress that is being kept, or by default not kept.
#[derive(Default)]
pub struct Kept {
    writer: Option<Writer>,
    labels: Vec<(String, String)>,
    /// Whether it is in virtual time, where it is over before anything could interrupt it.
    simulated: bool,
    /// The watch on the host, until its figures are requested.
    watch: Option<HostWatch>,
    host: HostRecord,
}

impl Kept {
    /// The first point begins now; the host's figures before it are dropped.
    pub fn begins(&self) {
        if let Some(watch) = &self.watch {
            watch.begins();
        }
    }

    /// The host's figures until now. Ends the watch.
    pub fn host(&mut self) -> &HostRecord {
        if let Some(watch) = self.watch.take() {
            self.host = watch.end();
        }
        &self.host
    }

    /// The host's figures so far, in whole seconds.
    pub fn host_so_far(&self) -> HostRecord {
        self.watch.as_ref().map_or_else(|| self.host.clone(), HostWatch::so_far)
    }

    /// Whether it is time to write the run so far: about once a second, and for long runs every
    /// fiftieth of their time.
    pub fn is_due(&self) -> bool {
        !self.simulated && self.writer.as_ref().is_some_and(Writer::is_due)
    }

    /// Writes the run so far on another thread, without waiting.
    pub fn so_far(&mut self, mut run: Run) {
        let Some(writer) = &self.writer else { return };
        self.mark_running(&mut run);
        run.host = self.host_so_far();
        writer.so_far(run);
    }

    /// Up to which time of the run its seconds are written, if it is kept. In virtual time, where
    /// the run can wait, all of them are written first.
    fn foldable(&mut self, run: &Run) -> Span {
        let Some(writer) = &self.writer else { return Span::from_nanos(u64::MAX) };
        if self.simulated {
            let mut run = run.clone();
            self.mark_running(&mut run);
            writer.wait_for(run);
        }
        writer.foldable()
    }

    /// Writes the run as it ended. Returns its file and number, where it is kept.
    pub fn end(mut self, mut run: Run) -> Option<(PathBuf, i64)> {
        run.host.clone_from(self.host());
        self.label(&mut run);
        self.writer.take().and_then(|writer| writer.end(run))
    }

    /// Removes the run, which was refused before it did anything.
    pub fn forget(mut self) {
        if let Some(writer) = self.writer.take() {
            writer.forget();
        }
    }

    fn mark_running(&self, run: &mut Run) {
        run.goes_on(process::own());
        self.label(run);
    }

    fn label(&self, run: &mut Run) {
        label_with(run, &self.labels);
    }
}

fn label_with(run: &mut Run, labels: &[(String, String)]) {
    for (key, word) in labels {
        run.labels.retain(|(known, _)| known != key);
        run.labels.push((key.clone(), word.clone()));
    }
    run.labels.sort();
}

/// A watcher that also keeps a plan's run as it progresses.
pub struct Keeping<'a, P> {
    /// The inner watcher.
    pub watch: P,
    /// The kept run.
    pub kept: &'a mut Kept,
}

impl<P: RunWatcher> RunWatcher for Keeping<'_, P> {
    fn second(&mut self, run: &Run, phase: usize, passed: Span, whole: Span) -> bool {
        let goes_on = self.watch.second(run, phase, passed, whole);
        if self.kept.is_due() {
            let mut run = run.clone();
            // Dispatches are written at the end: they are large, and no table needs them.
            run.objects.iter_mut().for_each(|object| object.trace = DispatchTrace::default());
            self.kept.so_far(run);
        }
        goes_on
    }

    fn foldable(&mut self, run: &Run) -> Span {
        self.kept.foldable(run)
    }
}

/// The recording of a run that is so long that its first minutes are kept in memory as minutes: all
/// of it by minutes, as `seawall report` draws it.
pub fn by_minutes(run: &mut Run) -> Option<Recording> {
    run.is_folded().then(|| {
        run.notes
            .push("a long run: told by minutes here, and by seconds in the results database where it is kept".into());
        let mut minutes = run.clone();
        minutes.fold(Span::from_nanos(u64::MAX));
        minutes.recording()
    })
}

/// The identity of a run of `tool` that begins now.
pub fn identity(tool: &str, title: String, started_unix_ms: u64) -> Identity {
    Identity {
        tool: tool.into(),
        title,
        command: command_of(std::env::args_os()),
        version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ms,
        ..Identity::default()
    }
}

/// A command quoted for a shell; invalid Unicode is replaced by a placeholder.
fn command_of(words: impl Iterator<Item = OsString>) -> String {
    words.map(|word| fio::quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// This machine, with the I/O back end `backend`.
pub fn this_machine(backend: &str) -> stats::Machine {
    machine::look(None, backend)
}

/// Parses a label.
pub fn label(given: &str) -> Result<(String, String), String> {
    let rule = "must be KEY=WORD, with a key of letters, digits, dots, dashes and underscores and a word that is not empty, \
                as in storage=raid5";
    let (key, word) = given.split_once('=').ok_or(rule)?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || word.is_empty() || !key.chars().all(good) {
        return Err(rule.into());
    }
    Ok((key.into(), word.into()))
}

/// Parses a label or a key alone.
pub fn named_label(given: &str) -> Result<(String, Option<String>), String> {
    let is_key = !given.contains('=');
    // A key alone has the rule of a key with any word.
    let whole = if is_key { format!("{given}=any") } else { given.to_owned() };
    let (key, word) = label(&whole).map_err(|rule| format!("{rule}, or a key"))?;
    Ok((key, (!is_key).then_some(word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::run::{Class, Coarse, Minute, Point, RunActor, Series, Slice};
    use std::os::unix::ffi::OsStringExt as _;

    #[test]
    fn a_command_is_kept_as_a_shell_repeats_it() {
        let kept = |words: &[&str]| command_of(words.iter().map(OsString::from));
        let plain = ["seawall", "--label", "storage=raid5", "fio", "a.fio"];
        assert_eq!(kept(&plain), "seawall --label storage=raid5 fio a.fio");
        let spaces = ["seawall", "--label", "storage=array 1", "fio", "--name=it's", "$HOME", ""];
        assert_eq!(kept(&spaces), r"seawall --label 'storage=array 1' fio '--name=it'\''s' '$HOME' ''");
        let odd = OsString::from_vec(b"\xff.fio".to_vec());
        assert_eq!(command_of([odd].into_iter()), "'\u{fffd}.fio'");
    }

    /// A plan's run in virtual time is written when its seconds are to be folded, up to the minute
    /// that may go on; without a database they need not be written.
    #[test]
    fn what_is_folded_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.db");
        let second = |second: u64| Slice {
            start: Span::from_secs(second),
            length: Span::SECOND,
            ops: 100 + second,
            ..Slice::default()
        };
        let minute = |minute: u64| Minute { start: Span::from_secs(60 * minute), response: Coarse::default() };
        let series = Series {
            actor: 0,
            class: Class::READ,
            slices: (0..150).map(second).collect(),
            minutes: (0..3).map(minute).collect(),
        };
        let mut run = Run { series: vec![series], ..Run::default() };
        run.points.push(Point { end: Span::from_secs(150), ..Point::default() });
        run.actors.push(RunActor::default());
        run.identity = Identity { simulated: true, ..identity("simulate", "long".into(), 0) };
        let memory = Memory { results: Some(file.clone()), ..Memory::default() };
        let mut kept = memory.begin(Run { series: Vec::new(), points: Vec::new(), ..run.clone() });
        assert_eq!(kept.foldable(&run), Span::from_secs(90));
        run.fold(Span::from_secs(90));
        assert_eq!(run.slices(), 91, "one minute is folded");
        let (_, number) = kept.end(run.clone()).unwrap();
        let stored = Results::open(&file).unwrap().load(number).unwrap();
        assert_eq!(stored.slices(), 150);
        assert_eq!(Kept::default().foldable(&run), Span::from_nanos(u64::MAX));
    }

    #[test]
    fn a_label_has_a_key_and_any_word() {
        assert_eq!(label("storage=Clariion FC"), Ok(("storage".into(), "Clariion FC".into())));
        assert_eq!(label("note=a=b"), Ok(("note".into(), "a=b".into())));
        for wrong in ["storage", "empty=", "=x", "a b=c", "<i>=x"] {
            assert!(label(wrong).unwrap_err().starts_with("must be KEY=WORD"), "{wrong}");
        }
        assert_eq!(named_label("storage"), Ok(("storage".into(), None)));
        for wrong in ["=x", "a b", "", "empty="] {
            assert!(named_label(wrong).unwrap_err().ends_with(", or a key"), "{wrong}");
        }
    }
}
