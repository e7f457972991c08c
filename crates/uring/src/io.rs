//! One worker's I/O: it joins the slab, the files, the table of requests in flight and the engine.

use std::cell::{Cell, RefCell};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use block::{Buf, Bytes, Driver, Span, Time};

use crate::clock::tighten_timers;
use crate::engine::{Engine, Opened};
use crate::files::{FileId, Files};
use crate::flight::{Flight, Flights, Gathers, Next};
use crate::job::{Done, Job};
use crate::operation::{Key, Outcome, Wait};
use crate::pages::Pages;
use crate::port::{Port, PortId, Queue};
use crate::slab::{Slab, ViewId};
use crate::view::Mappings;
use crate::{Backend, Clock, Failure, IoError, IoSettings, Waker};

/// A worker's I/O. It is cheap to clone and stays on the thread that opened it. When the last
/// handle and the last [`Port`] are dropped, everything in flight is cancelled and waited for
/// before the memory is released.
///
/// As a [`Driver`], one turn is one system call, or none if there is nothing to submit and
/// completions are ready. A turn may return early (after a signal or a wake-up), and it does not
/// sleep while any port has something to reap.
#[derive(Clone)]
pub struct Io(Rc<Shared>);

pub(crate) struct Shared {
    // The core has the engine, so it must be dropped before the slab: the slab owns the memory that
    // the engine registered.
    core: RefCell<Core>,
    slab: Slab,
    backend: Backend,
    waker: Waker,
    clock: Clock,
    /// The time that the last turn returned.
    last: Cell<Time>,
}

struct Core {
    engine: Engine,
    flights: Flights,
    files: Files,
    gathers: Gathers,
    mappings: Mappings,
    /// Views of fewer bytes than this are reads; `None` if there are no views.
    views: Option<u32>,
    /// A scratch list, kept to save allocations.
    outcomes: Vec<Outcome>,
    /// Completions that ports have not reaped. A turn does not sleep while there are any.
    unreaped: usize,
    /// Ports that got completions since the last [`Io::ready_ports`].
    ready: Vec<Rc<Queue>>,
    ports_made: u64,
}

impl Io {
    /// Opens a worker's I/O on the calling thread. The thread's timer slack is set to its minimum,
    /// so that waits end on time.
    pub fn open(settings: &IoSettings) -> Result<Io, IoError> {
        settings.check()?;
        tighten_timers();
        let clock = Clock::new();
        let waker = Waker::open()?;
        let region = Slab::map(settings.slab)?;
        // SAFETY: the region goes into the slab, and `Shared` drops its slab after its core, which
        // holds the engine.
        let opened = unsafe { Engine::open(settings, clock, &waker, &region) }?;
        let Opened { engine, backend, registered } = opened;
        let core = Core {
            engine,
            flights: Flights::new(settings.in_flight),
            files: Files::default(),
            gathers: Gathers::default(),
            mappings: Mappings::default(),
            // Threads keep an operation's addresses while they wait for room in a socket. So with
            // them no buffer can be a view.
            views: settings.views.filter(|_| matches!(backend, Backend::Uring { .. })),
            outcomes: Vec::with_capacity(settings.in_flight as usize),
            unreaped: 0,
            ready: Vec::new(),
            ports_made: 0,
        };
        let slab = Slab::new(region, registered);
        let last = Cell::new(clock.now());
        Ok(Io(Rc::new(Shared { core: RefCell::new(core), slab, backend, waker, clock, last })))
    }

    /// The backend that it uses.
    pub fn backend(&self) -> &Backend {
        &self.0.backend
    }

    /// A new client, with its own queue of completions.
    pub fn port(&self) -> Port {
        Port::new(Rc::clone(&self.0))
    }

    /// Appends the ports that got completions since the last call, each once, so that a worker with
    /// thousands of clients need not ask each. Some may have been reaped in the meantime.
    pub fn ready_ports(&self, out: &mut Vec<PortId>) {
        let mut core = self.0.core.borrow_mut();
        out.extend(core.ready.drain(..).map(|queue| {
            queue.listed.set(false);
            queue.id
        }));
    }

    /// A handle by which other threads end this worker's wait.
    pub fn waker(&self) -> Waker {
        self.0.waker.clone()
    }

    /// The clock that [`Driver::now`] and [`Driver::turn`] read.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// A buffer of `len` bytes at the start of its own slot, aligned to 4 KiB. Its contents are
    /// unspecified. `None` if no free slot is large enough, and for more than 64 MiB.
    pub fn take(&self, len: u32) -> Option<Buf> {
        self.0.slab.take(len)
    }

    /// Gives a buffer back, whichever window of its slot it covers. [`Buf::nothing`] is ignored.
    ///
    /// # Panics
    /// If it is not out of this slab, or is in use.
    #[allow(clippy::needless_pass_by_value, reason = "the holder gives up its claim")]
    pub fn give(&self, buf: Buf) {
        self.0.slab.give(&buf);
    }

    /// Calls `f` with the buffer's bytes; with none for [`Buf::nothing`].
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is being written.
    pub fn with<R>(&self, buf: &Buf, f: impl FnOnce(&[u8]) -> R) -> R {
        self.0.slab.with(buf, f)
    }

    /// Calls `f` with the buffer's bytes for writing; with none for [`Buf::nothing`].
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use.
    pub fn with_mut<R>(&self, buf: &mut Buf, f: impl FnOnce(&mut [u8]) -> R) -> R {
        self.0.slab.with_mut(buf, f)
    }

    /// Makes a window of a buffer a view of the file's bytes from `at` on, immediately, as
    /// [`crate::Job::View`] does. Other windows of the buffer may be views of other bytes; `whole`
    /// is how many bytes are wanted together. False if the bytes have to be read: then the views of
    /// the other windows must be fetched first. Bytes outside all of these windows must not be
    /// shown.
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use.
    pub fn stand(&self, file: FileId, at: u64, window: &Buf, whole: u32) -> bool {
        self.0.core.borrow_mut().stand(file, at, window, whole, &self.0.slab)
    }

    /// Makes a buffer a view of cache pages in this order, from byte `first` of the first page on.
    /// It can be sent or given back, but not looked at before [`Io::fetch_buf`]. Later changes to
    /// the pages do not show in it. False for an empty buffer, and if there are too few spare
    /// frames for another view.
    ///
    /// # Panics
    /// If the buffer is not out of this slab, reaches beyond its slot, or is in use, or if the
    /// pages have fewer bytes.
    pub fn show(&self, pages: &Pages, numbers: &[u32], first: u32, buf: &Buf) -> bool {
        if buf.is_empty() {
            return false;
        }
        let mut core = self.0.core.borrow_mut();
        self.0.slab.stand(buf, |views| core.mappings.of_pages(pages, (numbers, first), buf, views))
    }

    /// Size of the memory for buffers, used or not.
    pub fn memory(&self) -> Bytes {
        self.0.slab.size()
    }

    /// The view that the buffer is, if its bytes are elsewhere: see [`crate::Job::View`].
    pub fn view(&self, buf: &Buf) -> Option<ViewId> {
        self.0.slab.view(buf)
    }

    /// Whether there is still a buffer with this view.
    pub fn is_viewed(&self, view: ViewId) -> bool {
        self.0.slab.shows(view)
    }

    /// Copies the bytes of a view into the buffer's own memory, even while it is being sent.
    /// Afterwards nothing depends on the file any more. It reads the file synchronously, as a rule
    /// from the page cache. Does nothing if no buffer has this view.
    pub fn fetch(&self, view: ViewId) -> Result<(), Failure> {
        self.0.slab.fetch(view)
    }

    /// Does [`Io::fetch`] for the view of this buffer, if it is one.
    pub fn fetch_buf(&self, buf: &Buf) -> Result<(), Failure> {
        self.view(buf).map_or(Ok(()), |view| self.fetch(view))
    }

    /// Reads that were not yet looked up in the page cache; see [`IoSettings::cached_reads`].
    pub fn untried(&self) -> usize {
        self.0.core.borrow().engine.untried()
    }

    /// Allows or forbids limiting the reads at a disk whose client is in lockstep with it. For use
    /// while a single client reads: others would wait behind its reads. When waiting reads follow,
    /// a turn makes one more system call. Forbidden at first.
    pub fn break_lockstep(&self, may: bool) {
        self.0.core.borrow_mut().engine.break_lockstep(may);
    }

    /// Submits what was pushed now instead of in the next turn, so that a disk starts while the
    /// worker prepares more. At most one system call. With threads, the next turn submits.
    pub fn submit(&self) {
        self.0.core.borrow_mut().engine.submit();
    }

    /// A [`Driver::turn`] for a worker that has nothing to do before a peer or a disk responds. A
    /// send that succeeds at once need not end the turn. Its [`Done`] may then come only with the
    /// next turn, and its buffers are held until then.
    pub fn rest(&mut self, until: Option<Time>) -> Time {
        self.0.turn(until.into(), true)
    }

    /// An [`Io::rest`] until that time in which no receive is submitted. What peers send gathers in
    /// their sockets, and one receive takes it all later. Receives are submitted all the same with
    /// threads, when completions are ready, and when something is cancelled.
    pub fn hold(&mut self, until: Time) -> Time {
        self.0.turn(Wait::Hold(until), true)
    }

    /// Whether a port has a completion to reap.
    pub fn has_ended(&self) -> bool {
        self.0.core.borrow().unreaped > 0
    }

    /// A [`Driver::turn`] that does not sleep, for a worker that polls. At most one system call.
    pub fn look(&mut self) -> Time {
        self.0.turn(Wait::Look, false)
    }

    /// Returns slab memory to the system that was unused during the last `unused` calls, at most
    /// `most` in one call. To be called regularly. Memory registered with the ring is kept. It
    /// makes a system call for each 2 MiB; the result is how much was returned.
    pub fn give_back(&self, most: Bytes, unused: u8) -> Bytes {
        self.0.slab.give_back(most, unused)
    }

    /// Whether [`Io::give_back`] may have something to return, now or later.
    pub fn holds_idle(&self) -> bool {
        self.0.slab.holds_idle()
    }

    /// Buffers that are out or in flight: zero when nothing leaks.
    pub fn outstanding(&self) -> usize {
        self.0.slab.outstanding()
    }

    /// Takes over a file, a socket or a listener; a system call, so not for the path of each I/O.
    /// Descriptors are made blocking or non-blocking as the backend needs it.
    pub fn register(&self, fd: impl Into<OwnedFd>) -> FileId {
        let mut core = self.0.core.borrow_mut();
        let Core { files, engine, .. } = &mut *core;
        files.add(fd.into(), |index, fd| engine.add_file(index, fd))
    }

    /// The descriptor of a file that is open.
    pub(crate) fn descriptor(&self, file: FileId) -> Option<RawFd> {
        self.0.core.borrow().files.handle(file).map(|file| file.fd)
    }

    /// Closes a file, at once if nothing is in flight on it. Otherwise it takes no new requests,
    /// those that wait for a peer are cancelled, disk requests run to their end, and then it is
    /// closed.
    pub fn close(&self, file: FileId) {
        let closed = {
            let mut core = self.0.core.borrow_mut();
            let Core { files, engine, mappings, .. } = &mut *core;
            mappings.forget(file);
            files.close(file).map(|closed| engine.drop_file(&closed)).is_some()
        };
        if !closed {
            self.0.cancel(|flight| flight.job.file() == file && flight.job.waits_for_a_peer());
        }
    }
}

impl Driver for Io {
    fn now(&self) -> Time {
        self.0.clock.now()
    }

    fn turn(&mut self, until: Option<Time>) -> Time {
        self.0.turn(until.into(), false)
    }
}

impl Shared {
    /// One turn. With `rest`, a send that succeeds at once need not end it.
    fn turn(&self, wait: Wait, rest: bool) -> Time {
        let shared = self;
        let mut core = shared.core.borrow_mut();
        let wait = match wait {
            _ if core.unreaped > 0 => Wait::Look,
            Wait::Until(time) | Wait::Hold(time) if time <= shared.last.get() => Wait::Look,
            wait => wait,
        };
        core.engine.enter(wait, rest);
        core.settle(&shared.slab);
        let now = shared.clock.now();
        shared.last.set(now);
        now
    }

    pub(crate) fn push(&self, queue: &Rc<Queue>, token: u64, job: Job) -> Result<(), Job> {
        let mut core = self.core.borrow_mut();
        if core.flights.is_full() {
            return Err(job);
        }
        let file = job.file();
        let job = match core.stand_or_read(job, &self.slab) {
            Ok(buf) => {
                let len = buf.len();
                let done = Done { token, result: Ok(len), moved: len, buf: Some(buf), message: None, accepted: None };
                core.deliver(queue, done);
                return Ok(());
            }
            Err(job) => job,
        };
        let flight = Flight::new(Rc::clone(queue), token, job);
        let ready = match core.files.open_handle(file) {
            Some(_) => flight.fly(&self.slab),
            None => Err(Failure::Closed),
        };
        if let Err(failure) = ready {
            let (_, done) = flight.finish(Err(failure), None, &mut core.gathers);
            core.deliver(queue, done);
            return Ok(());
        }
        core.files.hold(file);
        queue.flights.set(queue.flights.get() + 1);
        let key = core.flights.add(flight);
        core.start(key, &self.slab);
        Ok(())
    }

    /// Cancels all requests that `which` selects.
    pub(crate) fn cancel(&self, which: impl Fn(&Flight) -> bool) {
        let mut core = self.core.borrow_mut();
        let Core { flights, engine, .. } = &mut *core;
        for (key, flight) in flights.iter_mut() {
            if !flight.cancelled && which(flight) {
                flight.cancelled = true;
                engine.cancel(key);
            }
        }
    }

    /// A number that no other port has or had.
    pub(crate) fn next_port(&self) -> PortId {
        let mut core = self.core.borrow_mut();
        core.ports_made += 1;
        PortId(core.ports_made)
    }

    /// A port took `count` completions out of its queue.
    pub(crate) fn reaped(&self, count: usize) {
        self.core.borrow_mut().unreaped -= count;
    }

    /// Takes a dropped port off the list of ready ones.
    pub(crate) fn unlist(&self, queue: &Rc<Queue>) {
        if queue.listed.get() {
            self.core.borrow_mut().ready.retain(|listed| !Rc::ptr_eq(listed, queue));
        }
    }

    /// Gives back the buffers of a completion that nobody will reap.
    pub(crate) fn discard(&self, done: Done) {
        done.give_back(&self.slab);
    }
}

impl Drop for Shared {
    /// Waits for everything in flight, since the kernel must not write to memory that was unmapped.
    /// The cancellations keep it short. A disk that never answers blocks the worker here, as it
    /// would block a process in `exit`.
    fn drop(&mut self) {
        /// The cancellations are repeated, because one can miss a request that is between two
        /// operations.
        const ROUND: Span = Span::from_millis(100);
        let core = self.core.get_mut();
        while !core.flights.is_empty() {
            let Core { flights, engine, .. } = &mut *core;
            for (key, flight) in flights.iter_mut() {
                flight.cancelled = true;
                engine.cancel(key);
            }
            engine.enter(Wait::Until(self.clock.now() + ROUND), false);
            core.settle(&self.slab);
        }
    }
}

impl Core {
    /// Makes the buffer of a view job a view if that is possible; else the job becomes a read.
    #[inline]
    #[allow(clippy::result_large_err, reason = "the job itself comes back, and copying it costs less than a box")]
    fn stand_or_read(&mut self, job: Job, slab: &Slab) -> Result<Buf, Job> {
        match job {
            Job::View { file, at, buf } if self.stand(file, at, &buf, buf.len(), slab) => Ok(buf),
            Job::View { file, at, buf } => Err(Job::Read { file, at, buf }),
            job => Err(job),
        }
    }

    /// Makes a buffer a view of its bytes if that is possible. It is a part of `whole` bytes that
    /// are wanted together.
    fn stand(&mut self, file: FileId, at: u64, buf: &Buf, whole: u32, slab: &Slab) -> bool {
        let is_tried = self.views.is_some_and(|least| whole >= least) && !buf.is_nothing();
        let handle = self.files.open_handle(file).filter(|handle| is_tried && handle.cached);
        let view = handle.and_then(|handle| self.mappings.view((file, handle.fd), at, buf.len(), buf.start()));
        view.is_some_and(|view| {
            slab.stand(buf, |views| {
                views.push(view);
                true
            })
        })
    }

    /// Hands the flight's next operation to the engine, or ends it.
    #[inline]
    fn start(&mut self, key: Key, slab: &Slab) {
        let Core { engine, flights, files, gathers, .. } = self;
        match flights.get(key).operation(files, slab, gathers) {
            // SAFETY: until the outcome for `key` is reaped, the flight stays in the table. It owns
            // the message and the gather list; its buffers are in flight, so the slab lets nobody
            // else access them; the memory lives as long as `Shared`, whose drop waits for all
            // flights; and its file is held open.
            Ok(operation) => unsafe { engine.start(key, operation) },
            Err(result) => self.end(key, result, None, slab),
        }
    }

    /// Takes in all outcomes.
    fn settle(&mut self, slab: &Slab) {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        self.engine.reap(&mut outcomes);
        for Outcome { key, result } in outcomes.drain(..) {
            let flight = self.flights.get(key);
            let accepted = (matches!(flight.job, Job::Accept { .. }) && result >= 0).then(|| {
                // SAFETY: the kernel just made this descriptor for us, and nobody else knows it.
                unsafe { OwnedFd::from_raw_fd(result) }
            });
            match flight.advance(result) {
                Next::Again => self.start(key, slab),
                Next::End(result) => self.end(key, result, accepted, slab),
            }
        }
        self.outcomes = outcomes;
    }

    #[inline]
    fn end(&mut self, key: Key, result: Result<u32, Failure>, accepted: Option<OwnedFd>, slab: &Slab) {
        let flight = self.flights.remove(key);
        flight.land(slab);
        if let Some(closed) = self.files.release(flight.job.file()) {
            self.engine.drop_file(&closed);
        }
        let (queue, done) = flight.finish(result, accepted, &mut self.gathers);
        queue.flights.set(queue.flights.get() - 1);
        if queue.dead.get() {
            done.give_back(slab);
        } else {
            self.deliver(&queue, done);
        }
    }

    #[inline(always)]
    fn deliver(&mut self, queue: &Rc<Queue>, done: Done) {
        self.unreaped += 1;
        queue.push(done);
        if !queue.listed.replace(true) {
            self.ready.push(Rc::clone(queue));
        }
    }
}

#[cfg(test)]
mod tests;
