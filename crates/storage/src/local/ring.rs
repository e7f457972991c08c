//! Files and block devices over the worker's ring.

use super::LocalFile;
use block::{
    Bytes, Cause, Completion, Fault, ObjectId, Op, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits,
    Wakeup,
};
use uring::{Done, FileId, Io, Job, Port};

/// Files by asynchronous requests. The worker's [`Io`] is the driver: all requests since the last
/// turn go to the kernel in one system call, which also waits. A flush with force unit access is an
/// `fsync`, one without is an `fdatasync`.
pub struct RingTarget {
    io: Io,
    port: Port,
    files: Vec<FileId>,
    traits: Traits,
    in_flight: Vec<InFlight>,
    free: Vec<u32>,
    refused: Vec<Completion>,
    reaped: Vec<Done>,
}

/// What the kernel does not return of a request.
#[derive(Clone, Copy)]
struct InFlight {
    tag: u64,
    object: ObjectId,
    kind: OpKind,
    len: u64,
    due: Time,
    since: Time,
}

impl RingTarget {
    /// Serves these files on this worker's ring.
    pub(crate) fn new(io: &Io, files: Vec<LocalFile>) -> RingTarget {
        let traits = traits_of(&files);
        let files = files.into_iter().map(|file| io.register(file.file)).collect();
        RingTarget {
            io: io.clone(),
            port: io.port(),
            files,
            traits,
            in_flight: Vec::new(),
            free: Vec::new(),
            refused: Vec::new(),
            reaped: Vec::new(),
        }
    }

    fn refuse(&mut self, request: Request, now: Time, fault: Fault) -> Submitted {
        let ticket = Ticket(request.tag);
        self.refused.push(Completion::refuse(request, now, fault));
        Submitted::Taken(ticket)
    }

    /// Separate from the others: a job that is handed back does not have all that the request asks
    /// for.
    #[cold]
    fn submit_zero(&mut self, now: Time, file: FileId, request: &Request, asked: (bool, bool)) -> Submitted {
        let &Request { tag, object, at, len, fua, due, .. } = request;
        let (no_hole, fast_only) = asked;
        let place = self.remember(InFlight { tag, object, kind: OpKind::Zero, len, due, since: now });
        match self.port.push(u64::from(place), Job::Zero { file, at, len, keep: no_hole }) {
            Ok(()) => Submitted::Taken(Ticket(u64::from(place))),
            Err(_) => {
                self.free.push(place);
                let op = Op::Zero { no_hole, fast_only };
                Submitted::Full(Request { tag, object, at, len, op, fua, due })
            }
        }
    }

    fn remember(&mut self, in_flight: InFlight) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.in_flight[place as usize] = in_flight;
                place
            }
            None => {
                self.in_flight.push(in_flight);
                self.in_flight.len() as u32 - 1
            }
        }
    }

    fn end(&self, done: Done, now: Time) -> Completion {
        let InFlight { tag, object, kind, len, due, since } = self.in_flight[done.token as usize];
        Completion {
            tag,
            object,
            kind,
            len,
            due,
            end: now,
            queued: Span::ZERO,
            service: now.since(since),
            cause: Cause::Nothing,
            result: done.result.map(|_| ()).map_err(uring::Failure::fault),
            detail: None,
            buf: done.buf,
            extents: Vec::new(),
        }
    }
}

/// The traits of several files together.
pub(super) fn traits_of(files: &[LocalFile]) -> Traits {
    Traits {
        size: files.iter().map(|file| file.size).max().unwrap_or(Bytes(0)),
        align: files.iter().map(|file| file.align).max().unwrap_or(1),
        longest: 64 << 20,
        carries_data: true,
        read_only: false,
    }
}

impl Target for RingTarget {
    fn traits(&self) -> Traits {
        self.traits
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let Some(&file) = self.files.get(request.object.0 as usize) else {
            return self.refuse(request, now, Fault::Invalid);
        };
        if let Op::Zero { no_hole, fast_only } = request.op {
            return self.submit_zero(now, file, &request, (no_hole, fast_only));
        }
        let Request { tag, object, at, len, fua, due, .. } = request;
        let kind = request.op.kind();
        let job = match request.op {
            Op::Read => match self.io.take(len as u32) {
                Some(buf) => Job::Read { file, at, buf },
                None => return Submitted::Full(request),
            },
            Op::Write(buf) => Job::Write { file, at, buf, durable: fua },
            Op::Flush if fua => Job::SyncAll { file },
            Op::Flush => Job::Sync { file },
            Op::Trim => Job::Punch { file, at, len },
            Op::Zero { .. } | Op::Cache | Op::Status { .. } => return self.refuse(request, now, Fault::Unsupported),
        };
        let place = self.remember(InFlight { tag, object, kind, len, due, since: now });
        match self.port.push(u64::from(place), job) {
            Ok(()) => Submitted::Taken(Ticket(u64::from(place))),
            Err(job) => {
                self.free.push(place);
                let op = match job {
                    Job::Read { buf, .. } => {
                        self.io.give(buf);
                        Op::Read
                    }
                    Job::Write { buf, .. } => Op::Write(buf),
                    Job::Sync { .. } | Job::SyncAll { .. } => Op::Flush,
                    _ => Op::Trim,
                };
                Submitted::Full(Request { tag, object, at, len, op, fua, due })
            }
        }
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.refused);
        if !self.port.is_ready() {
            return;
        }
        let mut reaped = std::mem::take(&mut self.reaped);
        self.port.reap(&mut reaped);
        for done in reaped.drain(..) {
            let place = done.token as u32;
            out.push(self.end(done, now));
            self.free.push(place);
        }
        self.reaped = reaped;
    }

    fn next_wakeup(&self) -> Wakeup {
        if !self.refused.is_empty() || self.port.is_ready() {
            Wakeup::Now
        } else if self.port.in_flight() > 0 {
            Wakeup::External
        } else {
            Wakeup::Idle
        }
    }

    fn cancel(&mut self, _now: Time, ticket: Ticket) {
        self.port.cancel(ticket.0);
    }
}

impl Drop for RingTarget {
    fn drop(&mut self) {
        self.files.iter().for_each(|&file| self.io.close(file));
        for completion in &mut self.refused {
            completion.buf.take().into_iter().for_each(|buf| self.io.give(buf));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uring::IoSettings;

    /// A ring with room for one request has one: the zeroing after it is handed back unchanged.
    #[test]
    fn a_zeroing_without_room_is_handed_back_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, vec![1; 8192]).unwrap();
        let settings = IoSettings { in_flight: 1, entries: 8, slab: Bytes::mib(1), ..IoSettings::default() };
        let io = Io::open(&settings).unwrap();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut target = RingTarget::new(&io, vec![LocalFile { file, size: Bytes(8192), align: 1 }]);
        let request = |tag, op| Request { tag, object: ObjectId(0), at: 0, len: 4096, op, fua: false, due: Time::ZERO };
        let Submitted::Taken(_) = target.submit(Time::ZERO, request(1, Op::Trim)) else { panic!("there is room") };
        for (no_hole, fast_only) in [(false, false), (true, false), (false, true), (true, true)] {
            let zero = request(2, Op::Zero { no_hole, fast_only });
            let Submitted::Full(back) = target.submit(Time::ZERO, zero) else { panic!("there is no room") };
            assert!(
                matches!(back.op, Op::Zero { no_hole: n, fast_only: f } if (n, f) == (no_hole, fast_only)),
                "{back:?} of {no_hole} and {fast_only}"
            );
            assert_eq!((back.tag, back.len), (2, 4096));
        }
    }
}
