//! With io_uring, the path of a request allocates nothing in steady state. A counting allocator
//! wraps that of the system; it counts for the test's own thread only.

mod backends;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::os::unix::net::UnixStream;

use backends::settings;
use block::Driver;
use uring::{Backend, Done, Io, Job, Message};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator unchanged; counting touches no memory of
// the caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn requests_allocate_nothing_once_the_worker_runs() {
    let mut io = Io::open(&settings()).unwrap();
    if matches!(io.backend(), Backend::Threads { .. }) {
        println!("skipped: no io_uring here");
        return;
    }
    let port = io.port();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (ours, theirs) = (io.register(ours), io.register(theirs));
    let file = tempfile::tempfile().unwrap();
    file.set_len(1 << 20).unwrap();
    let file = io.register(file);
    let mut done = Vec::new();
    let mut message = Some(Message::default());
    let mut round = |io: &mut Io| {
        for token in 0..20 {
            port.push(token, Job::Read { file, at: token * 4096, buf: io.take(4096).unwrap() }).unwrap();
        }
        let mut filled = message.take().unwrap();
        filled.header(b"head");
        filled.data(io.take(100).unwrap());
        port.push(20, Job::Send { socket: ours, message: filled }).unwrap();
        port.push(21, Job::Receive { socket: theirs, buf: io.take(104).unwrap() }).unwrap();
        while done.len() < 22 {
            io.turn(None);
            port.reap(&mut done);
        }
        for Done { result, buf, message: back, .. } in done.drain(..) {
            assert!(result.is_ok());
            buf.into_iter().for_each(|buf| io.give(buf));
            if let Some(mut back) = back {
                back.unload().for_each(|buf| io.give(buf));
                message = Some(back);
            }
        }
    };
    (0..10).for_each(|_| round(&mut io));
    let before = COUNT.get();
    (0..100).for_each(|_| round(&mut io));
    assert!(before > 0, "the counter counts");
    assert_eq!(COUNT.get() - before, 0);
}
