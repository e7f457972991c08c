//! One experiment in virtual time: a device, clients, and edits at their times.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use array::{DeviceSpec, VirtualClock};
use block::{Actor, Completion, Request, Submitted, Target, Time, Wait, Wakeup, drive};
use qos::{Edit, EditError, Gate, Settings};

use crate::client::{Client, Worker};
use crate::print;
use crate::probe::Probe;
use crate::recording::{Ended, Recording, Track};

/// One experiment.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The device.
    pub device: DeviceSpec,
    /// The clients.
    pub clients: Vec<Client>,
    /// The edits and their times, in order. Those at the epoch come before the first request.
    pub edits: Vec<(Time, Edit)>,
    /// When it ends. Requests outstanding then are not waited for.
    pub until: Time,
    /// All randomness follows from it.
    pub seed: u64,
}

/// A target that takes edits.
pub trait Shield: Target {
    /// Applies one edit whole or not at all.
    fn apply(&mut self, now: Time, edit: &Edit) -> Result<(), EditError>;
}

/// This many polls at one instant mean that the target makes no progress: no scene has so many
/// requests at once.
const SPINS: u32 = 1_000_000;

/// Nothing around the device: edits have no effect.
struct Bare<T>(T);

impl Scene {
    /// Plays the scene behind a gate.
    ///
    /// # Panics
    /// As [`Scene::play`].
    pub fn run(&self) -> Recording {
        self.play(|device| Gate::new(device, Settings::default()))
    }

    /// Plays the scene without a gate, on the device itself.
    pub fn run_bare(&self) -> Recording {
        self.play(Bare)
    }

    /// Plays the scene behind what `shield` makes of the device.
    ///
    /// # Panics
    /// When an edit is refused, a request is answered twice or never asked, or the target spins.
    pub fn play<S: Shield>(&self, shield: impl FnOnce(Probe<Box<dyn Target>>) -> S) -> Recording {
        let device = self.device.build(self.seed).unwrap_or_else(|error| panic!("seed {}: {error}", self.seed));
        let (probe, seen) = Probe::on(device);
        let mut stage = Stage::new(self, shield(probe));
        let until = self.until;
        drive(&mut VirtualClock::new(), std::slice::from_mut(&mut stage), |_, _| Wait::Until(until));
        let recording = Recording { dispatches: seen.take(), tracks: stage.tracks, until: self.until };
        print::note(self, std::any::type_name::<S>(), &recording);
        recording
    }
}

/// A scene being played.
struct Stage<'a, S> {
    scene: &'a Scene,
    target: S,
    /// The instant of the last pass, and how many passes there were at it.
    now: Time,
    spins: u32,
    workers: Vec<Worker>,
    tracks: Vec<Track>,
    /// When which client's thread sends next; `None` is the next arrival of an open loop.
    asks: BinaryHeap<Reverse<(Time, u32, Option<u32>)>>,
    /// Clients with requests that a full target refused, in the order of their turns.
    refused: VecDeque<u32>,
    edits: usize,
    ended: Vec<Completion>,
}

impl<'a, S: Shield> Stage<'a, S> {
    fn new(scene: &'a Scene, target: S) -> Stage<'a, S> {
        let size = scene.device.size.0;
        let workers = scene.clients.iter().zip(0..).map(|(c, number)| Worker::new(c.clone(), number, size, scene.seed));
        let mut stage = Stage {
            scene,
            target,
            now: Time::ZERO,
            spins: 0,
            workers: workers.collect(),
            tracks: vec![Track::default(); scene.clients.len()],
            asks: BinaryHeap::new(),
            refused: VecDeque::new(),
            edits: 0,
            ended: Vec::new(),
        };
        for number in 0..stage.workers.len() as u32 {
            let worker = &mut stage.workers[number as usize];
            let threads = (0..worker.threads()).map(|thread| Reverse((worker.client.from, number, Some(thread))));
            stage.asks.extend(threads);
            stage.note_arrival(number);
        }
        stage
    }

    /// When something happens next.
    fn next_instant(&self, now: Time) -> Option<Time> {
        let wake = match self.target.next_wakeup() {
            Wakeup::Now => return Some(now),
            Wakeup::At(at) => at.max(now),
            Wakeup::External | Wakeup::Idle => Time::MAX,
        };
        let edit = self.scene.edits.get(self.edits).map_or(Time::MAX, |edit| edit.0);
        let ask = self.asks.peek().map_or(Time::MAX, |Reverse(ask)| ask.0);
        Some(wake.min(edit).min(ask)).filter(|&at| at < Time::MAX)
    }

    fn edit(&mut self, now: Time) {
        while let Some((_, edit)) = self.scene.edits.get(self.edits).filter(|edit| edit.0 <= now) {
            self.edits += 1;
            if let Err(error) = self.target.apply(now, edit) {
                panic!("seed {}: {edit:?}: {error}", self.scene.seed);
            }
        }
    }

    /// Sends everything that is due.
    fn ask(&mut self, now: Time) {
        while let Some(&Reverse((at, number, thread))) = self.asks.peek().filter(|Reverse(ask)| ask.0 <= now) {
            self.asks.pop();
            let worker = &mut self.workers[number as usize];
            let request = match thread {
                Some(thread) => worker.ask(thread, at),
                None => worker.arrive(at),
            };
            if thread.is_none() {
                self.note_arrival(number);
            }
            self.submit(now, number, request);
        }
    }

    fn note_arrival(&mut self, number: u32) {
        if let Some(at) = self.workers[number as usize].next_arrival() {
            self.asks.push(Reverse((at, number, None)));
        }
    }

    /// Hands a request over, or keeps it behind those of its client that were refused before.
    fn submit(&mut self, now: Time, number: u32, request: Request) {
        let worker = &mut self.workers[number as usize];
        if !worker.refused.is_empty() {
            worker.refused.push_back(request);
        } else if let Submitted::Full(back) = self.target.submit(now, request) {
            worker.refused.push_back(back);
            self.refused.push_back(number);
        }
    }

    /// Records completions, lets closed loops send again at once, and retries what was refused.
    fn answer(&mut self, now: Time) {
        let mut ended = std::mem::take(&mut self.ended);
        for completion in ended.drain(..) {
            let (number, thread) = ((completion.tag >> 32) as u32, completion.tag as u32);
            self.tracks[number as usize].ends.push(note(&completion));
            let worker = &mut self.workers[number as usize];
            match worker.ended(thread, now) {
                Some(at) if at <= now => {
                    let request = worker.ask(thread, at);
                    self.submit(now, number, request);
                }
                Some(at) => self.asks.push(Reverse((at, number, Some(thread)))),
                None => {}
            }
        }
        self.ended = ended;
        self.retry(now);
    }

    /// Retries each client's oldest refused request, in turns until every one of them is refused
    /// again: a target may be full for one object and not for another.
    fn retry(&mut self, now: Time) {
        let mut left = self.refused.len();
        while left > 0 {
            let number = self.refused.pop_front().expect("at least as many as are left");
            let refused = &mut self.workers[number as usize].refused;
            let request = refused.pop_front().expect("a client in the queue was refused something");
            match self.target.submit(now, request) {
                Submitted::Full(back) => {
                    refused.push_front(back);
                    left -= 1;
                }
                Submitted::Taken(_) if refused.is_empty() => {
                    left -= 1;
                    continue;
                }
                Submitted::Taken(_) => left = self.refused.len() + 1,
            }
            self.refused.push_back(number);
        }
    }
}

impl<S: Shield> Actor for Stage<'_, S> {
    fn pass(&mut self, now: Time) {
        self.spins = if now > self.now { 0 } else { self.spins + 1 };
        assert!(self.spins < SPINS, "seed {}: the target asks for polls at {now:?} for ever", self.scene.seed);
        self.now = now;
        self.edit(now);
        self.ask(now);
        self.target.poll(now, &mut self.ended);
        self.answer(now);
    }

    fn next_wakeup(&self, now: Time) -> Wakeup {
        self.next_instant(now).map_or(Wakeup::Idle, Wakeup::At)
    }

    fn is_over(&self, now: Time) -> bool {
        self.next_instant(now).is_none_or(|at| at >= self.scene.until)
    }
}

fn note(completion: &Completion) -> Ended {
    Ended {
        at: completion.end,
        response: completion.response(),
        service: completion.service,
        len: completion.len,
        cause: completion.cause,
        result: completion.result,
    }
}

impl<T: Target> Shield for Gate<T> {
    fn apply(&mut self, now: Time, edit: &Edit) -> Result<(), EditError> {
        self.edit(now, edit)
    }
}

impl<T: Target> Shield for Bare<T> {
    fn apply(&mut self, _now: Time, _edit: &Edit) -> Result<(), EditError> {
        Ok(())
    }
}

impl<T: Target> Target for Bare<T> {
    fn traits(&self) -> block::Traits {
        self.0.traits()
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.0.submit(now, request)
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        self.0.poll(now, out);
    }
    fn next_wakeup(&self) -> Wakeup {
        self.0.next_wakeup()
    }
    fn cancel(&mut self, now: Time, ticket: block::Ticket) {
        self.0.cancel(now, ticket);
    }
}
