//! The server's log of events: in memory, and in a file in the pool's folder so that it survives a
//! restart.
//!
//! ```text
//!   data thread ─ Notices ─ account ─┐
//!   housekeeping: floors, space, …  ─┼─► Events::note ─► admin::EventLog ─► events.jsonl, a line an event
//!   REST: log-ins                   ─┘
//! ```
//! The file is appended to. It is rewritten with the events that are kept when it has twice as many
//! lines, or when a write has failed before; a failed write is retried with the next event. The
//! end of the log writes the repeat counts of the last minute; a server that is killed loses them.
//! Events are for reading only: a file that cannot be written stops nothing, and readers of the log
//! do not wait for it.

use admin::{EVENTS_MAX, Event, EventLog, Noticed};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file's name in the pool's folder.
pub const EVENTS_FILE: &str = "events.jsonl";
/// Most bytes that are read of the file, which others may have written: several times what we
/// write.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The log, for all threads that report events. The data thread does not use it, but is asked.
#[derive(Debug, Default)]
pub struct Events {
    /// Whoever needs both locks takes this one first, so that lines are in the log's order.
    file: Mutex<Option<EventsFile>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    log: EventLog,
    /// The present date, in seconds since 1970.
    date: Option<fn() -> u64>,
}

impl Events {
    /// Sets the source of dates (seconds since 1970). Without it, events are dated 1970.
    pub(crate) fn date_by(&self, date: fn() -> u64) {
        lock(&self.state).date = Some(date);
    }

    /// Adds an event that was noticed just now.
    pub fn note(&self, noticed: Noticed) {
        self.keep(|log, date| log.note(noticed, date));
    }

    /// Writes the counts of events that were repeated within a minute, once it is over; to be
    /// called regularly.
    pub fn settle(&self) {
        self.keep(|log, date| log.settle(date));
    }

    /// Updates the log and writes the resulting events to the file.
    fn keep(&self, take_in: impl FnOnce(&mut EventLog, u64) -> Vec<Arc<Event>>) {
        let mut file = lock(&self.file);
        let (events, all) = {
            let mut state = lock(&self.state);
            let date = state.date();
            let events = take_in(&mut state.log, date);
            let is_due = file.as_ref().is_some_and(|file| file.is_due(events.len()));
            (events, if is_due { state.log.events().cloned().collect() } else { Vec::new() })
        };
        if let Some(file) = file.as_mut().filter(|_| !events.is_empty()) {
            file.keep(&events, &all);
        }
    }

    /// The events, by number.
    pub fn list(&self) -> Vec<Arc<Event>> {
        lock(&self.state).log.events().cloned().collect()
    }

    /// Reads the events of a file, and writes events to it from now on.
    ///
    /// # Errors
    /// It cannot be read or written; then events are kept in memory only.
    pub fn keep_in(&self, path: &Path) -> std::io::Result<()> {
        let (opened, kept) = EventsFile::open(path)?;
        let mut file = lock(&self.file);
        lock(&self.state).log = EventLog::of(kept);
        *file = Some(opened);
        Ok(())
    }
}

impl Drop for Events {
    /// Writes the counts of the last minute.
    fn drop(&mut self) {
        self.keep(EventLog::close);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn date(&self) -> u64 {
        self.date.map_or(0, |date| date())
    }
}

#[derive(Debug)]
struct EventsFile {
    path: PathBuf,
    file: File,
    lines: usize,
    /// Events are missing in it, because it could not be written.
    is_behind: bool,
}

impl EventsFile {
    fn open(path: &Path) -> std::io::Result<(EventsFile, Vec<Event>)> {
        let mut text = String::new();
        if path.exists() {
            use std::io::Read as _;
            let mut bytes = Vec::new();
            File::open(path)?.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
            text = String::from_utf8_lossy(&bytes).into_owned();
        }
        // The last line may be incomplete, if a server was killed while writing it.
        let kept: Vec<Event> = text.lines().filter_map(|line| read(&serde_json::from_str(line).ok()?)).collect();
        let mut file = appended(path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n")?;
        }
        let lines = text.lines().count();
        Ok((EventsFile { path: path.into(), file, lines, is_behind: false }, kept))
    }

    /// Whether to rewrite it, with that many events more.
    fn is_due(&self, events: usize) -> bool {
        self.is_behind || self.lines + events > 2 * EVENTS_MAX
    }

    /// Appends the new events, or rewrites the file with all of them if that is due.
    fn keep(&mut self, events: &[Arc<Event>], all: &[Arc<Event>]) {
        let written = if self.is_due(events.len()) { self.write_anew(all) } else { self.append(events) };
        match &written {
            Ok(()) if self.is_behind => tracing::info!("{EVENTS_FILE}: events are written down again"),
            Err(error) if !self.is_behind => {
                tracing::error!(%error, "{EVENTS_FILE}: events are kept in memory only, until one can be written");
            }
            _ => {}
        }
        self.is_behind = written.is_err();
    }

    fn append(&mut self, events: &[Arc<Event>]) -> std::io::Result<()> {
        self.lines += events.len();
        self.file.write_all(events.iter().map(|event| line(event)).collect::<String>().as_bytes())
    }

    fn write_anew(&mut self, all: &[Arc<Event>]) -> std::io::Result<()> {
        let new = self.path.with_extension("new");
        let _ = std::fs::remove_file(&new);
        let mut file = appended(&new)?;
        file.write_all(all.iter().map(|event| line(event)).collect::<String>().as_bytes())?;
        std::fs::rename(&new, &self.path)?;
        (self.file, self.lines) = (file, all.len());
        Ok(())
    }
}

/// For its owner only, because it names clients and paths.
fn appended(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

fn line(event: &Event) -> String {
    let Event { number, time, severity, name, text, count } = event;
    let severity = severity.word();
    let line =
        json!({ "number": number, "time": time, "severity": severity, "name": name, "text": text, "count": count });
    format!("{line}\n")
}

fn read(line: &Value) -> Option<Event> {
    Some(Event {
        number: line["number"].as_u64()?,
        time: line["time"].as_u64()?,
        severity: line["severity"].as_str()?.parse().ok()?,
        name: line["name"].as_str()?.to_owned(),
        text: line["text"].as_str()?.to_owned(),
        count: line["count"].as_u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use admin::EventKind;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A minute later each time.
    fn date() -> u64 {
        static SECONDS: AtomicU64 = AtomicU64::new(0);
        SECONDS.fetch_add(60, Ordering::Relaxed)
    }

    fn note(events: &Events, number: u64) {
        events.note(Noticed::once(EventKind::ExportRefused, number.to_string(), format!("event {number}")));
        events.settle();
    }

    /// A file that cannot be written is rewritten with everything that it lacks, at the first event
    /// for which that works.
    #[test]
    fn a_file_that_fails_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pool").join(EVENTS_FILE);
        std::fs::create_dir(dir.path().join("pool")).unwrap();
        let events = Events::default();
        events.keep_in(&path).unwrap();
        note(&events, 1);
        // What is open is gone, and there is no folder for another one.
        lock(&events.file).as_mut().unwrap().file = File::open(&path).unwrap();
        std::fs::remove_dir_all(dir.path().join("pool")).unwrap();
        (2..4).for_each(|number| note(&events, number));
        assert_eq!(events.list().len(), 3);
        std::fs::create_dir(dir.path().join("pool")).unwrap();
        note(&events, 4);
        let again = Events::default();
        again.keep_in(&path).unwrap();
        assert_eq!(again.list().iter().map(|event| event.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        note(&events, 5);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 5, "appended again");
    }

    /// An event that recurred within its minute is in the file with its count after the log's end.
    #[test]
    fn the_end_of_the_log_writes_the_last_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS_FILE);
        let events = Events::default();
        events.keep_in(&path).unwrap();
        (0..3).for_each(|_| events.note(Noticed::once(EventKind::ExportRefused, "a", "refused")));
        assert_eq!(events.list().len(), 1);
        drop(events);
        let again = Events::default();
        again.keep_in(&path).unwrap();
        assert_eq!(again.list().iter().map(|event| event.count).collect::<Vec<_>>(), [1, 2]);
    }

    /// A second log finds what the first one kept, also after a torn line, and the file stays
    /// bounded.
    #[test]
    fn events_survive_a_restart_and_the_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(EVENTS_FILE);
        let events = Events::default();
        // Subjects of one minute are bounded as well.
        events.date_by(date);
        events.keep_in(&path).unwrap();
        let many = 3 * EVENTS_MAX as u64;
        (1..=many).for_each(|number| note(&events, number));
        drop(events);
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!((EVENTS_MAX..=2 * EVENTS_MAX).contains(&lines), "{lines}");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"number\":7").unwrap();
        let again = Events::default();
        again.keep_in(&path).unwrap();
        note(&again, many + 1);
        let numbers: Vec<u64> = again.list().iter().map(|event| event.number).collect();
        assert_eq!((numbers.len(), numbers.last().copied()), (EVENTS_MAX, Some(many + 1)));
        let third = Events::default();
        third.keep_in(&path).unwrap();
        assert_eq!(third.list().last().unwrap().text, format!("event {}", many + 1));
    }
}
