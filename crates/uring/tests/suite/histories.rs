//! Random histories of pushes, cancellations, closes and dropped ports, on every backend. The
//! invariants: every job that a living port pushed ends exactly once, and in the end every buffer
//! was given back.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;

use crate::backends::settings;
use block::{Driver, Time};
use proptest::prelude::*;
use uring::{Choice, Done, FileId, Io, IoSettings, Job, Message, Port, TaskWork};

#[derive(Clone, Debug)]
enum Step {
    Read(u8),
    Write(u8),
    Receive(u8),
    Send(u8, u16),
    Wait(u8),
    Cancel(u64),
    Close(u8),
    Reopen,
    NewPort,
    Submit,
    Turn,
    Reap,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Read),
        2 => any::<u8>().prop_map(Step::Write),
        2 => any::<u8>().prop_map(Step::Receive),
        2 => (any::<u8>(), any::<u16>()).prop_map(|(which, len)| Step::Send(which, len)),
        1 => any::<u8>().prop_map(Step::Wait),
        2 => any::<u64>().prop_map(Step::Cancel),
        1 => any::<u8>().prop_map(Step::Close),
        1 => Just(Step::Reopen),
        1 => Just(Step::NewPort),
        3 => Just(Step::Submit),
        6 => Just(Step::Turn),
        3 => Just(Step::Reap),
    ]
}

/// A worker with the state of a history and what it expects.
struct Fixture {
    io: Io,
    port: Port,
    disk: FileId,
    sockets: Vec<FileId>,
    next: u64,
    /// Tokens of the living port's jobs that have not ended.
    open: HashMap<u64, ()>,
}

impl Fixture {
    fn new(settings: &IoSettings) -> Fixture {
        let io = Io::open(settings).unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(256 * 4096).unwrap();
        let (port, disk) = (io.port(), io.register(file));
        let mut fixture = Fixture { io, port, disk, sockets: Vec::new(), next: 0, open: HashMap::new() };
        fixture.reopen();
        fixture
    }

    fn reopen(&mut self) {
        let (one, two) = UnixStream::pair().unwrap();
        self.sockets.extend([self.io.register(one), self.io.register(two)]);
    }

    fn push(&mut self, job: Job) {
        let token = self.next;
        self.next += 1;
        match self.port.push(token, job) {
            Ok(()) => drop(self.open.insert(token, ())),
            Err(back) => give_back(&self.io, back),
        }
    }

    fn reap(&mut self) {
        let mut all = Vec::new();
        self.port.reap(&mut all);
        for Done { token, buf, message, .. } in all {
            assert!(self.open.remove(&token).is_some(), "{token} ended twice, or never began");
            buf.into_iter().for_each(|buf| self.io.give(buf));
            if let Some(mut message) = message {
                message.unload().for_each(|buf| self.io.give(buf));
            }
        }
        assert_eq!(self.port.in_flight() as usize, self.open.len());
    }

    fn step(&mut self, step: &Step) {
        let socket = |which: u8| self.sockets[usize::from(which) % self.sockets.len()];
        let at = |place: u8| u64::from(place) * 4096;
        let buf = |len| self.io.take(len);
        let job = match *step {
            Step::Read(place) => buf(4096).map(|buf| Job::Read { file: self.disk, at: at(place), buf }),
            Step::Write(place) => {
                buf(4096).map(|buf| Job::Write { file: self.disk, at: at(place), buf, durable: false })
            }
            Step::Receive(which) => buf(1000).map(|buf| Job::Receive { socket: socket(which), buf }),
            Step::Send(which, len) => buf(u32::from(len) * 16).map(|data| {
                let mut message = Message::default();
                message.header(&[1; 16]);
                message.data(data);
                Job::Send { socket: socket(which), message }
            }),
            Step::Wait(which) => Some(Job::PollIn { file: socket(which) }),
            Step::Cancel(token) => return self.port.cancel(token % self.next.max(1)),
            Step::Close(which) => return self.io.close(socket(which)),
            Step::Reopen => return self.reopen(),
            Step::NewPort => {
                self.port = self.io.port();
                return self.open.clear();
            }
            Step::Submit => return self.io.submit(),
            Step::Turn => {
                self.io.turn(Some(Time::ZERO));
                return;
            }
            Step::Reap => return self.reap(),
        };
        if let Some(job) = job {
            self.push(job);
        }
    }

    /// Closes everything, after which all jobs must end by themselves.
    fn end(mut self) {
        let Fixture { io, sockets, .. } = &self;
        sockets.iter().for_each(|&socket| io.close(socket));
        while !self.open.is_empty() || self.io.outstanding() > 0 {
            self.io.turn(None);
            self.reap();
        }
    }
}

fn give_back(io: &Io, job: Job) {
    match job {
        Job::Read { buf, .. } | Job::Write { buf, .. } | Job::Receive { buf, .. } => io.give(buf),
        Job::Send { mut message, .. } => message.unload().for_each(|buf| io.give(buf)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_job_ends_once_and_every_buffer_comes_back(
        backend in 0usize..3,
        steps in proptest::collection::vec(step(), 1..250),
        clean in any::<bool>(),
    ) {
        let (backend, task_work) = [
            (Choice::Auto, TaskWork::Deferred),
            (Choice::Auto, TaskWork::Plain),
            (Choice::Threads, TaskWork::Deferred),
        ][backend];
        let mut fixture = Fixture::new(&IoSettings { backend, task_work, ..settings() });
        for step in &steps {
            fixture.step(step);
        }
        if clean {
            fixture.end();
        }
    }
}
