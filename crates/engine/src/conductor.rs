//! Plays the phases of a plan as points, second by second, on a stage.

mod cause;

use self::cause::Known;
use crate::course::{self, BIN, Managed, Scene, StageError};
use crate::worker::WorkloadSecond;
use block::{Span, Time};
use stats::job::Losses;
use stats::run::{self, Class, GateRow, Hits, Point, Run, RunActor, RunPlace, Served};
use stats::{DispatchTrace, FloorOutcome, HeldBy, Histogram, SETTLE, Waits};
use std::borrow::Cow;
use workload::Spec;
use workload::plan::{Phase, Plan};

/// What plays a plan: the real server and its clients, or the simulator.
pub trait Stage {
    /// Where the plan's commands go; `None` if the plan uses only storage of others.
    fn managed(&mut self) -> Option<&mut dyn Managed>;

    /// Changes a workload's load to what a phase of the plan asks of it.
    ///
    /// # Errors
    /// The stage lost its worker.
    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError>;

    /// [`Stage::reshape`] for all workloads, in the plan's order.
    ///
    /// # Errors
    /// As [`Stage::reshape`].
    fn reshape_all(&mut self, specs: &[Spec]) -> Result<(), StageError> {
        specs.iter().enumerate().try_for_each(|(workload, spec)| self.reshape(workload, spec))
    }

    /// Advances time to `until` and returns what happened since the last call.
    ///
    /// # Errors
    /// The server or the clients failed.
    fn run(&mut self, until: Time) -> Result<Second, StageError>;

    /// The stage's clock.
    fn now(&self) -> Time;
}

/// About one second of a run, as clients and server saw it.
#[derive(Clone, Debug, Default)]
pub struct Second {
    /// What the clients saw, in the plan's order of workloads.
    pub workloads: Vec<WorkloadSecond>,
    /// What the server saw.
    pub objects: Vec<ObjectSecond>,
    /// Fraction of one processor used by the server's thread, 0 to 1.
    pub server_busy: f64,
    /// Fraction of one processor used by the clients' thread, 0 to 1.
    pub client_busy: f64,
    /// Time in which the server's thread was ready but did not run; see [`Point::stalled`].
    pub stalled: Span,
    /// How often connections had to wait for limits of the server's link.
    pub link: LinkWaits,
    /// The server's advice about its policies, one line; empty if there is none.
    pub advice: String,
}

impl Second {
    /// Time that the device took for requests, over all objects.
    pub fn device(&self) -> Histogram {
        let mut device = Histogram::new();
        self.objects.iter().for_each(|object| device.merge(&object.device));
        device
    }
}

/// How often connections had to wait for a limit of the server's link, by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkWaits {
    /// The connection's own limit.
    pub flow: u64,
    /// The limit shared by all connections, while it had burst credit.
    pub burst: u64,
    /// The limit shared by all connections, without credit.
    pub whole: u64,
}

impl LinkWaits {
    /// The difference to `before`, which is then set to `self`.
    #[must_use]
    pub fn since(self, before: &mut LinkWaits) -> LinkWaits {
        let was = std::mem::replace(before, self);
        LinkWaits { flow: self.flow - was.flow, burst: self.burst - was.burst, whole: self.whole - was.whole }
    }

    /// The limit that was waited for most often.
    fn most(self) -> Option<HeldBy> {
        let all = [(self.flow, HeldBy::Flow), (self.burst, HeldBy::Burst), (self.whole, HeldBy::Link)];
        all.into_iter().filter(|(waits, _)| *waits > 0).max_by_key(|(waits, _)| *waits).map(|(_, held_by)| held_by)
    }
}

/// A storage object or shared group as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct ObjectSecond {
    /// Its path, or the group's name.
    pub path: String,
    /// Whether it is a shared group.
    pub is_group: bool,
    /// Time spent waiting in the gate.
    pub queued: Histogram,
    /// Time spent in the device.
    pub device: Histogram,
    /// Mean waiting time of a request, by cause.
    pub waits: Waits,
    /// What held requests back at the gate; [`HeldBy::Nothing`] if the gate did not.
    pub held_by: HeldBy,
    /// The owner of the limit in `held_by`: a path or a group's name; empty if there is none.
    pub held_at: String,
    /// Whether its own floor was met.
    pub floor: FloorOutcome,
    /// Dispatches, in bins of absolute time.
    pub trace: DispatchTrace,
    /// Cache hits and misses of its reads.
    pub cached: Hits,
}

/// Watches a run and can end it.
pub trait RunWatcher {
    /// Called after each second; returns whether to go on.
    fn second(&mut self, run: &Run, phase: usize, passed: Span, whole: Span) -> bool;

    /// Up to which time of the run its seconds may be folded into minutes. A watcher that stores
    /// them answers how far it has.
    fn foldable(&mut self, run: &Run) -> Span {
        let _ = run;
        Span::from_nanos(u64::MAX)
    }
}

/// Plays one plan's phases on a stage, in its order of workloads.
pub struct Conductor<'a> {
    plan: &'a Plan,
    stage: &'a mut dyn Stage,
    watcher: &'a mut dyn RunWatcher,
    /// The storage that each workload uses, in the plan's order: the server's objects by path, or
    /// other places.
    places: Vec<RunPlace>,
    /// Mean service time of the idle device. Twice that means that requests queue in the device.
    idle_service: Span,
    /// The phases that have not begun yet.
    points: std::vec::IntoIter<Point>,
    /// What each workload's connections lost in the current phase.
    losses: Vec<Losses>,
    /// How many points had begun when the server's advice was last noted.
    advised: usize,
}

impl<'a> Conductor<'a> {
    /// A conductor for `plan` on `stage`, whose workloads use `places`; `idle_service` is the mean
    /// service time of the idle device.
    pub fn new(
        plan: &'a Plan,
        stage: &'a mut dyn Stage,
        watcher: &'a mut dyn RunWatcher,
        places: Vec<RunPlace>,
        idle_service: Span,
    ) -> Conductor<'a> {
        Conductor {
            plan,
            stage,
            watcher,
            places,
            idle_service,
            points: Vec::new().into_iter(),
            losses: Vec::new(),
            advised: 0,
        }
    }

    /// Plays every phase, after running its entry of `commands`; the commands in the plan are those
    /// of the published machine. `run` has its identity and its machine filled in. It is returned
    /// with what was measured even if it was cut short or failed.
    pub fn play(mut self, commands: Vec<Vec<String>>, mut run: Run) -> (Run, Result<(), StageError>) {
        for (workload, place) in self.plan.workloads.iter().zip(&self.places) {
            let place = Some(run.place(place.clone()));
            run.actors.push(RunActor { name: workload.name.clone(), host: workload.host.clone(), group: None, place });
        }
        let point = |(phase, commands): (&Phase, Vec<String>)| Point {
            name: phase.name.clone(),
            about: phase.about.clone(),
            commands,
            commands_published: phase.commands.clone(),
            stalled: Some(Span::ZERO),
            ..Point::default()
        };
        self.points = self.plan.phases.iter().zip(commands).map(point).collect::<Vec<_>>().into_iter();
        course::play(&mut self, run)
    }

    /// Adds a second that started at `start` of the run, which began at `began`. It counts in the
    /// phase's cells only if the phase has settled.
    fn take(&mut self, run: &mut Run, second: &Second, began: Time, (start, length): (Span, Span), settled: bool) {
        let points = run.points.len();
        if let Some(point) = run.points.last_mut() {
            point.stalled = Some(point.stalled.unwrap_or_default() + second.stalled);
            // The figures in the advice change every second; one note a phase is enough.
            if !second.advice.is_empty() && std::mem::replace(&mut self.advised, points) != points {
                run.notes.push(format!("phase {}: {}", point.name, second.advice));
            }
        }
        let point = points - 1;
        let nothing = Histogram::new();
        for (number, seen) in second.workloads.iter().enumerate() {
            self.losses[number].absorb(&seen.losses);
            let paths = self.paths(number);
            let server = joined(&paths, second);
            let server = server.as_deref();
            let shared = self.is_shared(number, &paths, second);
            let (spec, idle_service) = (&self.plan.phases[point].specs[number], self.idle_service);
            let known = Known { spec, seen, server, shared, second, length, idle_service };
            let held_by = known.held_by();
            let held_at = server.filter(|object| object.held_by == held_by && !object.held_at.is_empty());
            let held_at = held_at.map(|object| run.object_number(&object.held_at) as u32);
            let (point, actor, outstanding) = (point as u32, number as u32, seen.outstanding);
            // The server's figures are those of the object. What one of several workloads had of
            // them is not known.
            let own = server.filter(|_| !shared);
            let served = server.map(|object| match shared {
                false => Served { queued: &object.queued, device: &object.device },
                true => Served { queued: &nothing, device: &nothing },
            });
            let at = run::Second { point, actor, start, length, outstanding, settled };
            run.add_second(&seen.tape, at, served);
            let waits = own.map(|object| object.waits).unwrap_or_default();
            let floor = paths.iter().map(|path| floor_over(path, second)).max().unwrap_or_default();
            let floor = known.floor(floor, held_by);
            let cached = own.map(|object| object.cached).unwrap_or_default();
            run.add_gate_row(actor, GateRow { start, length, waits, held_by, held_at, floor, cached });
        }
        let shift = began.as_nanos() / BIN.as_nanos();
        for object in &second.objects {
            let record = run.object(&object.path);
            record.is_group = object.is_group;
            // Dispatches from before the run do not count.
            for (bin, ops, bytes) in object.trace.bins() {
                if let Some(bin) = bin.checked_sub(shift) {
                    record.trace.add_bin(bin, ops, bytes);
                }
            }
        }
    }

    /// Whether another workload used one of the objects at `paths` in a second, too.
    fn is_shared(&self, workload: usize, paths: &[String], second: &Second) -> bool {
        let works = |seen: &WorkloadSecond| seen.outstanding > 0 || seen.tape.tracks().any(|track| track.ops > 0);
        let others = second.workloads.iter().enumerate().filter(|(other, seen)| *other != workload && works(seen));
        others.into_iter().any(|(other, _)| self.paths(other).iter().any(|path| paths.contains(path)))
    }

    /// Notes the connections that were lost in the last point.
    fn note_losses(&self, run: &mut Run) {
        let Some((point, end)) = run.points.last().map(|point| (run.points.len() as u32 - 1, point.end)) else {
            return;
        };
        for ((actor, losses), workload) in (0..).zip(&self.losses).zip(&self.plan.workloads) {
            run.add_losses(point, actor, end, losses);
            run.note_of(&workload.name, &losses.lines());
        }
    }

    /// Paths of the server's objects that a workload uses, or the name of another place.
    fn paths(&self, workload: usize) -> Vec<String> {
        match self.plan.workloads[workload].volumes.as_slice() {
            [_] => vec![self.places[workload].name.clone()],
            several => {
                let path = |volume: &usize| format!("{}:{}", self.plan.svm, self.plan.volumes[*volume].path());
                several.iter().map(path).collect()
            }
        }
    }
}

impl Scene for Conductor<'_> {
    type Error = StageError;

    fn managed(&mut self) -> Option<&mut dyn Managed> {
        self.stage.managed()
    }

    fn now(&self) -> Time {
        self.stage.now()
    }

    fn next(&mut self, _run: &Run) -> Option<Point> {
        self.points.next()
    }

    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool, StageError> {
        run.begin_cells();
        self.losses = vec![Losses::default(); run.actors.len()];
        let index = run.points.len() - 1;
        let phase = &self.plan.phases[index];
        self.stage.reshape_all(&phase.specs)?;
        let whole = self.plan.phases.iter().map(|phase| self.plan.length(phase)).sum();
        let (began, length) = (start + run.points[index].start, self.plan.length(phase));
        let end = began + length;
        let (mut at, mut going_on) = (began, true);
        while going_on && at < end {
            // A stage runs a little late, so a splinter may be left at the end of a phase. The last
            // second includes it.
            let until = if end.since(at) < Span::SECOND + SPLINTER { end } else { at + Span::SECOND };
            let second = self.stage.run(until)?;
            let now = self.stage.now();
            let settled = at.since(began) >= SETTLE || length <= SETTLE;
            let [from, to] = [at, now].map(|time| course::passed(start, time));
            self.take(run, &second, start, (from, to.saturating_sub(from)), settled);
            at = now;
            run.points[index].end = to;
            self.fold(run);
            going_on = self.watcher.second(run, index, to, whole);
        }
        note_stalls(run);
        note_early(run, &self.plan.phases[index].specs);
        self.note_losses(run);
        Ok(going_on)
    }
}

/// Beyond this many slices the older seconds of a run are folded into minutes, as reports show
/// them.
const SLICES_MOST: usize = 1_000_000;
/// This much stays in seconds. A run of a day is saved about every half hour.
const BY_SECONDS: Span = Span::from_secs(3600);
/// A longer phase has the bins of its dispatches folded to save memory.
const TRACED: Span = Span::from_secs(600);
/// How often that is done.
const FOLDED_EVERY: Span = Span::from_secs(60);
/// At both ends of a phase bins are kept this long, for windows that reach across its ends.
const ENDS: Span = Span::from_secs(2);
/// Slices are folded this many minutes at a time, since each fold moves the hour that is kept.
const FOLDED_MINUTES: u64 = 5;

impl Conductor<'_> {
    /// Keeps a long run's memory from growing with every second.
    fn fold(&mut self, run: &mut Run) {
        let Some((begun, now)) = run.points.last().map(|point| (point.start, point.end)) else { return };
        // Called every second, but folds once a minute.
        let minute = FOLDED_EVERY.as_nanos();
        if now.as_nanos() / minute == now.saturating_sub(Span::SECOND).as_nanos() / minute {
            return;
        }
        if now.saturating_sub(begun) > TRACED {
            let times = [begun + ENDS, now.saturating_sub(ENDS)].map(|span| Time::ZERO + span);
            run.objects.iter_mut().for_each(|object| object.trace.fold(times[0], times[1]));
        }
        let whole = now.as_nanos() / minute;
        if whole.is_multiple_of(FOLDED_MINUTES) && run.slices() > SLICES_MOST {
            run.fold(now.saturating_sub(BY_SECONDS).min(self.watcher.foldable(run)));
        }
    }
}

/// Notes for the reader when other programs kept the server from its processor long enough to show
/// in the figures.
fn note_stalls(run: &mut Run) {
    let Some(point) = run.points.last() else { return };
    let (name, length) = (&point.name, point.length());
    if let Some(stalled) = point.stalled.filter(|stalled| *stalled > length / 100) {
        run.notes.push(format!(
            "phase {name}: the processor was taken from the server for {stalled} of {length}, by something else on \
             this machine"
        ));
    }
}

/// Notes for the reader which of the loads of the last point did something only while it settled,
/// which its figures leave out.
fn note_early(run: &mut Run, specs: &[Spec]) {
    let number = run.points.len() as u32 - 1;
    let (name, start) = (run.points[number as usize].name.clone(), run.points[number as usize].start);
    let early = |((actor, of), spec): ((u32, &RunActor), &Spec)| {
        // What a load that ended left behind is its own phase's.
        if spec.connections == 0 {
            return None;
        }
        let whole = run.cell(number, actor, &Class::ALL).filter(|cell| cell.ops == 0 && cell.measured > Span::ZERO)?;
        let slices = &run.series(actor, &Class::ALL)?.slices;
        let ops: u64 = slices.iter().filter(|slice| slice.start >= start).map(|slice| slice.ops).sum();
        let only = format!("phase {name}: {} did {ops} requests in its first second, which does not count", of.name);
        (ops > whole.ops).then(|| format!("{only}, and none after it"))
    };
    let notes: Vec<String> = (0..).zip(&run.actors).zip(specs).filter_map(early).collect();
    run.notes.extend(notes);
}

/// The server's view of the objects at `paths`, added up. `held_by` is what held back most of their
/// requests.
fn joined<'s>(paths: &[String], second: &'s Second) -> Option<Cow<'s, ObjectSecond>> {
    let mut seen = second.objects.iter().filter(|object| paths.contains(&object.path));
    let first = seen.next()?;
    let others: Vec<&ObjectSecond> = seen.collect();
    if others.is_empty() {
        return Some(Cow::Borrowed(first));
    }
    let all = || [first].into_iter().chain(others.iter().copied());
    let mut sum = ObjectSecond { path: first.path.clone(), ..ObjectSecond::default() };
    for object in all() {
        sum.queued.merge(&object.queued);
        sum.device.merge(&object.device);
        sum.cached += object.cached;
    }
    let requests = sum.device.count().max(1);
    let mean = |of: fn(&Waits) -> Span| {
        let whole: u128 =
            all().map(|object| u128::from(of(&object.waits).as_nanos()) * u128::from(object.device.count())).sum();
        Span::from_nanos((whole / u128::from(requests)) as u64)
    };
    sum.waits = Waits {
        ceiling: mean(|waits| waits.ceiling),
        floors: mean(|waits| waits.floors),
        turn: mean(|waits| waits.turn),
        device: mean(|waits| waits.device),
    };
    let held =
        |by: HeldBy| all().filter(|object| object.held_by == by).map(|object| object.device.count()).sum::<u64>();
    let most = all().max_by_key(|object| (held(object.held_by), object.held_by != HeldBy::Nothing)).unwrap_or(first);
    (sum.held_by, sum.held_at) = (most.held_by, most.held_at.clone());
    Some(Cow::Owned(sum))
}

/// State of the floor that covers an object: its own, or the nearest one above it.
fn floor_over(path: &str, second: &Second) -> FloorOutcome {
    let is_over = |above: &str| {
        path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with(":/"))
    };
    let over = second.objects.iter().filter(|object| object.floor != FloorOutcome::NotSet && is_over(&object.path));
    over.max_by_key(|object| object.path.len()).map_or(FloorOutcome::NotSet, |object| object.floor)
}

/// A shorter rest of a phase is added to the second before it.
const SPLINTER: Span = Span::from_millis(250);
