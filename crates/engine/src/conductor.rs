//! Plays a plan's phases on a stage, second by second, and writes the run.

use crate::worker::WorkloadSecond;
use block::{Bytes, Span, Time};
use stats::run::{self, Actor, GateRow, Place, Point, Run, Served, State};
use stats::{DispatchTrace, FloorFared, HeldBy, Histogram, LimitsInForce, SETTLE, Waits};
use workload::plan::Plan;
use workload::{Arrival, Spec};

/// What takes administrators' lines: a server, or its model in virtual time.
pub trait Managed {
    /// Runs an administrator's line and returns its answer.
    ///
    /// # Errors
    /// The line was refused, in one line.
    fn command(&mut self, line: &str) -> Result<String, StageError>;

    /// The numbers in force for every object with a policy and every shared group, by path.
    fn limits(&mut self) -> Vec<(String, LimitsInForce)>;

    /// The space that every volume uses now, by path; nothing where it cannot be told.
    fn used(&mut self) -> Vec<(String, Bytes)>;
}

/// What plays a plan: the real server and its clients, or the simulator.
pub trait Stage {
    /// What the plan's commands go to; `None` where all its places are others'.
    fn managed(&mut self) -> Option<&mut dyn Managed>;

    /// Gives a workload the shape that a phase of the plan has for it.
    ///
    /// # Errors
    /// The stage lost its worker.
    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError>;

    /// Lets time pass until `until` and tells what happened since the last call.
    ///
    /// # Errors
    /// The server or the clients failed.
    fn run(&mut self, until: Time) -> Result<Second, StageError>;

    /// The stage's clock.
    fn now(&self) -> Time;
}

/// Why a stage could not go on; one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StageError(pub String);

/// About a second, from both sides.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// What the clients saw, in the plan's order of workloads.
    pub workloads: Vec<WorkloadSecond>,
    /// What the server saw.
    pub objects: Vec<ObjectSecond>,
    /// Part of a processor that the server's thread used, 0 to 1.
    pub server_busy: f64,
    /// Part of a processor that the clients' thread used, 0 to 1.
    pub client_busy: f64,
    /// Time in which the server's thread was kept from the processor, see [`Point::stalled`].
    pub stalled: Span,
    /// What the server has to say about its policies, one line; empty when nothing.
    pub advice: String,
}

/// A storage object or shared group as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct ObjectSecond {
    /// Its path, or the group's name.
    pub path: String,
    /// Whether it is a shared group.
    pub is_group: bool,
    /// Waited in the gate.
    pub queued: Histogram,
    /// In the device.
    pub device: Histogram,
    /// Where the time went, a request's mean.
    pub waits: Waits,
    /// What held it back at the gate; [`HeldBy::Nothing`] when the gate did not.
    pub held_by: HeldBy,
    /// Whose ceiling or budget that was: a path or a group's name; empty when it was none.
    pub held_at: String,
    /// How its own floor fared.
    pub floor: FloorFared,
    /// Dispatches, in bins of absolute time.
    pub trace: DispatchTrace,
}

fn used(stage: &mut dyn Stage) -> Vec<(String, Bytes)> {
    stage.managed().map(Managed::used).unwrap_or_default()
}

/// Who watches a run.
pub trait Pace {
    /// A second has passed. Returns whether to go on.
    fn second(&mut self, run: &Run, phase: usize, passed: Span, whole: Span) -> bool;
}

/// A processor this busy is taken to be what holds the work back.
const BUSY_LIMIT: f64 = 0.93;

/// From this part of what a client makes on it is that which bounds it: less may be chance of where a second ends.
const PACE_KEPT: f64 = 0.98;

/// Plays one plan.
pub struct Conductor<'a> {
    plan: &'a Plan,
    /// The lines to run in each phase, scaled; the plan has them as published.
    commands: Vec<Vec<String>>,
    /// What the workloads use, in the plan's order: objects by the paths that the server has for them, or other places.
    places: Vec<Place>,
    /// A request's mean time in the idle device: twice that is a queue in it.
    idle_service: Span,
    start: Time,
    run: Run,
    /// Phases begun when the server's advice was noted last.
    advised: usize,
}

impl<'a> Conductor<'a> {
    /// For `plan`, whose workloads use `places` and whose phases run `commands`. A request takes
    /// `idle_service` in the idle device. `run` has its identity and the machine filled in.
    pub fn new(
        plan: &'a Plan,
        commands: Vec<Vec<String>>,
        places: Vec<Place>,
        idle_service: Span,
        mut run: Run,
    ) -> Conductor<'a> {
        for (workload, place) in plan.workloads.iter().zip(&places) {
            let place = Some(run.place(place.clone()));
            run.actors.push(Actor { name: workload.name.clone(), host: workload.host.clone(), group: None, place });
        }
        Conductor { plan, commands, places, idle_service, start: Time::ZERO, run, advised: 0 }
    }

    /// Plays every phase. The run comes back also when it was cut short or failed, with what was measured.
    pub fn play(mut self, stage: &mut dyn Stage, pace: &mut dyn Pace) -> (Run, Result<(), StageError>) {
        let whole = self.plan.phases.iter().map(|phase| self.plan.length(phase)).sum();
        // Bins of a trace start at multiples of 10 ms, so the run does too.
        let now = stage.now().as_nanos();
        self.start = Time::from_nanos(now - now % BIN.as_nanos());
        for (path, used) in used(stage) {
            self.run.object(&path).used_start = Some(used);
        }
        let played = self.play_phases(stage, pace, whole);
        for (path, used) in used(stage) {
            self.run.object(&path).used_end = Some(used);
        }
        self.run.identity.state = if matches!(played, Ok(true)) { State::Ended } else { State::CutShort };
        (self.run, played.map(|_| ()))
    }

    /// Whether all were played to their end.
    fn play_phases(&mut self, stage: &mut dyn Stage, pace: &mut dyn Pace, whole: Span) -> Result<bool, StageError> {
        for index in 0..self.plan.phases.len() {
            if !self.play_phase(stage, pace, index, whole)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn play_phase(
        &mut self,
        stage: &mut dyn Stage,
        pace: &mut dyn Pace,
        index: usize,
        whole: Span,
    ) -> Result<bool, StageError> {
        let phase = &self.plan.phases[index];
        let length = self.plan.length(phase);
        for line in &self.commands[index] {
            let done = match stage.managed() {
                Some(managed) => managed.command(line),
                None => Err(StageError("the plan has no volume of its own server".into())),
            };
            done.map_err(|error| StageError(format!("phase {}: {line}: {error}", phase.name)))?;
        }
        for (workload, spec) in phase.specs.iter().enumerate() {
            stage.reshape(workload, spec)?;
        }
        let began = stage.now();
        self.begin_phase(stage, index, began);
        let end = began + length;
        let (mut at, mut going_on) = (began, true);
        while going_on && at < end {
            // A stage runs a little late, so that at the end a splinter may be left: it belongs to the last second.
            let until = if end.since(at) < Span::SECOND + SPLINTER { end } else { at + Span::SECOND };
            let second = stage.run(until)?;
            let now = stage.now();
            self.take(&second, at, now, at.since(began) >= SETTLE || length <= SETTLE);
            at = now;
            self.run.points[index].end = now.since(self.start);
            going_on = pace.second(&self.run, index, now.since(self.start), whole);
        }
        self.note_stalls(index);
        Ok(going_on)
    }

    /// Tells the reader when something else had the server's processor for long enough to be seen in the figures.
    fn note_stalls(&mut self, index: usize) {
        let point = &self.run.points[index];
        let (name, length) = (&point.name, point.length());
        if let Some(stalled) = point.stalled.filter(|stalled| *stalled > length / 100) {
            self.run.notes.push(format!(
                "phase {name}: the processor was taken from the server for {stalled} of {length}, by something else on \
                 this machine"
            ));
        }
    }

    fn begin_phase(&mut self, stage: &mut dyn Stage, index: usize, began: Time) {
        let phase = &self.plan.phases[index];
        let start = began.since(self.start);
        self.run.begin_point(Point {
            name: phase.name.clone(),
            about: phase.about.clone(),
            commands: self.commands[index].clone(),
            commands_published: phase.commands.clone(),
            start,
            end: start,
            stalled: Some(Span::ZERO),
        });
        let limits = stage.managed().map(Managed::limits).unwrap_or_default();
        for (path, _) in &limits {
            self.run.object(path);
        }
        for object in &mut self.run.objects {
            let in_force = limits.iter().find(|(path, _)| *path == object.path).map(|(_, limits)| limits.clone());
            object.limits.resize(index, LimitsInForce::default());
            object.limits.push(in_force.unwrap_or_default());
        }
    }

    /// Books a second; into the phase's cells too when it has settled.
    fn take(&mut self, second: &Second, from: Time, to: Time, settled: bool) {
        let length = to.since(from);
        let start = from.since(self.start);
        let points = self.run.points.len();
        if let Some(point) = self.run.points.last_mut() {
            point.stalled = Some(point.stalled.unwrap_or_default() + second.stalled);
            // Its numbers change from second to second; once a phase is enough.
            if !second.advice.is_empty() && std::mem::replace(&mut self.advised, points) != points {
                self.run.notes.push(format!("phase {}: {}", point.name, second.advice));
            }
        }
        let point = points.saturating_sub(1) as u32;
        for (number, seen) in second.workloads.iter().enumerate() {
            let server = second.objects.iter().find(|object| object.path == self.places[number].name);
            let service = seen.tape.merged(|track| &track.service);
            let held_by = self.held_by(number, seen, &service, server, second, length);
            let held_at = server.filter(|object| object.held_by == held_by && !object.held_at.is_empty());
            let held_at = held_at.map(|object| self.run.object_number(&object.held_at) as u32);
            let actor = number as u32;
            let outstanding = seen.outstanding;
            let served = server.map(|object| Served { queued: &object.queued, device: &object.device });
            let at = run::Second { point, actor, start, length, outstanding, settled };
            self.run.add_second(&seen.tape, at, served);
            let waits = server.map(|object| object.waits).unwrap_or_default();
            let floor = floor_over(&self.places[number].name, second);
            self.run.add_gate_row(actor, GateRow { start, length, waits, held_by, held_at, floor });
        }
        let shift = self.start.as_nanos() / BIN.as_nanos();
        for object in &second.objects {
            let record = self.run.object(&object.path);
            record.is_group = object.is_group;
            // What passed before the run began is none of it.
            for (bin, ops, bytes) in object.trace.bins() {
                if let Some(bin) = bin.checked_sub(shift) {
                    record.trace.add_bin(bin, ops, bytes);
                }
            }
        }
    }

    /// What held a workload back: the gate says so, or it got all that its client makes, or a processor was busy, or the
    /// device had a queue, or nobody did and it simply did not ask for more.
    fn held_by(
        &self,
        workload: usize,
        seen: &WorkloadSecond,
        service: &Histogram,
        server: Option<&ObjectSecond>,
        second: &Second,
        length: Span,
    ) -> HeldBy {
        if let Some(object) = server.filter(|object| object.held_by != HeldBy::Nothing) {
            return object.held_by;
        }
        let ops: u64 = seen.tape.tracks().map(|track| track.ops).sum();
        if ops == 0 && seen.outstanding == 0 {
            return HeldBy::Nothing;
        }
        let phase = self.run.points.len().saturating_sub(1);
        let most = self.plan.phases.get(phase).and_then(|phase| most_asked(&phase.specs[workload]));
        if most.is_some_and(|most| ops as f64 >= PACE_KEPT * most * length.as_secs_f64()) {
            return HeldBy::Pace;
        }
        if second.server_busy.max(second.client_busy) > BUSY_LIMIT {
            return HeldBy::Cpu;
        }
        let device = server.map_or(service.mean(), |object| object.device.mean());
        // Most of the time passed neither in the gate nor in the device: on the way, for want of a processor. Counted
        // from the hand-over, because an open loop that is behind waits before that, for whatever reason.
        let known = server.map_or(device, |object| object.queued.mean() + device);
        if known * 2 < service.mean() && known > Span::ZERO && device > self.idle_service * 2 {
            return HeldBy::Cpu;
        }
        if device > self.idle_service * 2 { HeldBy::Disk } else { HeldBy::Depth }
    }
}

/// Requests a second that a workload makes at most, if its plan bounds them.
fn most_asked(spec: &Spec) -> Option<f64> {
    match spec.arrival {
        Arrival::Open { rate, .. } => Some(rate.0 as f64),
        Arrival::Closed { .. } => spec.pace.map(|pace| pace.0 as f64 * f64::from(spec.connections)),
    }
}

/// How the floor fared that an object is under: its own, or the nearest above it.
fn floor_over(path: &str, second: &Second) -> FloorFared {
    let is_over = |above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with(":/"))
    };
    let over = second.objects.iter().filter(|object| object.floor != FloorFared::NotSet && is_over(&object.path));
    over.max_by_key(|object| object.path.len()).map_or(FloorFared::NotSet, |object| object.floor)
}

/// What is left of a phase and shorter than this is no interval of its own.
const SPLINTER: Span = Span::from_millis(250);

/// The length of a trace's bin.
const BIN: Span = Span::from_millis(1000 / stats::BINS_A_SECOND as u64);
