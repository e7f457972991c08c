//! The engine without io_uring: threads for what blocks on a disk, and `poll(2)` in the worker for
//! sockets.
//!
//! ```text
//!   start ─┬─ disk ──► queue ─► threads: pread, pwrite, fdatasync, fallocate ─► done ─► reap
//!          └─ socket ► try without blocking; what would block waits in ppoll ─► ended ─┘
//! ```
//! The worker sleeps in one `ppoll` on its sockets and on the waker's eventfd. A thread that has
//! finished an operation writes to the eventfd.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{Builder, JoinHandle};

use crate::blocking;
use crate::operation::{Key, Operation, Outcome, Wait};
use crate::{Clock, IoError, Waker};

pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Disk operations prepared since the last enter.
    fresh: Vec<Task>,
    /// Socket operations that wait, oldest first.
    waiting: Vec<Waiting>,
    /// Operations that ended in the worker.
    ended: Vec<Outcome>,
    /// A scratch list, kept to save allocations.
    polls: Vec<libc::pollfd>,
    clock: Clock,
    waker: Waker,
}

struct Waiting {
    key: Key,
    operation: Operation,
    /// Not tried yet.
    fresh: bool,
}

/// State shared by the worker and its threads.
struct Shared {
    state: Mutex<SharedState>,
    work: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct SharedState {
    tasks: VecDeque<Task>,
    done: Vec<Outcome>,
    stop: bool,
}

struct Task {
    key: Key,
    operation: Operation,
}

// SAFETY: the pointers in an operation are to memory that, by the promise of `Pool::start`, stays
// valid and has no other user until the outcome has been reaped. Which thread uses it meanwhile
// makes no difference.
unsafe impl Send for Task {}

impl Pool {
    pub(crate) fn open(threads: u32, clock: Clock, waker: Waker) -> Result<Pool, IoError> {
        let shared = Arc::new(Shared { state: Mutex::default(), work: Condvar::new(), waker: waker.clone() });
        let mut pool = Pool {
            shared,
            threads: Vec::new(),
            fresh: Vec::new(),
            waiting: Vec::new(),
            ended: Vec::new(),
            polls: Vec::new(),
            clock,
            waker,
        };
        for number in 0..threads {
            let shared = Arc::clone(&pool.shared);
            let thread = Builder::new()
                .name(format!("disk-{number}"))
                .spawn(move || shared.serve())
                .map_err(|cause| IoError::Os { call: "starting a thread for disk I/O", cause })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// # Safety
    /// As [`crate::engine::Engine::start`].
    pub(crate) unsafe fn start(&mut self, key: Key, operation: Operation) {
        match blocking::is_for_disks(&operation) {
            true => self.fresh.push(Task { key, operation }),
            false => self.waiting.push(Waiting { key, operation, fresh: true }),
        }
    }

    /// Ends an operation that has not started; one that a thread works on runs to its end.
    pub(crate) fn cancel(&mut self, key: Key) {
        let before = self.waiting.len() + self.fresh.len();
        self.waiting.retain(|waiting| waiting.key != key);
        self.fresh.retain(|task| task.key != key);
        let mut removed = self.waiting.len() + self.fresh.len() < before;
        if !removed {
            let tasks = &mut self.shared.lock().tasks;
            if let Some(place) = tasks.iter().position(|task| task.key == key) {
                tasks.remove(place);
                removed = true;
            }
        }
        if removed {
            self.ended.push(Outcome { key, result: -libc::ECANCELED });
        }
    }

    pub(crate) fn enter(&mut self, wait: Wait) {
        self.hand_over();
        self.attempt(|waiting| std::mem::take(&mut waiting.fresh));
        let something_ended = !self.ended.is_empty() || !self.shared.lock().done.is_empty();
        let wait = if something_ended { Wait::Look } else { wait };
        self.poll(wait);
    }

    pub(crate) fn reap(&mut self, out: &mut Vec<Outcome>) {
        out.append(&mut self.ended);
        out.append(&mut self.shared.lock().done);
    }

    /// Queues the new disk operations for the threads.
    fn hand_over(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let count = self.fresh.len();
        self.shared.lock().tasks.extend(self.fresh.drain(..));
        for _ in 0..count.min(self.threads.len()) {
            self.shared.work.notify_one();
        }
    }

    /// Tries the waiting operations that `which` selects. Those that would still block stay, in
    /// order.
    fn attempt(&mut self, mut which: impl FnMut(&mut Waiting) -> bool) {
        let ended = &mut self.ended;
        self.waiting.retain_mut(|waiting| {
            if !which(waiting) {
                return true;
            }
            // SAFETY: the operation was started and its outcome has not been reaped, so what it
            // points to is valid.
            let result = unsafe { blocking::attempt(&waiting.operation) };
            if result == -libc::EAGAIN {
                return true;
            }
            ended.push(Outcome { key: waiting.key, result });
            false
        });
    }

    /// Waits until a socket is ready, a wake-up comes or the time is up, and tries what is ready.
    fn poll(&mut self, wait: Wait) {
        let watch = |fd: RawFd, events| libc::pollfd { fd, events, revents: 0 };
        self.polls.clear();
        self.polls.push(watch(self.waker.event(), libc::POLLIN));
        self.polls.extend(self.waiting.iter().map(|waiting| {
            let (fd, events) = blocking::readiness(&waiting.operation);
            watch(fd, events)
        }));
        if !self.sleep(wait) {
            return;
        }
        if self.polls[0].revents != 0 {
            let mut counter = 0u64;
            // SAFETY: eight bytes are written to `counter`. It does not block: only this thread
            // reads the eventfd, and the poll just said that there is something to read.
            unsafe { libc::read(self.waker.event(), (&raw mut counter).cast(), 8) };
            self.waker.seen();
        }
        let polls = std::mem::take(&mut self.polls);
        let mut ready = polls[1..].iter().map(|poll| poll.revents != 0);
        self.attempt(|_| ready.next().expect("one poll for each that waits"));
        drop(ready);
        self.polls = polls;
    }

    /// Calls `ppoll` on `polls`; returns whether any is ready.
    fn sleep(&mut self, wait: Wait) -> bool {
        let nanos = match wait {
            Wait::Look => Some(0),
            Wait::Until(time) | Wait::Hold(time) => Some(time.since(self.clock.now()).as_nanos()),
            Wait::Forever => None,
        };
        let limit = nanos.map(|nanos| libc::timespec {
            tv_sec: (nanos / 1_000_000_000).try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: (nanos % 1_000_000_000) as _,
        });
        let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let count = self.polls.len() as libc::nfds_t;
        // SAFETY: `polls` has `count` elements, `limit` is null or valid, and no signal mask is
        // passed.
        let ready = unsafe { libc::ppoll(self.polls.as_mut_ptr(), count, limit, std::ptr::null()) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            // A signal came, which may concern the caller; or memory is short, and the next turn
            // tries again.
            assert!(matches!(error.raw_os_error(), Some(libc::EINTR | libc::ENOMEM)), "ppoll: {error}");
        }
        ready > 0
    }
}

impl Drop for Pool {
    /// The owner has waited for all operations, so the threads are idle.
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.work.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has printed why.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Locks the state. No thread panics while it holds the lock, so it cannot be poisoned.
    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().expect("no thread panics with the lock held")
    }

    /// The main loop of a thread.
    fn serve(&self) {
        let mut state = self.lock();
        while !state.stop {
            let Some(Task { key, operation }) = state.tasks.pop_front() else {
                state = self.work.wait(state).expect("no thread panics with the lock held");
                continue;
            };
            drop(state);
            // SAFETY: the operation was started and its outcome has not been reaped, so what it
            // points to is valid and nobody else's; it was taken out of the queue, so no other
            // thread carries it out.
            let result = unsafe { blocking::attempt(&operation) };
            state = self.lock();
            state.done.push(Outcome { key, result });
            self.waker.wake();
        }
    }
}
