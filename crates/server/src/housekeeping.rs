//! Periodic work of a running server, on a thread of its own. Every second it collects the gate's
//! accounts for statistics and checks whether memory is short. From time to time it measures sizes,
//! for adaptive policies. Once a minute, at the end of each hour, and when the server stops it adds
//! the hourly totals to the pool's file. The data path never waits for any of it.

use crate::control::Control;
use admin::{EventKind, Noticed};
use history::hour_of;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{HourRow, HourlyTotals, StoreError};

/// Intervals of housekeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HousekeepingSettings {
    /// Interval between accounts. The gate keeps the dispatches of ceilings for 2.56 s.
    pub account: Duration,
    /// Sizes are measured once in this many accounts. With the registry's interval of four minutes,
    /// half a minute between measurements keeps the promise of five.
    pub sizes: u32,
    /// Hourly totals are written once in this many accounts; 0 for never. A server that is killed
    /// loses what came since.
    pub totals: u32,
}

impl Default for HousekeepingSettings {
    fn default() -> HousekeepingSettings {
        HousekeepingSettings { account: Duration::from_secs(1), sizes: 30, totals: 60 }
    }
}

/// The pool's space is measured once in this many rounds.
const SPACE_ROUNDS: u32 = 10;

/// The housekeeping thread. Dropping it stops it.
pub struct Housekeeping {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeping {
    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(control: Arc<Mutex<Control>>, settings: HousekeepingSettings) -> std::io::Result<Housekeeping> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let asked = Arc::clone(&stop);
        let body = move || {
            let mut round = 0;
            let mut totals = (settings.totals > 0).then(|| Totals::begin(&control));
            while !is_stopped(&asked, settings.account) {
                round += 1;
                keep(&control, round % settings.sizes.max(1) == 0);
                if round % SPACE_ROUNDS == 0 {
                    lock(&control).look_at_space();
                }
                if let Some(totals) = &mut totals {
                    totals.keep(&control, round % settings.totals == 0);
                }
            }
            if let Some(totals) = &mut totals {
                if let Err(error) = lock(&control).close_statistics() {
                    tracing::error!(%error, "the last second of statistics");
                }
                totals.keep(&control, true);
            }
        };
        let thread = std::thread::Builder::new().name("housekeeping".into()).spawn(body)?;
        Ok(Housekeeping { stop, thread: Some(thread) })
    }
}

impl Drop for Housekeeping {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits; returns whether the thread was asked to stop.
fn is_stopped((stop, asked): &(Mutex<bool>, Condvar), wait: Duration) -> bool {
    let stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
    let (stop, _) = asked.wait_timeout_while(stop, wait, |stop| !*stop).unwrap_or_else(PoisonError::into_inner);
    *stop
}

fn keep(control: &Mutex<Control>, sizes: bool) {
    let mut control = lock(control);
    let looked = control.look_at_memory();
    if let Err(error) = control.follow_files() {
        tracing::error!(%error, "what became of files that have policies");
    }
    if let Err(error) =
        looked.and(control.account().map(drop)).and_then(|()| if sizes { control.follow_sizes() } else { Ok(()) })
    {
        tracing::error!(%error, "housekeeping");
    }
}

fn lock(control: &Mutex<Control>) -> MutexGuard<'_, Control> {
    control.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool's file of hourly totals, and the hour of the last addition.
struct Totals {
    file: Option<HourlyTotals>,
    hour: u64,
}

impl Totals {
    /// Starts the collection of totals.
    fn begin(control: &Mutex<Control>) -> Totals {
        let mut totals = Totals { file: None, hour: 0 };
        totals.keep(control, true);
        totals
    }

    /// Adds the totals to the file, if it is time or an hour has ended. Commands wait only while
    /// the totals are collected, not while they are written.
    fn keep(&mut self, control: &Mutex<Control>, is_time: bool) {
        let mut locked = lock(control);
        let hour = hour_of(locked.date());
        if !is_time && hour == self.hour {
            return;
        }
        let rows = match locked.take_totals() {
            Ok(rows) => rows,
            Err(error) => return tracing::error!(%error, "hourly totals"),
        };
        let folder = locked.folder().to_owned();
        drop(locked);
        if let Err(error) = self.add(&folder, &rows, hour) {
            tracing::error!(%error, rows = rows.len(), "hourly totals are not kept; they are tried again");
            let mut control = lock(control);
            control.monitor().totals_failed();
            control.events().note(Noticed::once(EventKind::TotalsFailed, "", error.to_string()));
            control.take_back_totals(rows);
            // The file may have been moved away.
            self.file = None;
        }
        self.hour = hour;
    }

    fn add(&mut self, folder: &Path, rows: &[HourRow], hour: u64) -> Result<(), StoreError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(HourlyTotals::open(folder)?),
        };
        file.add(rows)?;
        // Rows that are too old may stay for another hour.
        if hour != self.hour
            && let Err(error) = file.forget(hour)
        {
            tracing::warn!(%error, "hourly totals that are too old stay");
        }
        Ok(())
    }
}
