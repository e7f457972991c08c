//! What has to happen from time to time while a server runs, on a thread of its own: every second the gate is asked what
//! it did, so that statistics are at hand, and whether memory is short; and now and then the sizes of the data are looked at, for adaptive policies.
//! The data path never waits for any of it.

use crate::control::Control;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often housekeeping does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HousekeepingSettings {
    /// The gate is asked this often; it keeps what passed ceilings for 2.56 s.
    pub account: Duration,
    /// Sizes are looked at once in so many of those. With the registry's interval of four minutes, half a minute between
    /// looks keeps the promise of five.
    pub sizes: u32,
}

impl Default for HousekeepingSettings {
    fn default() -> HousekeepingSettings {
        HousekeepingSettings { account: Duration::from_secs(1), sizes: 30 }
    }
}

/// The thread. Dropping it ends it.
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
            while !is_stopped(&asked, settings.account) {
                round += 1;
                keep(&control, round % settings.sizes.max(1) == 0);
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

/// Waits; whether the end was asked for meanwhile.
fn is_stopped((stop, asked): &(Mutex<bool>, Condvar), wait: Duration) -> bool {
    let stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
    let (stop, _) = asked.wait_timeout_while(stop, wait, |stop| !*stop).unwrap_or_else(PoisonError::into_inner);
    *stop
}

fn keep(control: &Mutex<Control>, sizes: bool) {
    let mut control = control.lock().unwrap_or_else(PoisonError::into_inner);
    let looked = control.look_at_memory();
    if let Err(error) =
        looked.and(control.account().map(drop)).and_then(|()| if sizes { control.follow_sizes() } else { Ok(()) })
    {
        tracing::error!(%error, "housekeeping");
    }
}
