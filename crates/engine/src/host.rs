//! Statistics of the host during a run. A thread of its own reads the kernel's counters once a
//! second, so that the engine's threads neither read files nor hold locks for it.

use crate::devices::{self, Number};
use block::{Span, Time};
use stats::job::DiskUse;
use stats::kernel;
use stats::run::{CpuTimes, DeviceRow, DeviceSeries, HostRecord, HostRow, MemoryUse, Pressure};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use uring::Clock;

/// How often the counters are read.
const EVERY: Span = Span::SECOND;

/// A shorter interval at the end of a run is left out, since processor time is counted in steps of
/// 10 ms.
const REST: Span = Span::from_millis(100);

/// Collects the host's statistics until it is ended.
#[derive(Debug)]
pub struct HostWatch {
    seen: Arc<Mutex<HostRecord>>,
    /// A message marks the start of the run; dropping the sender ends the thread.
    begins: Sender<()>,
    thread: JoinHandle<()>,
}

impl HostWatch {
    /// Starts to watch this host and the devices under `paths`: files, folders or devices.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn start(paths: &[PathBuf]) -> io::Result<HostWatch> {
        let devices = devices::under(paths);
        let seen = Arc::new(Mutex::new(HostRecord::default()));
        let (begins, asked) = channel();
        let shared = Arc::clone(&seen);
        let work = move || Watcher::new(devices, shared).watch(&asked);
        let thread = std::thread::Builder::new().name("host".into()).spawn(work)?;
        Ok(HostWatch { seen, begins, thread })
    }

    /// Marks the start of the first point; everything before it is discarded.
    pub fn begins(&self) {
        // If the thread has ended there is nothing to discard.
        let _ = self.begins.send(());
    }

    /// The statistics so far, in whole seconds.
    pub fn so_far(&self) -> HostRecord {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the watch and returns all statistics.
    pub fn end(self) -> HostRecord {
        drop(self.begins);
        let _ = self.thread.join();
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The state of the watching thread.
struct Watcher {
    clock: Clock,
    counters: Counters,
    seen: Arc<Mutex<HostRecord>>,
    /// When the first point began.
    zero: Time,
    /// The last reading and its time.
    read: (Time, Seen),
}

impl Watcher {
    fn new(devices: Vec<Number>, seen: Arc<Mutex<HostRecord>>) -> Watcher {
        let (clock, mut counters) = (Clock::new(), Counters::open(devices));
        let (zero, first) = (clock.now(), counters.read());
        Watcher { clock, counters, seen, zero, read: (zero, first) }
    }

    fn watch(mut self, asked: &Receiver<()>) {
        let mut next = self.zero + EVERY;
        loop {
            let wait = next.since(self.clock.now());
            match asked.recv_timeout(Duration::from_nanos(wait.as_nanos())) {
                Ok(()) => {
                    self.zero = self.clock.now();
                    self.read = (self.zero, self.counters.read());
                    *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = HostRecord::default();
                    next = self.zero + EVERY;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.row();
                    while next <= self.clock.now() {
                        next += EVERY;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    if self.clock.now().since(self.read.0) >= REST {
                        self.row();
                    }
                    return;
                }
            }
        }
    }

    /// Adds a row with the difference to the last reading.
    fn row(&mut self) {
        let now = (self.clock.now(), self.counters.read());
        let (from, before) = std::mem::replace(&mut self.read, now);
        let (until, after) = &self.read;
        let (start, length) = (from.since(self.zero), until.since(from));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.rows.push(HostRow {
            start,
            length,
            cpu: after.cpu.zip(before.cpu).map(|(after, before)| after.since(&before)),
            pressure: after.pressure.since(&before.pressure),
            memory: after.memory,
        });
        for (number, disk) in &after.disks {
            let Some(before) = before.disks.get(number) else { continue };
            let row = DeviceRow::of(start, &disk.since(before, length));
            match seen.devices.iter_mut().find(|device| device.name == disk.name) {
                Some(device) => device.rows.push(row),
                None => seen.devices.push(DeviceSeries { name: disk.name.clone(), rows: vec![row] }),
            }
        }
    }
}

/// One reading of the counters.
#[derive(Default)]
struct Seen {
    cpu: Option<CpuTimes>,
    pressure: Pressure,
    memory: Option<MemoryUse>,
    disks: BTreeMap<Number, DiskUse>,
}

/// The kernel's open files; `None` for those that this kernel does not have.
struct Counters {
    devices: Vec<Number>,
    stat: Option<File>,
    memory: Option<File>,
    disks: Option<File>,
    /// Pressure stall information of processors, I/O and memory.
    pressure: [Option<File>; 3],
    text: String,
}

impl Counters {
    fn open(devices: Vec<Number>) -> Counters {
        let open = |path: &str| File::open(path).ok();
        Counters {
            stat: open("/proc/stat"),
            memory: open("/proc/meminfo"),
            disks: open("/proc/diskstats").filter(|_| !devices.is_empty()),
            pressure: ["cpu", "io", "memory"].map(|what| open(&format!("/proc/pressure/{what}"))),
            devices,
            text: String::new(),
        }
    }

    fn read(&mut self) -> Seen {
        let text = &mut self.text;
        let mut stall = |of: usize| kernel::stall(read(&mut self.pressure[of], text)?);
        let pressure = Pressure { cpu: stall(0), io: stall(1), memory: stall(2) };
        Seen {
            pressure,
            cpu: read(&mut self.stat, text).and_then(kernel::cpu_times),
            memory: read(&mut self.memory, text).and_then(kernel::memory),
            disks: devices::counted(read(&mut self.disks, text).unwrap_or_default(), &self.devices),
        }
    }
}

/// Reads a file of `/proc` anew from its start.
fn read<'t>(file: &mut Option<File>, text: &'t mut String) -> Option<&'t str> {
    let file = file.as_mut()?;
    text.clear();
    file.rewind().ok()?;
    file.read_to_string(text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between two readings of this host processors did something, and no reported counter went
    /// backwards.
    #[test]
    fn a_row_has_what_happened_since_the_last() {
        let seen = Arc::new(Mutex::new(HostRecord::default()));
        let mut watcher = Watcher::new(devices::under(&[std::env::temp_dir()]), Arc::clone(&seen));
        // At least one tick has to pass: processor time has a resolution of 10 ms.
        while watcher.clock.now().since(watcher.zero) < Span::from_millis(30) {
            std::hint::spin_loop();
        }
        watcher.row();
        watcher.row();
        let rows = seen.lock().unwrap().rows.clone();
        let [first, second] = &rows[..] else { panic!("{rows:?}") };
        assert!(first.start == Span::ZERO && first.length >= Span::from_millis(30), "{first:?}");
        assert_eq!(second.start, first.start + first.length);
        assert!(first.cpu.is_some_and(|cpu| cpu.total() > Span::ZERO), "{first:?}");
        assert!(first.memory.is_some_and(|memory| memory.available.0 > 0), "{first:?}");
    }

    /// What was seen before the first point is left out; the last interval is reported only if it
    /// is long enough.
    #[test]
    fn a_watch_counts_from_the_first_point_on() {
        let watch = HostWatch::start(&[]).unwrap();
        watch.begins();
        let seen = watch.end();
        assert!(seen.devices.is_empty() && seen.rows.iter().all(|row| row.length >= REST), "{seen:?}");
        assert!(seen.rows.first().is_none_or(|row| row.start == Span::ZERO), "{seen:?}");
    }
}
