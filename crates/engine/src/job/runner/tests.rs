//! A job in virtual time, on a device that stalls.

use super::*;
use block::{Bytes, Driver, Fault, Iops, Op, Request, Span, Submitted, Ticket, Traits, Wait, drive};
use stats::Punctuality;
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;
use workload::job::{BlockCoverage, Direction, Ending, JobPlace, Mix, Order, Pace, Verify};

/// Serves requests in parallel in 100 µs each. What arrives or is in flight during a stall
/// completes after it.
struct Staller {
    stall: std::ops::Range<Time>,
    /// How reads and writes end.
    result: Result<(), Fault>,
    waiting: Vec<(Time, Completion)>,
}

impl Staller {
    fn end_of(&self, now: Time) -> Time {
        let end = now + Span::from_micros(100);
        if end > self.stall.start && now < self.stall.end { self.stall.end + Span::from_micros(100) } else { end }
    }
}

impl Target for Staller {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 1, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let end = self.end_of(now);
        let result = if matches!(request.op, Op::Trim) { Err(Fault::Unsupported) } else { self.result };
        let completion = Completion { service: end.since(now), ..Completion::of(&request, end, result) };
        self.waiting.push((end, completion));
        Submitted::Taken(Ticket(request.tag))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.waiting.extract_if(.., |(end, _)| *end <= now).map(|(_, completion)| completion));
    }
    fn next_wakeup(&self) -> Wakeup {
        self.waiting.iter().map(|(end, _)| *end).min().map_or(Wakeup::Idle, Wakeup::At)
    }
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// Runs a job to its end, jumping from one wake-up to the next.
fn play(spec: &JobSpec, stall_ms: std::ops::Range<u64>) -> JobOutcome {
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    play_on(
        spec,
        Box::new(Staller { stall: at(stall_ms.start)..at(stall_ms.end), result: Ok(()), waiting: Vec::new() }),
    )
}

fn play_on(spec: &JobSpec, target: Box<dyn Target>) -> JobOutcome {
    play_by(spec, target, &Rc::default()).0
}

/// Runs a job by a clock that its target may advance. Returns its outcome, and how often its worker
/// waited with nothing in flight and nothing due, until the tick.
fn play_by(spec: &JobSpec, target: Box<dyn Target>, clock: &Rc<Cell<Time>>) -> (JobOutcome, u32) {
    play_through_cache(spec, target, clock, None)
}

/// The same, with a function that drops its files from a cache.
fn play_through_cache(
    spec: &JobSpec,
    target: Box<dyn Target>,
    clock: &Rc<Cell<Time>>,
    forget: Option<Forget>,
) -> (JobOutcome, u32) {
    let parts = Parts {
        spec: spec.clone(),
        index: 0,
        board: Arc::new(Board::new(std::slice::from_ref(spec), Time::ZERO)),
        target,
        paths: Vec::new(),
        regions: vec![Region { start: 0, len: spec_bytes(spec), beyond: 0 }],
        notes: Vec::new(),
        backend: String::new(),
        losses: LossCounts::default(),
        start: Time::ZERO,
        renew: None,
        forget,
    };
    let mut clock = Hand { time: Rc::clone(clock), idle: 0 };
    let context = Context::Virtual(Rc::new(Hand { time: Rc::clone(&clock.time), idle: 0 }));
    let mut runner = Runner::new(&context, parts);
    drive(&mut clock, std::slice::from_mut(&mut runner), |_, _| Wait::Woken { tick: Board::TICK });
    (runner.finish(), clock.idle)
}

/// The size that its storage reports.
fn spec_bytes(spec: &JobSpec) -> u64 {
    match spec.place {
        JobPlace::Null { size } => size.0,
        _ => 1 << 30,
    }
}

/// A clock that jumps, or ticks when nothing is due; it counts those ticks.
struct Hand {
    time: Rc<Cell<Time>>,
    idle: u32,
}

impl Driver for Hand {
    fn now(&self) -> Time {
        self.time.get()
    }
    fn turn(&mut self, until: Option<Time>) -> Time {
        let now = self.time.get();
        self.idle += u32::from(until.is_none());
        self.time.set(until.unwrap_or(now + Board::TICK).max(now));
        self.time.get()
    }
}

fn six_seconds() -> JobSpec {
    JobSpec {
        name: "j".into(),
        place: JobPlace::Null { size: Bytes::gib(1) },
        ending: Ending { time_based: true, runtime: Some(Span::from_secs(6)), ..Ending::default() },
        ..JobSpec::default()
    }
}

#[test]
fn a_stall_shows_in_the_response_times_of_all_that_were_due_in_it() {
    let mut spec = six_seconds();
    spec.pacing.depth = 1024;
    spec.pacing.rate.read = Some(Pace::Iops(Iops(1000)));
    let outcome = play(&spec, 2000..2500);
    let reads = &outcome.tape[Direction::Read];
    // Due every millisecond from 0 on; at 6 s it is over.
    assert_eq!(reads.ops, 6000);
    // 500 of 6000 were due in the stall and waited evenly from 500 ms down to nothing: the worst
    // hundredth are 60 of them, the last of which waited 500 × (1 − 60/500) = 440 ms.
    let p99 = reads.response.quantile(0.99);
    assert!((Span::from_millis(430)..Span::from_millis(450)).contains(&p99), "{p99}");
    // All were made when they were due, so the storage itself took as long.
    assert_eq!(outcome.tape.punctuality, Punctuality { scheduled: true, ..Punctuality::default() });
}

#[test]
fn at_depth_one_the_stall_shows_all_the_same_and_the_service_time_hides_it() {
    let mut spec = six_seconds();
    spec.pacing.rate.read = Some(Pace::Iops(Iops(1000)));
    let outcome = play(&spec, 2000..2500);
    let reads = &outcome.tape[Direction::Read];
    assert_eq!(reads.ops, 6000);
    // One request meets the stall. The others due meanwhile follow it 100 µs apart; that backlog of
    // 500 shrinks by nine in ten a millisecond, so the worst hundredth still begins above 430 ms.
    assert!(reads.response.quantile(0.99) > Span::from_millis(430), "{}", reads.response.quantile(0.99));
    assert!(reads.service.quantile(0.99) < Span::from_micros(102), "{}", reads.service.quantile(0.99));
    let Punctuality { late, late_most, held, never_sent, .. } = outcome.tape.punctuality;
    // Due in the stall and up to 55 ms behind it, in which the backlog is worked off at ten a
    // millisecond.
    assert!((500..=560).contains(&late), "{late}");
    assert!((Span::from_millis(498)..=Span::from_millis(500)).contains(&late_most), "{late_most}");
    assert!((late..=late + 20).contains(&held), "{held}");
    assert_eq!(never_sent, 0);
}

#[test]
fn what_is_due_in_a_stall_until_the_end_is_never_sent() {
    let mut spec = six_seconds();
    spec.pacing.rate.read = Some(Pace::Iops(Iops(1000)));
    let outcome = play(&spec, 5000..7000);
    // 5000 before the stall (due at 0 to 4999 ms), and the one that waits in it; due before 6000 ms
    // are 6000.
    let made = outcome.tape[Direction::Read].ops;
    assert!((5000..=5001).contains(&made), "{made}");
    assert_eq!(outcome.tape.punctuality.never_sent, 6000 - made);
    // The second without completions is part of the measured time.
    assert!(outcome.tape[Direction::Read].measured >= Span::from_secs(6), "{}", outcome.tape[Direction::Read].measured);
}

#[test]
fn a_closed_loop_does_what_the_device_can() {
    let outcome = play(&six_seconds(), 0..0);
    // One at a time, 100 µs each.
    assert!((59_990..=60_001).contains(&outcome.tape[Direction::Read].ops), "{}", outcome.tape[Direction::Read].ops);
    // 12 slices of half a second with 5000 each.
    let slices: Vec<u64> = outcome.tape[Direction::Read].slices.iter().map(|slice| slice.ops).collect();
    assert!(slices[..12].iter().all(|ops| ops.abs_diff(5000) <= 1), "{slices:?}");
    assert_eq!(slices.iter().sum::<u64>(), outcome.tape[Direction::Read].ops);
}

/// Completes each request after a latency of its own, in parallel.
struct Ladder {
    times: Vec<Span>,
    waiting: Vec<(Time, Completion)>,
}

impl Target for Ladder {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 1, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        let service = self.times.pop().unwrap();
        let end = now + service;
        self.waiting.push((end, Completion { service, ..Completion::of(&request, end, Ok(())) }));
        Submitted::Taken(Ticket(request.tag))
    }
    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        out.extend(self.waiting.extract_if(.., |(end, _)| *end <= now).map(|(_, completion)| completion));
    }
    fn next_wakeup(&self) -> Wakeup {
        self.waiting.iter().map(|(end, _)| *end).min().map_or(Wakeup::Idle, Wakeup::At)
    }
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

/// Latencies from 100 ns to 100 s, a thousand for each power of ten: every reported percentile is
/// within 1 % of the true one, which follows from the device.
#[test]
fn percentiles_are_true_from_100_ns_to_100_s() {
    let count = 9000;
    let times: Vec<Span> = (0..count)
        .map(|i| Span::from_nanos((100.0 * 10f64.powf(9.0 * i as f64 / (count - 1) as f64)) as u64))
        .collect();
    let mut spec = six_seconds();
    spec.ending = Ending { requests: Some(count), ..Ending::default() };
    spec.pacing.depth = count as u32;
    let outcome = play_on(&spec, Box::new(Ladder { times: times.clone(), waiting: Vec::new() }));
    let reads = &outcome.tape[Direction::Read];
    assert_eq!(reads.ops, count);
    assert_eq!((reads.service.min(), reads.service.max()), (times[0], times[times.len() - 1]));
    for percent in [0.1, 1.0, 5.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99] {
        let right =
            times[((percent / 100.0 * count as f64).ceil() as usize).clamp(1, times.len()) - 1].as_nanos() as f64;
        for found in
            [&reads.service, &reads.response].map(|latencies| latencies.quantile(percent / 100.0).as_nanos() as f64)
        {
            assert!((found / right - 1.0).abs() < 0.01, "{percent} %: {found} ns, {right} ns are right");
        }
    }
}

#[test]
fn a_ramp_is_not_measured() {
    let mut spec = six_seconds();
    spec.ending.ramp = Span::from_secs(2);
    let outcome = play(&spec, 500..1500);
    assert!((59_990..=60_002).contains(&outcome.tape[Direction::Read].ops), "{}", outcome.tape[Direction::Read].ops);
    assert!(outcome.tape[Direction::Read].response.max() < Span::from_millis(1), "the stall was in the ramp");
    assert_eq!(outcome.elapsed, Span::from_secs(8));
}

/// Offsets are counted by slice if asked, and requests before measuring began are counted
/// separately. One at a time of 100 µs each, 2 s before and 6 s after.
#[test]
fn slices_of_offsets_are_counted_where_asked() {
    let mut spec = six_seconds();
    spec.pacing.depth = 1;
    spec.reach.order = Order::RANDOM;
    spec.reach.coverage = BlockCoverage::Free;
    spec.ending.ramp = Span::from_secs(2);
    assert_eq!(play(&spec, 0..0).coverage, None);
    spec.logs.coverage = Some(1000);
    let outcome = play(&spec, 0..0);
    let (reads, coverage) = (&outcome.tape[Direction::Read], outcome.coverage.unwrap());
    assert_eq!((coverage.places, coverage.counts.len()), ((1 << 30) / 4096, 1000));
    assert_eq!(coverage.counts.iter().sum::<u64>(), reads.ops);
    assert!(coverage.evenness().unwrap().is_even());
    assert_eq!((outcome.ramp_bytes.read, reads.ops), (20_000 * 4096, 60_000));
    // In order: the first 60 000 of 262 144 places alone.
    spec.reach.order = Order::Sequential { hole: 0 };
    assert!(!play(&spec, 0..0).coverage.unwrap().evenness().unwrap().is_even());
}

#[test]
fn a_failure_is_counted_by_kind_and_ends_the_job_unless_forgiven() {
    let mut spec = six_seconds();
    spec.reach.mix = Mix::Only(Direction::Trim);
    let outcome = play(&spec, 0..0);
    assert_eq!(outcome.errors.of(stats::job::ErrorKind::Unsupported), 1);
    assert_eq!(outcome.error.as_ref().map(|error| error.number), Some(95));
    // By itself going on after failed writes is going on after EIO.
    spec.forgive.write = true;
    assert_eq!(play(&spec, 0..0).error.map(|error| error.number), Some(95));
    spec.forgive.write_numbers = vec![95];
    let outcome = play(&spec, 0..0);
    assert!(outcome.errors.total() > 50_000 && outcome.error.is_none());
}

#[test]
fn steady_figures_end_the_job() {
    let mut spec = six_seconds();
    spec.ending.runtime = Some(Span::from_secs(60));
    let rule = workload::job::SteadyRule::snia(workload::job::SteadyFigure::Iops, Span::SECOND);
    spec.ending.steady = Some(rule);
    // The first rounds are stalled for half of their time; five good ones follow.
    let outcome = play(&spec, 500..1000);
    let steady = outcome.steady.unwrap();
    assert!(steady.reached);
    assert_eq!(outcome.elapsed, Span::from_secs(6));
    assert_eq!(steady.rounds.len(), 5);
}

#[test]
fn pauses_come_after_so_many_requests() {
    let mut spec = six_seconds();
    let think = workload::job::Think {
        time: Span::from_millis(1),
        spin: Span::ZERO,
        every: 10,
        work_time: Span::ZERO,
        by_issue: false,
        forgets_rate: false,
    };
    spec.pacing.think = Some(think);
    // Ten requests of 100 µs and a pause of 1 ms: ten every 2 ms.
    let ops = play(&spec, 0..0).tape[Direction::Read].ops;
    assert!((29_900..=30_100).contains(&ops), "{ops}");
}

/// Takes 100 µs for each request, one after the other, and blocks its caller, as a system call
/// does.
struct Blocking {
    clock: Rc<Cell<Time>>,
    waiting: VecDeque<Request>,
}

impl Target for Blocking {
    fn traits(&self) -> Traits {
        Traits { size: Bytes::gib(1), align: 1, longest: 1 << 20, carries_data: false, read_only: false }
    }
    fn submit(&mut self, _now: Time, request: Request) -> Submitted {
        let ticket = Ticket(request.tag);
        self.waiting.push_back(request);
        Submitted::Taken(ticket)
    }
    fn poll(&mut self, _now: Time, out: &mut Vec<Completion>) {
        if let Some(request) = self.waiting.pop_front() {
            let service = Span::from_micros(100);
            self.clock.set(self.clock.get() + service);
            out.push(Completion { service, ..Completion::of(&request, self.clock.get(), Ok(())) });
        }
    }
    fn next_wakeup(&self) -> Wakeup {
        if self.waiting.is_empty() { Wakeup::Idle } else { Wakeup::Now }
    }
    fn cancel(&mut self, _now: Time, _ticket: Ticket) {}
}

fn play_blocking(spec: &JobSpec) -> JobOutcome {
    let clock = Rc::default();
    play_by(spec, Box::new(Blocking { clock: Rc::clone(&clock), waiting: VecDeque::new() }), &clock).0
}

/// A request is dated by when it is made. After a blocking call that is later than the start of the
/// pass: dated by the pass, the request would include the call before it.
#[test]
fn behind_a_call_that_blocks_a_request_begins_when_it_is_made() {
    let mut spec = six_seconds();
    let think = workload::job::Think {
        time: Span::from_millis(1),
        spin: Span::ZERO,
        every: 1,
        work_time: Span::ZERO,
        by_issue: false,
        forgets_rate: false,
    };
    for think in [None, Some(think)] {
        spec.pacing.think = think;
        let outcome = play_blocking(&spec);
        let reads = &outcome.tape[Direction::Read];
        // 6 s in steps of 100 µs, or of 1.1 ms.
        assert_eq!(reads.ops, if think.is_some() { 5455 } else { 60_000 });
        let took = Span::from_micros(100);
        assert_eq!((reads.service.min(), reads.service.max()), (took, took), "{think:?}");
        assert_eq!((reads.response.min(), reads.response.max()), (took, took), "{think:?}");
        assert_eq!(reads.submission.sum() + reads.service.sum(), reads.response.sum());
        assert_eq!(outcome.elapsed.as_millis_f64().round(), 6000.0);
    }
}

/// A flush between requests is timed separately: the request after it begins when the flush is
/// over.
#[test]
fn a_flush_is_no_part_of_the_request_behind_it() {
    let mut spec = six_seconds();
    spec.reach.mix = Mix::Only(Direction::Write);
    spec.flushes.fsync_every = 2;
    spec.ending = Ending { requests: Some(10), ..Ending::default() };
    let took = Span::from_micros(100);
    for outcome in [play_blocking(&spec), play(&spec, 0..0)] {
        let writes = &outcome.tape[Direction::Write];
        assert_eq!(
            (writes.ops, outcome.tape[Tape::FLUSH].ops, outcome.tape[Tape::FLUSH].response.max()),
            (10, 4, took)
        );
        assert_eq!((writes.response.min(), writes.response.max(), writes.service.max()), (took, took, took));
    }
    // With a schedule, what is due during the flush does wait for it: of 10 000 a second, the third
    // is due when the flush starts.
    spec.pacing.rate.write = Some(Pace::Iops(Iops(10_000)));
    assert!(play_blocking(&spec).tape[Direction::Write].response.max() >= took + took);
}

/// The same for a target that keeps up with the schedule: a request that falls due during a call
/// waits for the rest of that call and no longer.
#[test]
fn behind_a_call_that_blocks_the_schedule_counts() {
    let mut spec = six_seconds();
    // Due every 50 µs, one and two for each call of 100 µs: the queue grows by one each 100 µs, to
    // 3 s of it.
    spec.pacing.rate.read = Some(Pace::Iops(Iops(20_000)));
    let reads = &play_blocking(&spec).tape[Direction::Read];
    assert_eq!((reads.ops, reads.service.max()), (60_000, Span::from_micros(100)));
    // The last begins at 5999.9 ms and was due at 59 999 × 50 µs.
    assert_eq!(reads.response.max(), Span::from_micros(6_000_000 - 59_999 * 50));
}

/// A new stage makes its requests at once. With nothing in flight, no completion would wake the
/// worker, so the job would wait for the tick, twice a round.
#[test]
fn rounds_of_checking_follow_one_another_without_a_wait() {
    let mut spec = six_seconds();
    spec.reach.mix = Mix::Only(Direction::Write);
    let backlog = Verify { backlog: 16, ..Verify::default() };
    let each_pass = Verify { ..Verify::default() };
    for (verify, requests, loops) in [(backlog, 160, 1), (each_pass, 16, 10)] {
        spec.verify = Some(verify);
        spec.ending = Ending { requests: Some(requests), loops, ..Ending::default() };
        let target = Staller { stall: Time::ZERO..Time::ZERO, result: Ok(()), waiting: Vec::new() };
        let (outcome, idle) = play_by(&spec, Box::new(target), &Rc::default());
        assert_eq!(outcome.error, None);
        assert_eq!((outcome.tape[Direction::Write].ops, outcome.tape[Direction::Read].ops), (160, 160));
        assert_eq!(idle, 0);
        // One after the other, 100 µs each.
        assert_eq!(outcome.elapsed, Span::from_micros(320 * 100));
    }
}

/// The page cache of the files is dropped whenever a round begins and before data is checked, after
/// a flush. Neither is counted. Random offsets without a map have no rounds.
#[test]
fn each_round_and_each_check_reads_from_the_storage() {
    let dropped = |change: fn(&mut JobSpec)| {
        let mut spec = six_seconds();
        spec.place = JobPlace::Null { size: Bytes::mib(1) };
        spec.ending = Ending { loops: 3, ..Ending::default() };
        change(&mut spec);
        let (times, clock) = (Rc::new(Cell::new(0)), Rc::<Cell<Time>>::default());
        let (count, later) = (Rc::clone(&times), Rc::clone(&clock));
        let forget = Box::new(move || {
            count.set(count.get() + 1);
            later.set(later.get() + Span::from_millis(3));
        });
        let target = Box::new(Blocking { clock: Rc::clone(&clock), waiting: VecDeque::new() });
        let (outcome, _) = play_through_cache(&spec, target, &clock, Some(forget));
        assert_eq!(outcome.error, None);
        let all = &outcome.tape;
        // The 3 ms that dropping took belong to no request.
        let longest = all.merged(|track| &track.response).max();
        assert_eq!((longest, outcome.tape[Tape::FLUSH].ops), (Span::from_micros(100), 0));
        (times.get(), all[Direction::Read].ops, all[Direction::Write].ops)
    };
    assert_eq!(dropped(|_| ()), (2, 768, 0));
    assert_eq!(dropped(|spec| spec.reach.order = Order::RANDOM), (2, 768, 0));
    assert_eq!(dropped(|spec| spec.layout.invalidate = false), (0, 768, 0));
    let free = |spec: &mut JobSpec| (spec.reach.order, spec.reach.coverage) = (Order::RANDOM, BlockCoverage::Free);
    assert_eq!(dropped(free), (0, 768, 0));
    // Each pass is checked, and the second and the third begin anew.
    let checked =
        |spec: &mut JobSpec| (spec.reach.mix, spec.verify) = (Mix::Only(Direction::Write), Some(Verify::default()));
    assert_eq!(dropped(checked), (5, 768, 768));
}

#[test]
fn a_read_without_the_right_to_it_says_so_and_over_nfs_who_may() {
    let mut spec = six_seconds();
    for (name, advised) in [("nfs://host/vol1/file", true), ("nbd://host/vol1", false)] {
        spec.place = JobPlace::Named { name: name.into(), region: workload::job::FileSpec::default() };
        let refuser = Staller { stall: Time::ZERO..Time::ZERO, result: Err(Fault::Denied), waiting: Vec::new() };
        let outcome = play_on(&spec, Box::new(refuser));
        assert_eq!(outcome.errors.of(stats::job::ErrorKind::Denied), 1);
        let error = outcome.error.unwrap();
        assert_eq!(error.number, 13);
        assert!(error.text.contains(": permission denied (EACCES)"), "{}", error.text);
        assert_eq!(error.text.contains("give uid= and gid="), advised, "{}", error.text);
    }
}
