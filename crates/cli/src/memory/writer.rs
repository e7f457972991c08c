//! Writes a run in progress to the results database on a separate thread, so that the run never
//! waits for a lock or a disk.
//!
//! ```text
//!   run ── so far ──▶ one place ──▶ thread ──▶ database
//!          (the next one has all of it: what finds the place taken is left out)
//! ```

use super::{complain, database};
use crate::terminal;
use block::{Span, Time};
use results::Results;
use stats::run::Run;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use uring::Clock;

/// Minimum interval between writes of a run.
const EVERY: Span = Span::SECOND;

/// At most this fraction of a long run may be lost; what is read for each write grows with the run.
const LOST_PART: u64 = 50;

/// What the database stores together.
const MINUTE: Span = Span::from_secs(60);

/// Writing takes this part of the time of one processor at most.
const BUSY_PART: u64 = 100;

/// Writes one run until it is over. If it is dropped, the run stays as it was last written.
pub struct Writer {
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<Option<(PathBuf, i64)>>>,
    pace: Arc<Pace>,
}

enum Order {
    /// What there is so far; whoever waits has the other end of the channel, which is closed when
    /// it has been tried.
    SoFar(Box<Run>, Option<SyncSender<()>>),
    End(Box<Run>),
    Forget,
}

impl Writer {
    /// Begins to keep `run` in `file`. Returns `None`, after reporting why, if it cannot be kept.
    pub fn begin(file: PathBuf, run: &Run) -> Option<Writer> {
        let mut file = Database { file, open: None, opened: None, number: None, said: false };
        file.write(run, "the run goes on, but is not kept")?;
        let pace = Arc::new(Pace::default());
        let (orders, asked) = sync_channel(1);
        let shared = Arc::clone(&pace);
        let thread = std::thread::Builder::new().name("results".into()).spawn(move || file.serve(&asked, &shared));
        match thread {
            Ok(thread) => Some(Writer { orders: Some(orders), thread: Some(thread), pace }),
            Err(error) => {
                complain("the run goes on, but is not kept", &error.into());
                None
            }
        }
    }

    /// Whether it is time to write the run so far.
    pub fn is_due(&self) -> bool {
        self.pace.clock.now().as_nanos() >= self.pace.next.load(Relaxed)
    }

    /// Writes the run so far, soon; does nothing while an earlier write waits for the database.
    pub fn so_far(&self, run: Run) {
        self.pace.next.store(u64::MAX, Relaxed);
        // Without the thread nothing is kept any longer; it has reported why.
        let _ = self.orders.as_ref().map(|orders| orders.try_send(Order::SoFar(Box::new(run), None)));
    }

    /// Writes what there is so far, and waits for it.
    pub fn wait_for(&self, run: Run) {
        let (tried, wait) = sync_channel(1);
        // Without the thread nothing is kept any longer, and it said why.
        let _ = self.orders.as_ref().map(|orders| orders.send(Order::SoFar(Box::new(run), Some(tried))));
        let _ = wait.recv();
    }

    /// Up to which time of the run its whole minutes are in the database, and the database has no
    /// more need of their seconds.
    pub fn foldable(&self) -> Span {
        // The minute that was written last is written again.
        Span::from_nanos(self.pace.written.load(Relaxed)).saturating_sub(MINUTE)
    }

    /// Writes the run as it ended. Returns its file and number, where it is kept.
    pub fn end(mut self, run: Run) -> Option<(PathBuf, i64)> {
        self.close(Some(Order::End(Box::new(run))))
    }

    /// Removes the run.
    pub fn forget(mut self) {
        self.close(Some(Order::Forget));
    }

    fn close(&mut self, last: Option<Order>) -> Option<(PathBuf, i64)> {
        if let (Some(orders), Some(last)) = (self.orders.take(), last) {
            let _ = orders.send(last);
        }
        self.thread.take().and_then(|thread| thread.join().ok().flatten())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close(None);
    }
}

/// The time of the next write.
struct Pace {
    clock: Clock,
    began: Time,
    /// Nanoseconds on the clock; the maximum while a write is in progress.
    next: AtomicU64,
    /// Up to which time of the run it is written, in nanoseconds; the last there are once nothing
    /// is kept any longer.
    written: AtomicU64,
}

impl Default for Pace {
    fn default() -> Pace {
        let clock = Clock::new();
        let began = clock.now();
        Pace { clock, began, next: AtomicU64::new((began + EVERY).as_nanos()), written: AtomicU64::new(0) }
    }
}

impl Pace {
    /// A write took from `from` until now.
    fn wrote(&self, from: Time) {
        let now = self.clock.now();
        let rest = EVERY.max(now.since(from) * BUSY_PART).max(now.since(self.began) / LOST_PART);
        self.next.store((now + rest).as_nanos(), Relaxed);
    }
}

/// The state of the thread.
struct Database {
    file: PathBuf,
    open: Option<Results>,
    /// The device and inode of the file that was opened.
    opened: Option<(u64, u64)>,
    /// The number of the run, once it has one.
    number: Option<i64>,
    /// Whether a failed write was reported to the user.
    said: bool,
}

impl Database {
    fn serve(mut self, asked: &Receiver<Order>, pace: &Pace) -> Option<(PathBuf, i64)> {
        for order in asked {
            match order {
                Order::SoFar(run, _tried) => self.write_so_far(&run, pace)?,
                Order::End(run) => {
                    self.said = false;
                    let is_written = self.write(&run, "not all of the run is kept")?;
                    if is_written && self.is_removed() {
                        let file = self.file.display();
                        terminal::complain(&format!("the run is not kept: {file} was removed or replaced meanwhile"));
                        return None;
                    }
                    return self.number.filter(|_| !self.said).map(|number| (self.file, number));
                }
                Order::Forget => {
                    // If this fails, a run without measurements remains.
                    let _ = self.open.as_mut().zip(self.number).map(|(open, number)| open.delete(number));
                    return None;
                }
            }
        }
        None
    }

    fn write_so_far(&mut self, run: &Run, pace: &Pace) -> Option<()> {
        let from = pace.clock.now();
        let is_written = self.write(run, "the run goes on, but is not kept");
        let until = match is_written {
            Some(true) => run.points.last().map(|point| point.end.as_nanos()),
            Some(false) => None,
            None => Some(u64::MAX),
        };
        if let Some(until) = until {
            pace.written.store(until, Relaxed);
        }
        pace.wrote(from);
        is_written.map(drop)
    }

    /// Writes the run; returns whether it could. What does not last, as a lock or a full disk, is
    /// said once and tried again the next time; `None` means that there is no next time.
    fn write(&mut self, run: &Run, what: &str) -> Option<bool> {
        let Err(error) = self.try_write(run) else { return Some(true) };
        let may_pass = error.downcast_ref().is_some_and(results::Error::may_pass);
        if !self.said {
            let until_then = if may_pass { " for now" } else { "" };
            complain(&format!("{what}{until_then}"), &error);
            self.said = true;
        }
        may_pass.then_some(false)
    }

    /// Whether the name of the file is another's now, or nobody's: what is written then is lost.
    fn is_removed(&self) -> bool {
        self.opened.is_some() && identity(&self.file) != self.opened
    }

    fn try_write(&mut self, run: &Run) -> anyhow::Result<()> {
        let open = match &mut self.open {
            Some(open) => open,
            closed => {
                let open = closed.insert(database(&self.file)?);
                self.opened = identity(&self.file);
                open
            }
        };
        match self.number {
            Some(number) => open.replace(number, run)?,
            None => self.number = Some(open.save(run)?),
        }
        Ok(())
    }
}

/// The device and inode of a file.
fn identity(file: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(file).ok().map(|about| (about.dev(), about.ino()))
}
