//! The conductor counts every second in the right phase, settled or not, and records whatever ended
//! the run early.

use block::{Bytes, Span, Time};
use engine::{Conductor, Managed, ObjectSecond, RunWatcher, Second, Stage, StageError, WorkloadSecond};
use stats::run::{Run, RunPlace};
use stats::{DispatchTrace, HeldBy, LimitsInForce, Recording, Tape};
use workload::{Plan, Spec};

const PLAN: &str = r#"
title = "Books"
about = "two phases"
phase_seconds = 4
[server]
svm = "svm01"
[[volume]]
name = "vol1"
size = "1GB"
lun = "lun1"
[[workload]]
name = "a"
lun = "/vol/vol1/lun1"
depth = 4
[[phase]]
name = "short"
seconds = 1
[[phase]]
name = "long"
commands = ["volume show"]
"#;

const PATH: &str = "svm01:/vol/vol1/lun1";

/// A stage that does 1000 reads a second, and returns `late` after the time asked for.
struct Actor {
    now: Time,
    late: Span,
    stalled: Span,
    /// The command or the turn that fails.
    fails_at: Option<&'static str>,
    /// It does nothing after so many turns.
    turns_most: usize,
    turns: Vec<Time>,
    commands: Vec<String>,
    trace: DispatchTrace,
    /// Whether it dispatches 500 reads in the first bin of each turn.
    dispatches: bool,
}

impl Actor {
    fn new() -> Actor {
        Actor {
            // Not at a multiple of a bin.
            now: Time::from_nanos(7_003_000_000),
            late: Span::ZERO,
            stalled: Span::ZERO,
            fails_at: None,
            turns_most: usize::MAX,
            turns: Vec::new(),
            commands: Vec::new(),
            trace: DispatchTrace::default(),
            dispatches: false,
        }
    }
}

impl Managed for Actor {
    fn command(&mut self, line: &str) -> Result<String, StageError> {
        self.commands.push(line.into());
        // Commands take time.
        self.now += Span::from_millis(30);
        match self.fails_at {
            Some("command") => Err(StageError("no".into())),
            _ => Ok(String::new()),
        }
    }

    fn limits(&mut self) -> Vec<(String, LimitsInForce)> {
        // In force from the second phase on.
        let limits = LimitsInForce { ceiling_iops: Some(1000), ..LimitsInForce::default() };
        if self.commands.is_empty() { Vec::new() } else { vec![(PATH.into(), limits)] }
    }

    /// A byte for each nanosecond that has passed.
    fn used(&mut self) -> Vec<(String, Bytes)> {
        vec![("svm:/vol/v".into(), Bytes(self.now.as_nanos()))]
    }
}

impl Stage for Actor {
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        Some(self)
    }

    fn reshape(&mut self, _workload: usize, _spec: &Spec) -> Result<(), StageError> {
        Ok(())
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        if self.fails_at == Some("run") && self.turns.len() == 2 {
            return Err(StageError("the server is gone".into()));
        }
        let from = self.now;
        self.now = until.max(from) + self.late;
        self.turns.push(self.now);
        let does = u64::from(self.turns.len() <= self.turns_most);
        let reads = does * self.now.since(from).as_nanos() / 1_000_000;
        let mut tape = Tape::default();
        tape[Tape::READ].ops = reads;
        let mut trace = std::mem::take(&mut self.trace);
        if self.dispatches {
            trace.add(from, 500, 0);
        }
        let object = ObjectSecond { path: PATH.into(), held_by: HeldBy::CeilingIops, trace, ..ObjectSecond::default() };
        let workload = WorkloadSecond { tape, ..WorkloadSecond::default() };
        Ok(Second { workloads: vec![workload], objects: vec![object], stalled: self.stalled, ..Second::default() })
    }

    fn now(&self) -> Time {
        self.now
    }
}

/// Stops after this many seconds.
struct Watch(usize);

impl RunWatcher for Watch {
    fn second(&mut self, _run: &Run, _phase: usize, passed: Span, whole: Span) -> bool {
        assert!(passed <= whole + Span::SECOND);
        self.0 -= 1;
        self.0 > 0
    }
}

/// Never stops.
struct On;

impl RunWatcher for On {
    fn second(&mut self, _run: &Run, _phase: usize, _passed: Span, _whole: Span) -> bool {
        true
    }
}

/// A phase of two hours with 500 reads in the bin of each whole second: at its end only the bins of
/// the last minute are in memory, not 720 000, and its fullest second is still known.
#[test]
fn dispatches_of_a_long_phase_are_folded() {
    let text = PLAN.replace("phase_seconds = 4", "phase_seconds = 7200");
    let plan = Plan::read(&text, "books.toml").unwrap();
    let mut actor = Actor { dispatches: true, ..Actor::new() };
    let places = vec![RunPlace { kind: "volume".into(), name: PATH.into(), size: None }];
    let mut on = On;
    let conductor = Conductor::new(&plan, &mut actor, &mut on, places, Span::from_micros(100));
    let (run, played) = conductor.play(vec![Vec::new(), vec!["volume show".into()]], Run::default());
    assert!(played.is_ok(), "{played:?}");
    let trace = &run.objects.iter().find(|object| object.path == PATH).unwrap().trace;
    assert!(trace.len() < 10_000, "{}", trace.len());
    let [start, end] = [run.points[1].start, run.points[1].end].map(|span| Time::ZERO + span);
    let peak = trace.peak(start, end).unwrap();
    assert_eq!((peak.ops, peak.mean_ops.round()), (500, 500.0));
}

fn play(actor: &mut Actor, seconds: usize) -> (Recording, Result<(), StageError>) {
    let plan = Plan::read(PLAN, "books.toml").unwrap();
    let commands = plan.phases.iter().map(|phase| phase.commands.clone()).collect();
    let idle = Span::from_micros(100);
    let (mut watch, places) = (Watch(seconds), vec![RunPlace { kind: "volume".into(), name: PATH.into(), size: None }]);
    let conductor = Conductor::new(&plan, actor, &mut watch, places, idle);
    let (run, result) = conductor.play(commands, Run::default());
    (run.recording(), result)
}

#[test]
fn every_second_is_booked_once_and_only_settled_ones_in_the_tally() {
    let mut actor = Actor::new();
    let (recording, result) = play(&mut actor, usize::MAX);
    result.unwrap();
    assert!(!recording.origin.cut_short);
    let [short, long] = &recording.phases[..] else { panic!("{:?}", recording.phases) };
    // The run starts at the bin's beginning, 3 ms before the first phase; the command of the second
    // takes 30 ms.
    let ms = Span::from_millis;
    assert_eq!((short.start, short.end), (ms(3), ms(1003)));
    assert_eq!((long.start, long.end), (ms(1033), ms(5033)));
    assert_eq!(long.commands, ["volume show"]);
    let workload = &recording.workloads[0];
    assert_eq!(workload.intervals.len(), 5);
    assert_eq!(workload.intervals[1].start, ms(1033));
    assert!(workload.intervals.iter().all(|interval| interval.counts.reads == 1000));
    assert!(workload.intervals.iter().all(|interval| interval.held_by == HeldBy::CeilingIops));
    // A phase within the settling time is counted whole; of the other the first second is left out.
    assert_eq!((workload.tallies[0].length, workload.tallies[0].counts.reads), (ms(1000), 1000));
    assert_eq!((workload.tallies[1].length, workload.tallies[1].counts.reads), (ms(3000), 3000));
    let object = recording.objects.iter().find(|object| object.path == PATH).unwrap();
    assert_eq!(object.limits.len(), 2);
    assert_eq!((object.limits[0].ceiling_iops, object.limits[1].ceiling_iops), (None, Some(1000)));
    // Asked before the first phase, at 7.003 s, and after the last, 5.03 s later.
    let volume = recording.objects.iter().find(|object| object.path == "svm:/vol/v").unwrap();
    assert_eq!((volume.used_start, volume.used_end), (Some(Bytes(7_003_000_000)), Some(Bytes(12_033_000_000))));
    assert!(recording.notes.is_empty());
}

/// Nothing after the first second of the second phase, which does not count.
#[test]
fn requests_that_are_over_before_a_phase_counts_are_noted() {
    let mut actor = Actor { turns_most: 2, ..Actor::new() };
    let (recording, result) = play(&mut actor, usize::MAX);
    result.unwrap();
    assert_eq!(recording.workloads[0].tallies[1].counts.reads, 0);
    let says = "phase long: a did 1000 requests in its first second, which does not count, and none after it";
    assert_eq!(recording.notes, [says]);
}

#[test]
fn a_stage_that_runs_late_leaves_no_splinters() {
    let mut actor = Actor { late: Span::from_millis(30), ..Actor::new() };
    let (recording, result) = play(&mut actor, usize::MAX);
    result.unwrap();
    // 4 s, each second 30 ms late: the last is 90 ms shorter, and no splinter of a few milliseconds
    // follows it.
    let lengths: Vec<u64> =
        recording.workloads[0].intervals.iter().map(|interval| interval.length.as_nanos() / 1_000_000).collect();
    assert_eq!(lengths, [1030, 1030, 1030, 1030, 940]);
    // A second may also be longer, so that no splinter is left.
    let mut actor = Actor { late: Span::from_millis(300), ..Actor::new() };
    let (recording, _) = play(&mut actor, usize::MAX);
    assert!(recording.workloads[0].intervals.iter().all(|interval| interval.length >= Span::from_millis(250)));
}

#[test]
fn what_passed_before_the_run_is_not_in_its_traces() {
    let mut actor = Actor::new();
    actor.trace.add(Time::from_nanos(6_000_000_000), 500, 0);
    actor.trace.add(Time::from_nanos(7_000_000_000), 7, 70);
    actor.trace.add(Time::from_nanos(7_990_000_000), 9, 90);
    let (recording, _) = play(&mut actor, usize::MAX);
    let object = recording.objects.iter().find(|object| object.path == PATH).unwrap();
    let bins: Vec<_> = object.trace.bins().filter(|bin| bin.1 > 0).collect();
    assert_eq!(bins, [(0, 7, 70), (99, 9, 90)]);
}

#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    let (recording, result) = play(&mut Actor::new(), 3);
    result.unwrap();
    assert!(recording.origin.cut_short);
    assert_eq!(recording.phases.len(), 2);
    assert_eq!(recording.phases[1].end, Span::from_millis(3033));
    assert_eq!(recording.workloads[0].intervals.len(), 3);
    assert_eq!(recording.workloads[0].tallies[1].counts.reads, 1000);
}

#[test]
fn a_stage_that_fails_keeps_what_was_measured_and_says_why() {
    let mut actor = Actor { fails_at: Some("run"), ..Actor::new() };
    let (recording, result) = play(&mut actor, usize::MAX);
    assert_eq!(result.unwrap_err().to_string(), "the server is gone");
    assert!(recording.origin.cut_short);
    assert_eq!(recording.workloads[0].intervals.len(), 2);

    let mut actor = Actor { fails_at: Some("command"), ..Actor::new() };
    let (recording, result) = play(&mut actor, usize::MAX);
    assert_eq!(result.unwrap_err().to_string(), "before \"long\": volume show: no");
    assert!(recording.origin.cut_short);
    assert_eq!(recording.phases.len(), 1, "the second one never began");
}

#[test]
fn time_that_the_processor_took_is_summed_a_phase_and_noted_where_it_matters() {
    // 12 ms a second are 1.2 % of either phase; 9 ms are not worth a note.
    let mut actor = Actor { stalled: Span::from_millis(12), ..Actor::new() };
    let (recording, _) = play(&mut actor, usize::MAX);
    let stalled: Vec<Span> = recording.phases.iter().map(|phase| phase.stalled).collect();
    assert_eq!(stalled, [Span::from_millis(12), Span::from_millis(48)]);
    assert_eq!(recording.notes.len(), 2);
    let expected = "phase long: the processor was taken from the server for 48.0 ms of 4.00 s, by something else on this \
                    machine";
    assert_eq!(recording.notes[1], expected);
    let mut actor = Actor { stalled: Span::from_millis(9), ..Actor::new() };
    assert!(play(&mut actor, usize::MAX).0.notes.is_empty());
}
