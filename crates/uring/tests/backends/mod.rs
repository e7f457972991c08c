//! Runs one test on every backend, and drives an `Io` until something is true.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use block::{Bytes, Driver};
use uring::{Backend, Choice, Done, Io, IoSettings, Job, Port, TaskWork};

/// Small settings, so that limits are reached and many tests can run at the same time.
pub fn settings() -> IoSettings {
    IoSettings { entries: 8, in_flight: 64, slab: Bytes::mib(8), files: 16, threads: 2, ..IoSettings::default() }
}

/// Runs `test` on every backend that this kernel supports: three kinds of rings, partly and not at
/// all registered ones, one that tries the page cache first, and threads. Checks afterwards that
/// every buffer was given back.
pub fn on_each(test: impl Fn(&mut Io)) {
    let ring = |task_work, registered| IoSettings { task_work, registered, ..settings() };
    let all = [
        ring(TaskWork::Deferred, Bytes(u64::MAX)),
        IoSettings { cached_reads: true, ..ring(TaskWork::Deferred, Bytes::kib(64)) },
        ring(TaskWork::Cooperative, Bytes(0)),
        ring(TaskWork::Plain, Bytes::mib(1)),
        IoSettings { backend: Choice::Threads, ..settings() },
    ];
    for settings in all {
        let mut io = Io::open(&settings).expect("some backend always works");
        println!("on {}", io.backend());
        if settings.backend == Choice::Threads {
            assert!(matches!(io.backend(), Backend::Threads { .. }));
        }
        test(&mut io);
        assert_eq!(io.outstanding(), 0, "a buffer leaked on {}", io.backend());
    }
}

/// Turns until there are `count` completions; returns them by token.
pub fn reap(io: &mut Io, port: &Port, count: usize) -> Vec<Done> {
    let mut done = Vec::new();
    while done.len() < count {
        io.turn(None);
        port.reap(&mut done);
    }
    assert_eq!(done.len(), count);
    done.sort_by_key(|done| done.token);
    done
}

/// One job from start to end.
pub fn run(io: &mut Io, port: &Port, job: Job) -> Done {
    port.push(7, job).expect("there is room for one");
    let done = reap(io, port, 1).pop().expect("one was asked for");
    assert_eq!(done.token, 7);
    done
}
