//! Files and block devices by plain system calls, one request at a time in the worker's own thread.
//!
//! The worker itself waits for the disk, as a program with `pread` and `pwrite` does. So, unlike
//! any other target, it blocks in a poll, and reads the clock around each call. Further requests
//! wait in its queue, which is part of their queue time.

use super::ring::traits_of;
use super::{LocalFile, Lock};
use block::{Completion, Fault, Op, Request, Submitted, Target, Ticket, Time, Traits, Wakeup};
use std::collections::VecDeque;
use std::os::unix::fs::FileExt;
use uring::{Clock, Errno, Failure, Io};

/// Files by plain system calls.
pub struct CallTarget {
    io: Io,
    clock: Clock,
    files: Vec<LocalFile>,
    /// The lock of each file that calls must take; empty if there are none.
    locks: Vec<Lock>,
    /// Requests only allocate and release space, and move no data.
    space: bool,
    traits: Traits,
    waiting: VecDeque<(Time, Request)>,
}

impl CallTarget {
    /// Serves these files; buffers come from this worker's slab.
    pub(crate) fn new(io: &Io, files: Vec<LocalFile>) -> CallTarget {
        let traits = traits_of(&files);
        let (locks, space) = Default::default();
        CallTarget { io: io.clone(), clock: io.clock(), files, locks, space, traits, waiting: VecDeque::new() }
    }

    /// Makes calls on each file wait for those of others with the same lock.
    #[must_use]
    pub fn locked(mut self, locks: Vec<Lock>) -> CallTarget {
        self.locks = locks;
        self
    }

    /// Makes reads and writes allocate space and trims release it; no data is moved.
    #[must_use]
    pub fn for_space(mut self) -> CallTarget {
        self.space = true;
        self
    }

    fn carry_out(&mut self, taken: Time, request: Request) -> Completion {
        let index = request.object.0 as usize;
        // Waiting for the lock does not count as time of the storage.
        let held = self.locks.get(index).map(|lock| lock.hold(matches!(request.op, Op::Read)));
        let began = self.clock.now();
        let Some(LocalFile { file, .. }) = self.files.get(index) else {
            return Completion::refuse(request, began, Fault::Invalid);
        };
        let mut completion = Completion::of(&request, began, Ok(()));
        let result = match request.op {
            Op::Read if self.space => uring::space::reserve(file, request.at, request.len),
            Op::Write(buf) if self.space => {
                completion.buf = Some(buf);
                uring::space::allocate(file, request.at, request.len)
            }
            Op::Read => match self.io.take(request.len as u32) {
                Some(mut buf) => {
                    let result = self.io.with_mut(&mut buf, |bytes| file.read_exact_at(bytes, request.at));
                    completion.buf = Some(buf);
                    result
                }
                None => Err(Failure::Os(Errno(OUT_OF_MEMORY)).into()),
            },
            Op::Write(buf) => {
                let written = self.io.with(&buf, |bytes| file.write_all_at(bytes, request.at));
                completion.buf = Some(buf);
                if request.fua { written.and_then(|()| file.sync_data()) } else { written }
            }
            Op::Flush if request.fua => file.sync_all(),
            Op::Flush => file.sync_data(),
            Op::Trim => uring::space::punch(file, request.at, request.len),
            Op::Zero { .. } | Op::Cache | Op::Status { .. } => {
                completion.result = Err(Fault::Unsupported);
                return completion;
            }
        };
        completion.end = self.clock.now();
        drop(held);
        completion.queued = began.since(taken);
        completion.service = completion.end.since(began);
        completion.result = result.map_err(|error| fault_of(&error));
        completion
    }
}

/// ENOMEM.
const OUT_OF_MEMORY: i32 = 12;

fn fault_of(error: &std::io::Error) -> Fault {
    match error.raw_os_error() {
        Some(number) => Failure::Os(Errno(number)).fault(),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => Failure::UnexpectedEnd.fault(),
        None => Fault::Io,
    }
}

impl Target for CallTarget {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let ticket = Ticket(request.tag);
        self.waiting.push_back((now, request));
        Submitted::Taken(ticket)
    }

    fn poll(&mut self, _now: Time, out: &mut Vec<Completion>) {
        if let Some((taken, request)) = self.waiting.pop_front() {
            let completion = self.carry_out(taken, request);
            out.push(completion);
        }
    }

    fn next_wakeup(&self) -> Wakeup {
        if self.waiting.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }

    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

impl Drop for CallTarget {
    fn drop(&mut self) {
        for (_, request) in self.waiting.drain(..) {
            if let Op::Write(buf) = request.op {
                self.io.give(buf);
            }
        }
    }
}
