//! Artificial load: threads that use the processors as compilers do, in bursts with short pauses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Threads per processor.
const PER_PROCESSOR: usize = 2;

/// The running threads, which are stopped when this is dropped.
pub struct Beside {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Beside {
    /// Starts them.
    pub fn start() -> Beside {
        let over = Arc::new(AtomicBool::new(false));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..PER_PROCESSOR * processors).map(|number| {
            let over = over.clone();
            std::thread::spawn(move || work(&over, number as u64 + 1))
        });
        Beside { threads: threads.collect(), over }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.threads.len()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only computes does not panic, and nothing would be lost.
            drop(thread.join());
        }
    }
}

/// Computes for 50 to 250 ms, pauses for up to 50 ms, and so on, with the same sequence every time
/// (xorshift).
#[allow(clippy::disallowed_methods, reason = "a load of the processor is made of work and pauses by the clock")]
fn work(over: &AtomicBool, mut chance: u64) {
    while !over.load(Ordering::Relaxed) {
        let begin = Instant::now();
        let length = Duration::from_millis(50 + chance % 200);
        while begin.elapsed() < length && !over.load(Ordering::Relaxed) {
            for _ in 0..10_000 {
                chance ^= chance << 13;
                chance ^= chance >> 7;
                chance ^= chance << 17;
            }
        }
        std::thread::sleep(Duration::from_millis(chance % 50));
    }
}
