//! Where runs are kept: this user's results database, unless an option names another.
//!
//! A run comes first: where the database cannot be opened or written, one line says so, the run
//! goes on, and its exit code is what it would have been.

mod writer;

use crate::{machine, state, terminal};
use anyhow::Context as _;
use block::Span;
use engine::{HostWatch, RunWatcher};
use results::Results;
use stats::run::{HostRecord, Identity, Run, State};
use stats::{DispatchTrace, Recording};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use writer::Writer;

/// The file in the folder of this user's state.
const FILE: &str = "results.sqlite";

/// What keeps no run.
const NOWHERE: &str = "none";

/// The variable that names the file where no option does.
pub const VARIABLE: &str = "SEAWALL_RESULTS";

/// Where runs go, and what the user says of them. The ids are of no command's own options, which
/// clap would mix up.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Memory {
    /// Keep runs in this results database; `none` keeps none. With fio, orion and ranread it and
    /// --label stand before their own options [default: SEAWALL_RESULTS, else
    /// seawall/results.sqlite in XDG_STATE_HOME or ~/.local/state]
    #[arg(id = "results-file", long = "results", global = true, value_name = "FILE|none", display_order = 900)]
    results: Option<PathBuf>,
    /// Say something of the run that it can be found by, as in storage=raid5; repeatable
    #[arg(id = "run-labels", long = "label", global = true, value_name = "KEY=WORD", value_parser = label, display_order = 901)]
    labels: Vec<(String, String)>,
    /// What is loaded, for the devices under it.
    #[arg(skip)]
    loaded: Vec<PathBuf>,
    /// The host is watched even where nothing is kept.
    #[arg(skip)]
    is_watched: bool,
}

impl Memory {
    /// The database; `None` where nothing is to be kept, or nobody says where.
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

    /// Refuses what is said of runs where none is kept.
    ///
    /// # Errors
    /// A label was given.
    pub fn keeps_no_run(&self) -> anyhow::Result<()> {
        match self.labels.first() {
            Some((key, word)) => anyhow::bail!("--label {key}={word}: this command keeps no run; leave it out"),
            None => Ok(()),
        }
    }

    /// The same to a command that does not read any either.
    ///
    /// # Errors
    /// A label or a database was given.
    pub fn reads_no_run(&self) -> anyhow::Result<()> {
        if let Some(file) = &self.results {
            anyhow::bail!("--results {}: this command keeps and reads no run; leave it out", file.display());
        }
        self.keeps_no_run()
    }

    /// The same, for one run that names its file itself.
    pub fn with_file(&self, file: Option<&str>) -> Memory {
        Memory { results: file.map(PathBuf::from).or_else(|| self.results.clone()), ..self.clone() }
    }

    /// The same, with more labels for each run.
    pub fn labelled(&self, more: Vec<(String, String)>) -> Memory {
        Memory { labels: self.labels.iter().cloned().chain(more).collect(), ..self.clone() }
    }

    /// The same, for runs that need the host's figures themselves, kept or not.
    pub fn watched(self) -> Memory {
        Memory { is_watched: true, ..self }
    }

    /// The same, for runs that load these files, folders and devices: their host is watched, and
    /// the devices under them.
    pub fn loading<P: AsRef<Path>>(&self, paths: impl IntoIterator<Item = P>) -> Memory {
        Memory { loaded: paths.into_iter().map(|path| device_under(path.as_ref())).collect(), ..self.clone() }
    }

    /// Puts what the user says of runs on this one; the last word for a key is the one that holds.
    pub fn mark(&self, run: &mut Run) {
        label_with(run, &self.labels);
    }

    /// Keeps a run that begins: from now on it has a number, and is there whatever ends it.
    pub fn begin(&self, mut run: Run) -> Kept {
        let mut kept = Kept { labels: self.labels.clone(), simulated: run.identity.simulated, ..Kept::default() };
        run.identity.state = State::Running;
        kept.label(&mut run);
        kept.writer = self.file().and_then(|file| Writer::begin(file, &run));
        // In virtual time the host does nothing but reckon. Without a thread to spare its figures
        // are not known.
        if (kept.writer.is_some() || self.is_watched) && !kept.simulated {
            kept.watch = HostWatch::start(&self.loaded).ok();
        }
        kept
    }
}

/// The device of the file system under a path. The kernel says it of most files itself; of those on
/// file systems over several devices the list of mounts does.
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

/// One line; the run goes on.
fn complain(what: &str, error: &anyhow::Error) {
    let why = crate::complaint::of(error);
    let why = why.lines().next().unwrap_or_default();
    terminal::complain(&format!("{what}: {why} (--results names another file, or none)"));
}

/// A run under way, as far as it is kept; by default it is not.
#[derive(Default)]
pub struct Kept {
    writer: Option<Writer>,
    labels: Vec<(String, String)>,
    /// In virtual time: it is over before anything could end it.
    simulated: bool,
    /// Who watches the host, until its figures are asked for.
    watch: Option<HostWatch>,
    host: HostRecord,
}

impl Kept {
    /// The first point begins now: of the host nothing before it is kept.
    pub fn begins(&self) {
        if let Some(watch) = &self.watch {
            watch.begins();
        }
    }

    /// What the host did until now. It is not watched any longer.
    pub fn host(&mut self) -> &HostRecord {
        if let Some(watch) = self.watch.take() {
            self.host = watch.end();
        }
        &self.host
    }

    /// What the host did so far, by whole seconds.
    pub fn host_so_far(&self) -> HostRecord {
        self.watch.as_ref().map_or_else(|| self.host.clone(), HostWatch::so_far)
    }

    /// Whether it is time to write what there is of the run so far: about once a second, of long
    /// runs once in a fiftieth of them.
    pub fn is_due(&self) -> bool {
        !self.simulated && self.writer.as_ref().is_some_and(Writer::is_due)
    }

    /// Writes what there is of the run so far, from another thread: nobody waits for it.
    pub fn so_far(&mut self, mut run: Run) {
        let Some(writer) = &self.writer else { return };
        run.identity.state = State::Running;
        self.label(&mut run);
        run.host = self.host_so_far();
        writer.so_far(run);
    }

    /// Up to which time of the run its seconds are written, if it is kept. In virtual time, where
    /// the run can wait, all of them are written first.
    fn foldable(&mut self, run: &Run) -> Span {
        let Some(writer) = &self.writer else { return Span::from_nanos(u64::MAX) };
        if self.simulated {
            let mut run = run.clone();
            run.identity.state = State::Running;
            self.label(&mut run);
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

    /// Keeps nothing of it: it was refused before it did anything.
    pub fn forget(mut self) {
        if let Some(writer) = self.writer.take() {
            writer.forget();
        }
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

/// Keeps a plan's run as it goes, behind the watcher.
pub struct Keeping<'a, P> {
    /// Who watches.
    pub watch: P,
    /// Where it is kept.
    pub kept: &'a mut Kept,
}

impl<P: RunWatcher> RunWatcher for Keeping<'_, P> {
    fn second(&mut self, run: &Run, phase: usize, passed: Span, whole: Span) -> bool {
        let goes_on = self.watch.second(run, phase, passed, whole);
        if self.kept.is_due() {
            let mut run = run.clone();
            // The dispatches are written at the end: they are long, and no table is made of them.
            run.objects.iter_mut().for_each(|object| object.trace = DispatchTrace::default());
            self.kept.so_far(run);
        }
        goes_on
    }

    fn foldable(&mut self, run: &Run) -> Span {
        self.kept.foldable(run)
    }
}

/// The recording of a run that is so long that its first minutes are in memory as such: of all its
/// minutes, as `seawall report` draws it.
pub fn by_minutes(run: &mut Run) -> Option<Recording> {
    run.is_folded().then(|| {
        run.notes
            .push("a long run: told by minutes here, and by seconds in the results database where it is kept".into());
        let mut minutes = run.clone();
        minutes.fold(Span::from_nanos(u64::MAX));
        minutes.recording()
    })
}

/// Where a run of `tool` that begins now comes from.
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

/// A command so that a shell repeats it; what is no Unicode is shown as a sign in its place.
fn command_of(words: impl Iterator<Item = OsString>) -> String {
    words.map(|word| fio::quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// This machine, on which I/O runs by `backend`.
pub fn this_machine(backend: &str) -> stats::Machine {
    machine::look(None, backend)
}

/// A label as it is typed.
pub fn label(given: &str) -> Result<(String, String), String> {
    let rule = "must be KEY=WORD with a key of letters, digits, dots, dashes and underscores, as in storage=raid5";
    let (key, word) = given.split_once('=').ok_or(rule)?;
    let good = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if key.is_empty() || !key.chars().all(good) {
        return Err(rule.into());
    }
    Ok((key.into(), word.into()))
}

/// A label as it is named: its key, and its word where one is typed.
pub fn named_label(given: &str) -> Result<(String, Option<String>), String> {
    let as_typed = if given.contains('=') { given.to_owned() } else { format!("{given}=") };
    let (key, word) = label(&as_typed).map_err(|rule| format!("{rule}, or a key"))?;
    Ok((key, given.contains('=').then_some(word)))
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
        assert_eq!(label("empty="), Ok(("empty".into(), String::new())));
        for wrong in ["storage", "=x", "a b=c", "<i>=x"] {
            assert!(label(wrong).unwrap_err().starts_with("must be KEY=WORD"), "{wrong}");
        }
        assert_eq!(named_label("storage"), Ok(("storage".into(), None)));
        assert_eq!(named_label("empty="), Ok(("empty".into(), Some(String::new()))));
        for wrong in ["=x", "a b", ""] {
            assert!(named_label(wrong).unwrap_err().ends_with(", or a key"), "{wrong}");
        }
    }
}
