//! Whole runs in virtual time, over simulated devices: the same machine as on the wall clock, with
//! minutes in moments.

use array::{DeviceSpec, Model, ParallelServers, VirtualClock};
use block::{
    Bytes, Completion, Driver, Fault, ObjectId, OpKind, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup,
};
use ramp::{
    Accounting, BLOCK, Constants, Criteria, CycleMachine, DataFile, Ladder, Layout, NoContents, Outcome, RampLoad,
    RampRow, RampSettings, RunOutcome, RunSetup, Spot, Steps, TimelineSecond,
};
use stats::run::Class;
use stats::{Punctuality, Tape, Track};
use std::collections::VecDeque;

/// A ramp's settings with runs of 30 minutes at `target`.
fn settings(target: u64) -> RampSettings {
    RampSettings {
        ladder: Ladder { min: target, max: target, runs: 1, steps: Steps::AboveMinimum },
        runtime: Span::from_secs(1800),
        wij_file: String::new(),
        system: "host".into(),
        comment: String::new(),
        warm_up: false,
        accounting: Accounting::True,
        constants: Constants::default(),
        seed: 1,
    }
}

/// `servers` servers that take `service` for a request of no size, twice that for one of `unit`.
fn servers(servers: u32, service: Span, unit: Option<Bytes>) -> Model {
    Model::ParallelServers(ParallelServers { servers, service, size_unit: unit, flush: service, trim: service })
}

/// A cheap equivalent of a simulated device that never queues: each request takes the same time, in
/// order.
struct Steady {
    service: Span,
    traits: Traits,
    flying: VecDeque<Completion>,
}

impl Target for Steady {
    fn traits(&self) -> Traits {
        self.traits
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let completion = Completion::of(&request, now + self.service, Ok(()));
        self.flying.push_back(Completion { service: self.service, ..completion });
        Submitted::Taken(Ticket(0))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let ended = self.flying.iter().take_while(|first| first.end <= now).count();
        out.extend(self.flying.drain(..ended));
    }
    fn next_wakeup(&self) -> Wakeup {
        self.flying.front().map_or(Wakeup::Idle, |first| Wakeup::At(first.end))
    }
    fn cancel(&mut self, _: Time, _: Ticket) {}
}

/// The data of [`play`], followed by its journal.
const PARTS: [Bytes; 2] = [Bytes::gib(64), Bytes::gib(64)];

fn reads(outcome: &RunOutcome) -> &Track {
    &outcome.tape[Tape::READ]
}

/// Plays one run on a device of `model` with 64 GiB of data followed by the journal.
fn play(settings: &RampSettings, model: Model) -> RunOutcome {
    let size = Bytes(PARTS[0].0 + PARTS[1].0);
    play_on(settings, DeviceSpec { size, ..DeviceSpec::of(model) }.build(settings.seed).unwrap())
}

fn play_on(settings: &RampSettings, device: Box<dyn Target>) -> RunOutcome {
    let [data, wij] = PARTS;
    let object = ObjectId(0);
    let files = vec![DataFile { object, at: 0, blocks: data.0 / BLOCK }];
    let layout = Layout::new(files, Spot { object, at: data.0, bytes: wij.0 });
    let load = settings.loads()[0];
    let mut clock = VirtualClock::new();
    let setup = RunSetup::of(settings, 0);
    let machine = CycleMachine::new(device, Box::new(NoContents), layout, &load, &setup, clock.now()).unwrap();
    machine.run(&mut clock, Span::from_secs(60), &mut |_| true)
}

/// 30 minutes at 1/`part` of 75 000 IOPS, without queueing and with 100 µs for each request: in
/// full, 101 million reads and 33 million writes.
///
/// 22 cycles wake within 30 minutes (80 s, 160 s, … 1760 s). Published accounting divides by
/// 1820 s: reads 0.75 · 75 000 · 1800 / 1820 = 55 632, writes 22 · 1.5 M / 1820 = 18 132, together
/// 73 764. True rates divide by 1800: 56 250 and 18 333.
fn the_published_row_comes_out_of(part: u64, play: impl FnOnce(&RampSettings) -> RunOutcome) -> RunOutcome {
    let settings = settings(75_000 / part);
    let outcome = play(&settings);
    assert_eq!((outcome.cycles.len(), outcome.cycles_missed, outcome.tape.punctuality.never_sent), (22, 0, 0));
    assert_eq!((reads(&outcome).ops * part, outcome.tape[Tape::WRITE].ops * part), (101_250_000, 33_000_000));
    let near = |found: f64, wanted: f64| {
        let whole = found * part as f64;
        assert!((whole / wanted - 1.0).abs() < 0.001, "{whole}, not {wanted}");
    };
    let padded = RampRow::of(0, &outcome, &RampSettings { accounting: Accounting::Published, ..settings.clone() });
    near(padded.read_iops, 55_632.0);
    near(padded.write_iops, 18_132.0);
    near(padded.total_iops(), 73_764.0);
    let honest = RampRow::of(0, &outcome, &settings);
    near(honest.read_iops, 56_250.0);
    near(honest.write_iops, 18_333.3);
    near(honest.total_iops(), 74_583.3);
    assert!(honest.comparable);
    outcome
}

/// 64 servers of 100 µs do 640 000 per second: more than are ever in flight.
fn on_servers(settings: &RampSettings) -> RunOutcome {
    play(settings, servers(64, Span::from_micros(100), None))
}

fn steadily(settings: &RampSettings) -> RunOutcome {
    let service = Span::from_micros(100);
    let traits = DeviceSpec::of(servers(64, service, None)).build(1).unwrap().traits();
    play_on(settings, Box::new(Steady { service, traits, flying: VecDeque::new() }))
}

/// A tenth of the published load, 13 million requests, or the fraction in the environment (`cargo
/// xtask soak tools` plays all of it); a device with fixed times gives exactly the same result.
#[test]
fn the_published_row_comes_out_and_the_true_rates_do() {
    let part = std::env::var("SEAWALL_RAMP_PART").map_or(10, |part| part.parse().expect("1 for the whole, or 2, 3, …"));
    let outcome = the_published_row_comes_out_of(part, on_servers);
    assert_eq!(the_published_row_comes_out_of(part, steadily), outcome);
}

/// 1000 IOPS on 64 servers of 1 ms: nothing ever queues, so every time can be computed.
///
/// The journal is 20 001 blocks: its header, then 20 000 in writes of 32 blocks, one after the
/// other: 626 writes and a flush of 1 ms each, 0.627 s. Then 20 000 blocks by 8 writers, 2500 ms, a
/// flush, and the journal's clearing, a write with its own flush of 1 ms: the cycle is 0.627 +
/// 2.501 + 0.002 = 3.130 s, and the effective latency 8 · 2.503 s / 20 000 = 1.0012 ms.
#[test]
fn a_cycle_is_the_sum_of_its_parts() {
    let settings = RampSettings { runtime: Span::from_secs(300), ..settings(1000) };
    let outcome = play(&settings, servers(64, Span::from_millis(1), None));
    let dues: Vec<f64> = outcome.cycles.iter().map(|cycle| cycle.due.as_secs_f64()).collect();
    assert_eq!(dues, [80.0, 160.0, 240.0], "first wake after a period, the last before the end");
    for cycle in &outcome.cycles {
        assert_eq!((cycle.wij, cycle.write), (Span::from_millis(627), Span::from_millis(2501)));
        assert_eq!((cycle.cycle, cycle.blocks, cycle.start), (Span::from_millis(3130), 20_000, cycle.due));
    }
    assert_eq!(outcome.cycles[0].sleep, Span::from_secs(80));
    assert_eq!(outcome.cycles[1].sleep, Span::from_millis(80_000 - 3130));
    assert_eq!(outcome.elapsed, Span::from_secs(300));
    let row = RampRow::of(0, &outcome, &settings);
    assert!((row.effective_write_ms.unwrap() - 1.0012).abs() < 1e-9);
    assert_eq!((row.read_mean, row.overruns), (Span::from_millis(1), 0));
    // Reads continue while blocks are written: 750 in each whole second. With its header the
    // journal of a burst has 20 001 blocks.
    let seconds = TimelineSecond::of(0, &outcome);
    assert!(seconds[..300].iter().skip(1).all(|second| second.reads == 750));
    assert_eq!(seconds.iter().map(|second| second.journal).sum::<u64>(), 3 * 20_001);
}

/// A transaction journal of 1 MiB a second beside the cycles is 16 writes of 64 KiB a second, of
/// 1 ms each: 4800 in 300 s, 300 MiB in a place of 256 MiB. Every 2 s it is made durable, 150
/// times, the last at the end of the run; a write that is due at that moment waits for that and
/// takes 2 ms. Each cycle makes it durable together with its own journal, which takes no longer
/// than that alone.
#[test]
fn a_transaction_journal_runs_beside_the_cycles() {
    let constants = Constants { journal: Bytes::mib(1), ..Constants::default() };
    let settings = RampSettings { runtime: Span::from_secs(300), constants, ..settings(1000) };
    let device = DeviceSpec { size: Bytes::gib(64), ..DeviceSpec::of(servers(64, Span::from_millis(1), None)) };
    let files = vec![DataFile { object: ObjectId(0), at: 0, blocks: 1 << 20 }];
    let wij = Spot { object: ObjectId(0), at: 1 << 34, bytes: 1 << 34 };
    let stream = Spot { object: ObjectId(1), at: 1 << 35, bytes: Layout::stream_need() };
    let layout = Layout::new(files, wij).with_stream(stream);
    let (load, setup, mut clock) = (settings.loads()[0], RunSetup::of(&settings, 0), VirtualClock::new());
    let device = device.build(1).unwrap();
    let machine = CycleMachine::new(device, Box::new(NoContents), layout, &load, &setup, Time::ZERO).unwrap();
    let outcome = machine.run(&mut clock, Span::from_secs(60), &mut |_| true);
    let log = outcome.tape.track(&Class::LOG).unwrap();
    assert_eq!((log.bytes, log.ops, outcome.tape[Tape::FLUSH].ops), (300 << 20, 4800, 150));
    let (short, long) = (log.response.quantile(0.5), log.response.max());
    assert_eq!((short.as_millis_f64().round(), long.as_millis_f64().round()), (1.0, 2.0));
    assert_eq!(outcome.elapsed, Span::from_millis(300_001));
    assert!(outcome.cycles.iter().all(|cycle| cycle.cycle == Span::from_millis(3130)), "{:?}", outcome.cycles);
    let row = RampRow::of(0, &outcome, &settings);
    assert!((row.journal_mb_s.unwrap() - 1.048_576).abs() < 0.001 && !row.comparable);
}

/// A burst of 20 000 blocks by 8 writers of 40 ms takes 100 s, longer than the period of 80 s: the
/// next cycle begins when it ends, none overlap, and those that do not fit are counted.
#[test]
fn cycles_that_overrun_delay_and_never_overlap() {
    let settings = RampSettings { runtime: Span::from_secs(600), ..settings(1000) };
    let outcome = play(&settings, servers(64, Span::from_millis(40), None));
    let row = RampRow::of(0, &outcome, &settings);
    for pair in outcome.cycles.windows(2) {
        assert_eq!(pair[1].start, pair[0].start + pair[0].cycle, "begins at once");
        assert_eq!(pair[1].due, pair[0].due + Span::from_secs(80), "each keeps its due time");
        assert_eq!(pair[1].sleep, Span::ZERO);
    }
    // Each takes 627 · 40 ms + 100.04 s + 0.08 s = 125.2 s: they begin at 80, 205.2, 330.4, 455.6
    // and 580.8 s; two of the seven that were due are missing.
    assert_eq!((outcome.cycles.len(), outcome.cycles_missed, row.overruns), (5, 2, 5));
    assert_eq!(outcome.elapsed, Span::from_nanos(80_000_000_000 + 5 * 125_200_000_000));
    assert_eq!(Criteria::preset("2021").unwrap().judge(&row, &settings.constants).0, Outcome::Fail);
}

/// One server of 1 ms serves 1000 per second; 1500 reads per second are requested. Response times
/// count from the due time, so they grow with the backlog: after 30 s, 15 s of reads wait.
#[test]
fn storage_that_falls_behind_shows_in_the_response() {
    let settings = RampSettings { runtime: Span::from_secs(30), ..settings(2000) };
    let outcome = play(&settings, servers(1, Span::from_millis(1), None));
    assert_eq!(outcome.target, 2000);
    let last = reads(&outcome).response.max().as_secs_f64();
    // The last read was due at about 30 · 1000 / 1500 = 20 s: 10 s late.
    assert!((9.5..10.5).contains(&last), "{last}");
    assert!(reads(&outcome).service.max() <= Span::from_millis(129), "in flight are 128 at most");
    // 45 000 were due, about 30 000 were served; all after the first 128 had to wait for a reader.
    let Punctuality { late, held, never_sent, .. } = outcome.tape.punctuality;
    assert!(held > 29_000 && late > 29_000, "{held} {late}");
    assert!((14_500..15_500).contains(&never_sent), "{never_sent}");
    // From the first moments on all readers wait for the storage, to the end.
    assert!(
        (29.0..=30.0).contains(&outcome.waited.as_secs_f64()) && outcome.behind == Span::ZERO,
        "{}",
        outcome.waited
    );
    assert_eq!(load_of(&outcome, &settings), Outcome::Fail);
    // If this host had been busy for more than half of that, it could not be said.
    assert_eq!(load_of(&RunOutcome { busy: Span::from_secs(16), ..outcome }, &settings), Outcome::CannotSay);
}

/// The verdict on the load itself.
fn load_of(outcome: &RunOutcome, settings: &RampSettings) -> Outcome {
    let (_, judgements) =
        Criteria::preset("2021").unwrap().judge(&RampRow::of(0, outcome, settings), &settings.constants);
    judgements.into_iter().find(|judgement| judgement.name == "reads-never-made").unwrap().outcome
}

/// A host on which each pass takes 1 µs.
struct SlowHost(VirtualClock);

impl Driver for SlowHost {
    fn now(&self) -> Time {
        self.0.now()
    }
    fn turn(&mut self, until: Option<Time>) -> Time {
        let now = self.0.turn(until);
        self.0.turn(Some(now + Span::from_micros(1)))
    }
}

/// Storage that completes at once cannot be what delays a single reader: a host that needs 1 µs for
/// each read makes half of two million per second, and this says nothing about the storage.
#[test]
fn a_host_that_falls_behind_cannot_say() {
    let constants = Constants { readers: 1, ..Constants::default() };
    let settings = RampSettings { runtime: Span::SECOND, constants, ..settings(2_666_668) };
    let files = vec![DataFile { object: ObjectId(0), at: 0, blocks: 1 << 30 }];
    let layout = Layout::new(files, Spot { object: ObjectId(0), at: 1 << 43, bytes: 1 << 43 });
    let (load, setup) = (settings.loads()[0], RunSetup::of(&settings, 0));
    let target = Box::new(Instant::default());
    let machine = CycleMachine::new(target, Box::new(NoContents), layout, &load, &setup, Time::ZERO).unwrap();
    let outcome = machine.run(&mut SlowHost(VirtualClock::new()), Span::SECOND, &mut |_| true);
    let never_sent = outcome.tape.punctuality.never_sent;
    assert!((990_000..1_010_000).contains(&never_sent), "{never_sent}");
    assert!(outcome.waited == Span::ZERO && outcome.behind > Span::from_millis(990), "{}", outcome.behind);
    assert_eq!(load_of(&outcome, &settings), Outcome::CannotSay);
}

/// Storage that completes at once.
#[derive(Default)]
struct Instant(Vec<Completion>);

impl Target for Instant {
    fn traits(&self) -> Traits {
        Traits { size: Bytes(1 << 45), align: 1, longest: u32::MAX, carries_data: false, read_only: false }
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.0.push(Completion::of(&request, now, Ok(())));
        Submitted::Taken(Ticket(0))
    }
    fn poll(&mut self, _: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.0);
    }
    fn next_wakeup(&self) -> Wakeup {
        if self.0.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }
    fn cancel(&mut self, _: Time, _: Ticket) {}
}

/// Without a cycle in the run there is no verdict, and reads are still measured.
#[test]
fn a_run_without_a_cycle_cannot_say() {
    let settings = RampSettings { runtime: Span::from_secs(80), ..settings(1000) };
    let outcome = play(&settings, servers(8, Span::from_millis(1), None));
    assert_eq!((outcome.cycles.len(), reads(&outcome).ops), (0, 60_000));
    let row = RampRow::of(0, &outcome, &settings);
    assert_eq!(Criteria::preset("2021").unwrap().judge(&row, &settings.constants).0, Outcome::CannotSay);
    assert!(!row.comparable);
}

/// Short runs keep the ratios: a tenth of the period has a tenth of the burst.
#[test]
fn a_short_period_keeps_the_ratios() {
    let constants = Constants { cycle: Span::from_secs(8), ..Constants::default() };
    assert_eq!(RampLoad::of(1000, &constants).burst, 2000);
    let settings = RampSettings { runtime: Span::from_secs(60), constants, ..settings(1000) };
    let outcome = play(&settings, servers(64, Span::from_millis(1), None));
    assert_eq!(outcome.cycles.len(), 7);
    assert!(outcome.cycles.iter().all(|cycle| cycle.blocks == 2000));
}

/// The same seed gives the same run; another gives another.
#[test]
fn a_run_repeats_by_its_seed() {
    let run = |seed| {
        let settings = RampSettings { runtime: Span::from_secs(100), seed, ..settings(2000) };
        play(&settings, DeviceSpec::named("flash").unwrap().model)
    };
    assert!(run(7) == run(7));
    assert!(run(7) != run(8));
}

/// A run that is stopped ends at once and is marked.
#[test]
fn a_stopped_run_keeps_what_it_has() {
    let settings = settings(1000);
    let device = DeviceSpec::of(servers(8, Span::from_millis(1), None)).build(1).unwrap();
    let files = vec![DataFile { object: ObjectId(0), at: 0, blocks: 1 << 20 }];
    let layout = Layout::new(files, Spot { object: ObjectId(0), at: 1 << 34, bytes: 1 << 34 });
    let mut clock = VirtualClock::new();
    let setup = RunSetup::of(&settings, 0);
    let load = settings.loads()[0];
    let machine = CycleMachine::new(device, Box::new(NoContents), layout, &load, &setup, Time::ZERO).unwrap();
    let outcome = machine.run(&mut clock, Span::SECOND, &mut |progress| progress.elapsed < Span::from_secs(100));
    assert!(outcome.cut_short && outcome.cycles.len() == 1);
    assert!((Span::from_secs(100)..Span::from_secs(101)).contains(&outcome.elapsed), "{}", outcome.elapsed);
    assert!((74_900..75_100).contains(&reads(&outcome).ops), "{}", reads(&outcome).ops);
}

/// Storage that fails its request number `left + 1` and all later ones.
struct Dying {
    inner: Box<dyn Target>,
    left: u64,
    failed: Vec<Completion>,
}

impl Target for Dying {
    fn traits(&self) -> Traits {
        self.inner.traits()
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        if self.left > 0 {
            self.left -= 1;
            return self.inner.submit(now, request);
        }
        self.failed.push(Completion::refuse(request, now, Fault::Io));
        Submitted::Taken(Ticket(0))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.append(&mut self.failed);
        self.inner.poll(now, out);
    }
    fn next_wakeup(&self) -> Wakeup {
        if self.failed.is_empty() { self.inner.next_wakeup() } else { Wakeup::Now }
    }
    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.inner.cancel(now, ticket);
    }
}

/// Failing storage ends the run at once, and the outcome says what failed and when: with 750 reads
/// per second the 7501st is due at 10 s. Requests in flight still complete.
#[test]
fn storage_that_dies_ends_the_run() {
    let settings = settings(1000);
    let inner = DeviceSpec::of(servers(8, Span::from_millis(1), None)).build(1).unwrap();
    let target = Box::new(Dying { inner, left: 7_500, failed: Vec::new() });
    let files = vec![DataFile { object: ObjectId(3), at: 0, blocks: 1 << 20 }];
    let layout = Layout::new(files, Spot { object: ObjectId(4), at: 1 << 34, bytes: 1 << 34 });
    let (load, setup, mut clock) = (settings.loads()[0], RunSetup::of(&settings, 0), VirtualClock::new());
    let machine = CycleMachine::new(target, Box::new(NoContents), layout, &load, &setup, Time::ZERO).unwrap();
    let outcome = machine.run(&mut clock, Span::SECOND, &mut |_| true);
    let failure = outcome.failure.as_ref().unwrap();
    assert_eq!((failure.kind, failure.object, failure.fault), (OpKind::Read, ObjectId(3), Fault::Io));
    assert_eq!((failure.at, reads(&outcome).ops), (Span::from_secs(10), 7_500));
    assert!(outcome.elapsed < Span::from_millis(10_010), "{}", outcome.elapsed);
}

/// What is too small for a burst is refused before anything is written.
#[test]
fn too_little_data_is_refused() {
    let settings = settings(75_000);
    let refused = |blocks, wij_bytes| {
        let device = DeviceSpec::of(servers(8, Span::from_millis(1), None)).build(1).unwrap();
        let wij = Spot { object: ObjectId(0), at: 1 << 40, bytes: wij_bytes };
        let layout = Layout::new(vec![DataFile { object: ObjectId(0), at: 0, blocks }], wij);
        let (load, setup) = (settings.loads()[0], RunSetup::of(&settings, 0));
        CycleMachine::new(device, Box::new(NoContents), layout, &load, &setup, Time::ZERO).err().unwrap().to_string()
    };
    assert!(refused(1_499_999, 1 << 40).starts_with("the data has 1499999 blocks of 8 KiB, fewer than the 1500000"));
    // A header and 1.5 million blocks.
    assert!(refused(1_500_000, 8192).contains("needs 12288008192"));
}
