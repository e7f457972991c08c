//! The io_uring engine: one ring and one system call a turn, plus one when waiting reads follow
//! ([`lockstep`]).
//!
//! ```text
//!   start ─► submission queue ─┐                      ┌─► completion queue ─► reap
//!            (backlog if full) └─ enter: submit+wait ─┘
//! ```
//! Completions are delivered when the worker asks for them (`DEFER_TASKRUN`), so they never
//! interrupt it, and a look makes a system call only if the kernel says that there is something to
//! deliver. Sends that succeed at once leave no completion: see [`Attempts`]. What is in the page
//! cache may be read by a separate call, which costs less than a request and its completion.

mod entry;
mod lockstep;
mod setup;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use block::Time;
use io_uring::squeue::{Entry, Flags};
use io_uring::{EnterFlags, IoUring, opcode, types};

use crate::attempts::Attempts;
use crate::files::Closed;
use crate::operation::{Key, Memory, Operation, Outcome, Wait};
use crate::region::Region;
use crate::slab::REGISTERED_CHUNK;
use crate::usage::memory_lock_limit;
use crate::{Clock, IoError, IoSettings, TaskWork, Waker};
use entry::entry;
use lockstep::{Lockstep, Way};
use setup::{register_ring, setup, unregister_ring};

/// `user_data` of the read of the wake-up eventfd, and of cancellations. Requests use only 32 bits.
const WAKE: u64 = u64::MAX;
const CANCELLATION: u64 = u64::MAX - 1;

/// Bytes read from the page cache in one turn (the last read may exceed it). So few that they are
/// still in the processor's cache when they are sent.
const CACHED_BYTES_MAX: u32 = 256 << 10;

pub(crate) struct Ring {
    ring: IoUring,
    task_work: TaskWork,
    /// The ring's index among the thread's registered rings, which saves the kernel a look-up per
    /// enter.
    index: Option<u32>,
    /// Time-outs may be absolute (Linux ≥ 6.12), which saves reading the clock.
    absolute: bool,
    clock: Clock,
    /// Entries that did not fit into the submission queue.
    backlog: VecDeque<Entry>,
    /// Receives. They are submitted after everything else, because a peer that waits for an answer
    /// has nothing to send before.
    late: Vec<Entry>,
    /// Reads past the page cache, and by key which of them [`Lockstep`] counts.
    reads: Lockstep<(Key, Entry)>,
    counted: Vec<bool>,
    /// Entries prepared so far.
    prepared: u64,
    /// Sends that may succeed silently, if the kernel supports that.
    attempts: Option<Attempts>,
    /// Reads of cached files that are tried in the page cache before they go to the ring.
    cached: VecDeque<(Key, Operation)>,
    /// The last turn did such reads and made no call to the ring.
    silent: bool,
    /// Outcomes that did not come from the ring.
    ended: Vec<Outcome>,
    /// Whether reads are tried in the page cache.
    tries_cache: bool,
    waker: Waker,
    /// Where the read of the eventfd puts its counter. It is boxed because the kernel knows its
    /// address.
    counter: Box<u64>,
    listening: bool,
    /// Size of the ring's table of registered files.
    files: u32,
    /// A kernel thread submits what is prepared; it needs a call only when it has fallen asleep.
    polled: bool,
}

impl Ring {
    pub(crate) fn open(settings: &IoSettings, clock: Clock, waker: Waker) -> Result<Ring, IoError> {
        let (ring, task_work) = setup(settings)?;
        if !ring.params().is_feature_ext_arg() {
            return Err(IoError::Kernel("waiting with a time-out (IORING_FEAT_EXT_ARG)"));
        }
        if !ring.params().is_feature_nodrop() {
            return Err(IoError::Kernel("completions that are never dropped (IORING_FEAT_NODROP)"));
        }
        let index = register_ring(ring.as_raw_fd());
        // Both came with Linux 6.12, but only the minimum timeout has a feature bit.
        let absolute = ring.params().is_feature_min_timeout();
        let files = match ring.submitter().register_files(&vec![-1; settings.files as usize]) {
            Ok(()) => settings.files,
            Err(_) => 0,
        };
        let backlog = VecDeque::with_capacity(settings.entries as usize);
        let counter = Box::new(0);
        let (listening, polled) = (false, settings.kernel_polls.is_some());
        // What attempts need came with Linux 6.1 at the latest, as did deferred task work.
        let silent = ring.params().is_feature_skip_cqe_on_success() && task_work == TaskWork::Deferred;
        let attempts = silent.then(Attempts::default);
        let mut ring = Ring {
            ring,
            task_work,
            index,
            absolute,
            clock,
            backlog,
            late: Vec::new(),
            reads: Lockstep::new(),
            counted: Vec::new(),
            prepared: 0,
            attempts,
            cached: VecDeque::new(),
            silent: false,
            ended: Vec::new(),
            tries_cache: settings.cached_reads,
            waker,
            counter,
            listening,
            files,
            polled,
        };
        ring.listen();
        Ok(ring)
    }

    pub(crate) fn task_work(&self) -> TaskWork {
        self.task_work
    }

    /// Pins and registers the start of `region`, at most `most` bytes; returns how many. Where the
    /// memory limit does not allow all of it, less is tried: the limit less one eighth, two eighths
    /// and so on, because other rings of the same user count against it.
    ///
    /// # Safety
    /// The region must outlive the ring.
    pub(crate) unsafe fn register(&mut self, region: &Region, most: u64) -> usize {
        let mut len = most.min(region.len() as u64) as usize / 4096 * 4096;
        let eighth = (memory_lock_limit().min(len) / 8).next_multiple_of(4096);
        while len > 0 {
            let chunks: Vec<libc::iovec> = (0..len)
                .step_by(REGISTERED_CHUNK)
                .map(|at| libc::iovec {
                    // SAFETY: `at` < `len`, which is at most the region's length.
                    iov_base: unsafe { region.start().add(at) }.as_ptr().cast(),
                    iov_len: REGISTERED_CHUNK.min(len - at),
                })
                .collect();
            // SAFETY: all chunks lie inside the region, which the caller keeps mapped for the
            // ring's life.
            match unsafe { self.ring.submitter().register_buffers(&chunks) } {
                Ok(()) => return len,
                Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                    len = len.min(8 * eighth).saturating_sub(eighth);
                }
                Err(_) => return 0,
            }
        }
        0
    }

    /// Enters a file into the ring's table at `index`, if there is room.
    pub(crate) fn add_file(&mut self, index: u32, fd: &OwnedFd) -> bool {
        // The ring waits by itself; on a non-blocking socket it would fail with EAGAIN instead.
        crate::blocking::set_blocking(fd.as_raw_fd(), true);
        index < self.files && self.ring.submitter().register_files_update(index, &[fd.as_raw_fd()]).is_ok()
    }

    pub(crate) fn drop_file(&mut self, file: &Closed) {
        if let Some(index) = file.fixed {
            // Removing what was entered cannot fail; if it did, the table would keep the file open
            // until the ring is closed.
            let _ = self.ring.submitter().register_files_update(index, &[-1]);
        }
    }

    /// Prepares an operation; the next enter submits it.
    ///
    /// # Safety
    /// The file, the memory and the lists that the operation points to must stay valid, and the
    /// memory of a read or receive must be nobody else's, until the outcome for `key` has been
    /// reaped.
    pub(crate) unsafe fn start(&mut self, key: Key, operation: &Operation) {
        if let Operation::Read { file, .. } = operation
            && file.cached
            && self.tries_cache
        {
            self.cached.push_back((key, *operation));
            return;
        }
        if let Operation::Read { file, .. } = operation
            && !file.cached
        {
            match self.reads.want(file.device, (key, entry(operation).user_data(key.into()))) {
                Way::Counted(read) => self.push_counted(read),
                Way::Beside((_, read)) => self.push(read),
                Way::Waits => {}
            }
            return;
        }
        let mut operation = *operation;
        let mut flags = Flags::empty();
        if let Operation::Send { memory: Memory { len, .. }, attempt: attempt @ true, .. }
        | Operation::SendMany { len, attempt: attempt @ true, .. } = &mut operation
        {
            match &mut self.attempts {
                Some(attempts) => {
                    attempts.expect(key, *len, self.prepared);
                    flags = Flags::SKIP_SUCCESS;
                }
                None => *attempt = false,
            }
        }
        let prepared = entry(&operation).user_data(key.into()).flags(flags);
        match operation {
            Operation::Receive { .. } | Operation::Discard { .. } => self.late.push(prepared),
            _ => self.push(prepared),
        }
    }

    /// Queues the receives, which go behind everything else.
    fn push_late(&mut self) {
        let mut late = std::mem::take(&mut self.late);
        late.drain(..).for_each(|entry| self.push(entry));
        self.late = late;
    }

    /// Asks the kernel to end an operation early.
    pub(crate) fn cancel(&mut self, key: Key) {
        // What is not in the queue yet cannot be cancelled.
        self.push_late();
        self.push(opcode::AsyncCancel::new(key.into()).build().user_data(CANCELLATION));
    }

    /// Whether fewer reads than are wanted may be at a disk; see [`lockstep`].
    pub(crate) fn break_lockstep(&mut self, may: bool) {
        self.reads.allow(may);
        self.push_reads();
    }

    /// Prepares the waiting reads that may go now; returns whether there were any.
    fn push_reads(&mut self) -> bool {
        let prepared = self.prepared;
        while let Some(read) = self.reads.next() {
            self.push_counted(read);
        }
        self.prepared > prepared
    }

    fn push_counted(&mut self, (key, read): (Key, Entry)) {
        let key = key as usize;
        if self.counted.len() <= key {
            self.counted.resize(key + 1, false);
        }
        self.counted[key] = true;
        self.push(read);
    }

    /// Reads of cached files that were not tried yet.
    pub(crate) fn untried(&self) -> usize {
        self.cached.len()
    }

    /// Reads from the page cache, up to [`CACHED_BYTES_MAX`]; returns whether any read completed.
    /// What is not in the page cache goes to the ring like any other read.
    fn read_cached(&mut self) -> bool {
        if self.cached.is_empty() {
            return false;
        }
        if std::mem::take(&mut self.silent) {
            // Otherwise answers would wait behind the remaining reads, and peers would not be heard
            // while others have something to read.
            self.look();
        }
        let mut bytes = 0;
        while bytes < CACHED_BYTES_MAX
            && let Some((key, operation)) = self.cached.pop_front()
        {
            let Operation::Read { file, at, memory } = operation else { continue };
            // SAFETY: the promise of `start` holds until the outcome is reaped.
            let result = unsafe { crate::blocking::read_cached(file, at, memory) };
            if result == -libc::EAGAIN || result == -libc::EOPNOTSUPP {
                self.push(entry(&operation).user_data(key.into()));
                continue;
            }
            bytes += memory.len;
            self.ended.push(Outcome { key, result });
        }
        self.silent = !self.ended.is_empty();
        self.silent
    }

    /// Submits all that is prepared and collects completions; does not wait.
    fn look(&mut self) {
        self.push_late();
        self.refill();
        let prepared = self.ring.submission().len() as u32;
        self.call(prepared, 0, EnterFlags::GETEVENTS, None);
    }

    /// Submits all that is prepared; neither waits nor collects completions.
    pub(crate) fn submit(&mut self) {
        self.push_late();
        self.hand_over();
    }

    /// Does the same, but leaves the receives in their list.
    fn hand_over(&mut self) {
        self.refill();
        let submission = self.ring.submission();
        let (prepared, asleep) = (submission.len() as u32, submission.need_wakeup());
        drop(submission);
        if prepared > 0 && (!self.polled || asleep) {
            self.call(prepared, 0, EnterFlags::empty(), None);
        }
    }

    /// Submits all that is prepared (receives only if they are not held) and waits. Unless `rest`,
    /// it does not wait if a send among them may have succeeded silently.
    pub(crate) fn enter(&mut self, wait: Wait, rest: bool) {
        let may_have_ended = !rest && self.attempts.as_ref().is_some_and(|attempts| !attempts.is_empty());
        let wait = if may_have_ended { Wait::Look } else { wait };
        if self.read_cached() {
            return;
        }
        self.silent = false;
        if !matches!(wait, Wait::Hold(_)) {
            self.push_late();
        }
        loop {
            self.refill();
            let submission = self.ring.submission();
            let prepared = submission.len() as u32;
            // The kernel has work for an enter with GETEVENTS, or completions that did not fit.
            let held_back = submission.taskrun() || submission.cq_overflow();
            // The kernel's thread submits what is prepared, unless it must be woken.
            let taken = self.polled && !submission.need_wakeup();
            drop(submission);
            let is_last = self.backlog.is_empty();
            let sleep = wait != Wait::Look && is_last && self.ring.completion().is_empty();
            if (prepared == 0 || taken) && !sleep && !held_back {
                return;
            }
            let until = match wait {
                Wait::Until(time) | Wait::Hold(time) if sleep => Some(time),
                _ => None,
            };
            let went_on = self.call(prepared, u32::from(sleep), EnterFlags::GETEVENTS, until);
            if is_last || !went_on {
                return;
            }
        }
    }

    /// Appends all outcomes, and takes note of wake-ups.
    pub(crate) fn reap(&mut self, out: &mut Vec<Outcome>) {
        out.append(&mut self.ended);
        let (mut woken, mut read) = (false, 0);
        for completion in self.ring.completion() {
            match completion.user_data() {
                WAKE => woken = true,
                CANCELLATION => {}
                key => {
                    let key = key as Key;
                    read += u32::from(self.counted.get_mut(key as usize).is_some_and(std::mem::take));
                    self.attempts.iter_mut().for_each(|attempts| attempts.spoke(key));
                    out.push(Outcome { key, result: completion.result() });
                }
            }
        }
        if let Some(attempts) = &mut self.attempts
            && !attempts.is_empty()
        {
            let left = self.ring.submission().len() + self.backlog.len();
            attempts.settle(self.prepared - left as u64, out);
        }
        self.reads.ended(read);
        // Give the disk its next reads before the worker handles these outcomes.
        if self.push_reads() {
            self.hand_over();
        }
        if woken {
            self.waker.seen();
            self.listening = false;
            self.listen();
        }
    }

    /// One `io_uring_enter` that submits `prepared` entries and waits for `least` completions, at
    /// most until `until`. False if the kernel cannot take more at present.
    fn call(&mut self, prepared: u32, least: u32, mut flags: EnterFlags, until: Option<Time>) -> bool {
        let timeout: [i64; 2];
        let mut arg = GetEventsArg { sigmask: 0, sigmask_sz: 0, min_wait_usec: 0, ts: 0 };
        if let Some(time) = until {
            let nanos = if self.absolute {
                flags |= EnterFlags::ABS_TIMER;
                self.clock.kernel_nanos(time)
            } else {
                time.since(self.clock.now()).as_nanos()
            };
            timeout = [(nanos / 1_000_000_000).min(i64::MAX as u64) as i64, (nanos % 1_000_000_000) as i64];
            // The provenance is exposed, because the kernel gets the address of `timeout` as a
            // number.
            arg.ts = (&raw const timeout).expose_provenance() as u64;
            flags |= EnterFlags::EXT_ARG;
        }
        if self.polled && self.ring.submission().need_wakeup() {
            flags |= EnterFlags::SQ_WAKEUP;
        }
        let (address, size) = match arg.ts {
            0 => (std::ptr::null(), 0),
            _ => ((&raw const arg).cast::<libc::c_void>(), size_of::<GetEventsArg>()),
        };
        let fd = match self.index {
            Some(index) => {
                flags |= EnterFlags::REGISTERED_RING;
                index as RawFd
            }
            None => self.ring.as_raw_fd(),
        };
        // SAFETY: `fd` is this ring. What the entries point to is kept valid by the promise of
        // `start`; `arg` and `timeout` outlive the call.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_uring_enter, fd, prepared, least, flags.bits(), address, size) };
        if taken >= 0 {
            return true;
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // The time is up; or a signal came, which may concern the caller; or the kernel lacks
            // some resource until completions are reaped. What was not submitted stays in the queue
            // for the next turn.
            Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => false,
            _ => panic!("io_uring_enter of {prepared} entries with flags {flags:?}: {error}"),
        }
    }

    fn push(&mut self, entry: Entry) {
        self.prepared += 1;
        if self.backlog.is_empty() {
            // SAFETY: what the entry points to stays valid until its completion: for requests by
            // the promise of `start`; for the wake-up read, `counter` lives until `drop` has waited
            // for it.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
        }
        self.backlog.push_back(entry);
    }

    /// Moves the backlog into the submission queue as far as it fits, in order.
    fn refill(&mut self) {
        while let Some(entry) = self.backlog.front() {
            // SAFETY: as in `push`.
            if unsafe { self.ring.submission().push(entry) }.is_err() {
                return;
            }
            self.backlog.pop_front();
        }
    }

    /// Keeps a read of the waker's eventfd in flight.
    fn listen(&mut self) {
        self.listening = true;
        let counter: *mut u64 = &mut *self.counter;
        let read = opcode::Read::new(types::Fd(self.waker.event()), counter.cast(), 8);
        self.push(read.build().user_data(WAKE));
    }
}

impl Drop for Ring {
    /// The owner has waited for all requests; only the read for wake-ups is left to end.
    fn drop(&mut self) {
        self.waker.ring();
        while self.listening {
            self.enter(Wait::Forever, true);
            if self.ring.completion().any(|completion| completion.user_data() == WAKE) {
                self.listening = false;
            }
        }
        if let Some(index) = self.index {
            unregister_ring(self.ring.as_raw_fd(), index);
        }
    }
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct GetEventsArg {
    sigmask: u64,
    sigmask_sz: u32,
    min_wait_usec: u32,
    ts: u64,
}
