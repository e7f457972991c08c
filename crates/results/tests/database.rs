//! What is saved is what is loaded, whatever the run; and what cannot be loaded says so in a line.

use block::{Bytes, Span, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use results::{Error, Filter, Results};
use rusqlite::Connection;
use stats::run::{HostRecord, Run};
use stats::*;

/// A recording as it is kept.
fn kept(recording: &Recording) -> Run {
    Run::of_recording(recording, "run")
}

#[test]
fn runs_are_listed_in_the_order_they_were_saved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut first = Recording::default();
    first.origin.title = "first".into();
    first.origin.started_unix_ms = 1_700_000_000_000;
    let outcomes = [Outcome::Pass, Outcome::Pass, Outcome::CannotSay, Outcome::Fail];
    let verdict = |outcome| Verdict { question: "q".into(), outcome, because: "b".into(), measured: None };
    first.verdicts = outcomes.map(verdict).into();
    let second = Recording::default();

    let ids = {
        let mut results = Results::open(&path).unwrap();
        [results.save(&kept(&first)).unwrap(), results.save(&kept(&second)).unwrap()]
    };
    let results = Results::open_existing(&path).unwrap();
    let list = results.list(&Filter::default()).unwrap();
    assert_eq!(list.iter().map(|run| run.id).collect::<Vec<_>>(), ids);
    assert_eq!((list[0].title.as_str(), list[0].started_unix_ms), ("first", 1_700_000_000_000));
    assert_eq!((list[0].passed, list[0].cannot_say, list[0].failed), (2, 1, 1));
    assert_eq!(results.load(ids[0]).unwrap().recording(), first);
    assert_eq!(results.load(ids[1]).unwrap().recording(), second);
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    assert!(matches!(Results::open_existing(&path), Err(Error::NoFile { .. })));
    assert!(!path.exists());
    let results = Results::open(&path).unwrap();
    let error = results.load(7).unwrap_err().to_string();
    assert!(error.contains("no run 7") && !error.contains('\n'), "{error}");
    assert!(matches!(Results::open(dir.path()), Err(Error::Sqlite { .. })), "a folder");
}

#[test]
fn a_run_that_was_tampered_with_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut recording = Recording::default();
    let mut tally = Tally::default();
    tally.response.record(Span::from_millis(3));
    recording.workloads = vec![WorkloadRecord { tallies: vec![tally], ..WorkloadRecord::default() }];
    let mut results = Results::open(&path).unwrap();
    let run = results.save(&kept(&recording)).unwrap();
    // One value more than its buckets hold.
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE latency SET count = 2 WHERE kind = 'response'", []).unwrap();
    let error = results.load(run).unwrap_err();
    assert!(matches!(error, Error::Damaged { what: "a histogram", .. }), "{error}");
}

#[test]
fn the_percentiles_can_be_queried_with_sql() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut tally = Tally::default();
    (1..=100).for_each(|ns| tally.device.record(Span::from_nanos(ns)));
    let recording = Recording {
        workloads: vec![WorkloadRecord { tallies: vec![tally], ..WorkloadRecord::default() }],
        ..Recording::default()
    };
    Results::open(&path).unwrap().save(&kept(&recording)).unwrap();
    // Values below 128 ns have a bucket each, so the percentiles of 1 to 100 ns are exact.
    let found = Connection::open(&path).unwrap().query_row(
        "SELECT p50_ns, p99_ns, max_ns FROM latency WHERE kind = 'device'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    assert_eq!(found, Ok((50, 99, 100)));
}

/// A run that is written while it goes on, after 30, 90 and 150 s: minutes of several workloads and classes are written by
/// turns then, and at its end it is what it would have been if it had been written once.
#[test]
fn a_run_that_was_written_as_it_went_on_is_whole() {
    let workload = |name: &str, seconds: u64| {
        let interval = |second| Interval {
            start: Span::from_secs(second),
            length: Span::SECOND,
            counts: Counts { reads: 100 + second, writes: 7, read_bytes: 4096, ..Counts::default() },
            ..Interval::default()
        };
        WorkloadRecord {
            name: name.into(),
            intervals: (0..seconds).map(interval).collect(),
            ..WorkloadRecord::default()
        }
    };
    let after = |seconds| {
        let workloads = ["one", "two"].map(|name| workload(name, seconds)).to_vec();
        kept(&Recording { workloads, ..Recording::default() })
    };
    let dir = tempfile::tempdir().unwrap();
    let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    let number = results.save(&after(30)).unwrap();
    [90, 150].into_iter().for_each(|seconds| results.replace(number, &after(seconds)).unwrap());
    let loaded = results.load(number).unwrap();
    assert_eq!(loaded.recording(), after(150).recording());
    assert_eq!(loaded.recording().workloads[1].intervals[149].counts.reads, 249);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn loading_gives_what_was_saved(recording in recordings()) {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        // Another run before it, so that rows of the two would be mixed up if a key were forgotten.
        results.save(&kept(&Recording { notes: vec!["before".into()], ..recording.clone() })).unwrap();
        let run = kept(&recording);
        let number = results.save(&run).unwrap();
        let loaded = results.load(number).unwrap();
        prop_assert_eq!(&loaded, &run);
        prop_assert_eq!(loaded.recording(), recording);
    }
}

fn recordings() -> impl Strategy<Value = Recording> {
    let whole = (
        (origins(), machines(), option::of(scales())),
        vec(phases(), 0..4),
        vec(workloads(), 0..4),
        vec(objects(), 0..4),
        vec(verdicts(), 0..4),
        vec(text(), 0..4),
    );
    whole.prop_map(|((origin, machine, scale), phases, mut workloads, objects, verdicts, notes)| {
        // A tally for each phase at most.
        workloads.iter_mut().for_each(|workload: &mut WorkloadRecord| workload.tallies.truncate(phases.len()));
        let host = HostRecord::default();
        Recording { origin, machine, scale, phases, workloads, objects, host, verdicts, notes }
    })
}

/// Any text: quotes, line ends, zero characters and all.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,12}", "[\\x00-\\x7f'\"]{0,12}"]
}

fn spans() -> impl Strategy<Value = Span> {
    any::<u64>().prop_map(Span::from_nanos)
}

fn origins() -> impl Strategy<Value = Origin> {
    let fields = (text(), text(), text(), text(), any::<u64>(), any::<u64>(), any::<bool>(), any::<bool>());
    fields.prop_map(|(title, plan, command, version, seed, started_unix_ms, simulated, cut_short)| Origin {
        title,
        plan,
        command,
        version,
        seed,
        started_unix_ms,
        simulated,
        cut_short,
    })
}

fn machines() -> impl Strategy<Value = Machine> {
    let fields = (text(), text(), text(), any::<u32>(), any::<u64>(), text(), text());
    fields.prop_map(|(host, kernel, cpu, cores, memory, storage, backend)| Machine {
        host,
        kernel,
        cpu,
        cores,
        memory: Bytes(memory),
        storage,
        backend,
    })
}

fn scales() -> impl Strategy<Value = Scale> {
    (1e-6..1e6, 1e-3..1e9, option::of(1e-3..1e9)).prop_map(|(factor, published_iops, measured_iops)| Scale {
        factor,
        published_iops,
        measured_iops,
    })
}

fn phases() -> impl Strategy<Value = Phase> {
    (text(), text(), vec(text(), 0..3), vec(text(), 0..3), [spans(), spans(), spans()]).prop_map(
        |(name, about, commands, commands_published, [start, end, stalled])| Phase {
            name,
            about,
            commands,
            commands_published,
            start,
            end,
            stalled,
        },
    )
}

fn counts() -> impl Strategy<Value = Counts> {
    // Six that add up, as operations of a second do.
    any::<[u32; 6]>().prop_map(|counts| {
        let [reads, writes, other, read_bytes, write_bytes, faults] = counts.map(u64::from);
        Counts { reads, writes, other, read_bytes, write_bytes, faults }
    })
}

fn summaries() -> impl Strategy<Value = Summary> {
    (any::<u64>(), [spans(), spans(), spans(), spans(), spans()])
        .prop_map(|(count, [mean, p50, p99, p999, max])| Summary { count, mean, p50, p99, p999, max })
        // A summary of nothing says nothing.
        .prop_map(|summary| if summary.count == 0 { Summary::default() } else { summary })
}

fn held_by() -> impl Strategy<Value = HeldBy> {
    use HeldBy::*;
    prop::sample::select(vec![
        Nothing,
        CeilingIops,
        CeilingThroughput,
        SharedIops,
        SharedThroughput,
        Floors,
        Disk,
        Cpu,
        Depth,
        Pace,
        Stalled,
    ])
}

fn floors() -> impl Strategy<Value = FloorFared> {
    use FloorFared::*;
    prop_oneof![
        prop::sample::select(vec![NotSet, Met, CeilingAbove, Adjusting]),
        any::<u64>().prop_map(NeedsOutstanding),
        any::<u32>().prop_map(Overcommitted),
    ]
}

fn intervals() -> impl Strategy<Value = Interval> {
    let waits = [spans(), spans(), spans(), spans()].prop_map(|[ceiling, floors, turn, device]| Waits {
        ceiling,
        floors,
        turn,
        device,
    });
    let held = (held_by(), any::<Option<u32>>());
    (spans(), spans(), counts(), summaries(), summaries(), any::<u32>(), waits, held, floors()).prop_map(
        |(start, length, counts, response, service, outstanding, waits, (held_by, held_at), floor)| Interval {
            start,
            length,
            counts,
            response,
            service,
            outstanding,
            waits,
            held_by,
            held_at,
            floor,
        },
    )
}

fn histograms() -> impl Strategy<Value = Histogram> {
    vec(0u64..1 << 50, 0..20).prop_map(|values| {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ns| histogram.record(Span::from_nanos(ns)));
        histogram
    })
}

fn tallies() -> impl Strategy<Value = Tally> {
    let four = [histograms(), histograms(), histograms(), histograms()];
    let open = option::of((any::<u64>(), any::<u64>()));
    (spans(), counts(), four, any::<u64>(), spans(), open).prop_map(
        |(length, counts, [response, service, queued, device], late, late_max, open)| Tally {
            length,
            counts,
            response,
            service,
            queued,
            device,
            late,
            late_max,
            held: open.map(|(held, _)| held),
            never_sent: open.map(|(_, never_sent)| never_sent),
            parts: Vec::new(),
        },
    )
}

fn workloads() -> impl Strategy<Value = WorkloadRecord> {
    (text(), text(), text(), vec(intervals(), 0..4), vec(tallies(), 0..3), vec(cycles(), 0..3)).prop_map(
        |(name, host, object, intervals, tallies, cycles)| WorkloadRecord {
            name,
            host,
            // What uses nothing uses no kind of place either.
            kind: if object.is_empty() { String::new() } else { "file".into() },
            object,
            intervals,
            tallies,
            cycles,
        },
    )
}

fn cycles() -> impl Strategy<Value = CycleRecord> {
    let six = [spans(), spans(), spans(), spans(), spans(), spans()];
    (any::<u32>(), six, any::<u64>()).prop_map(|(phase, [due, start, sleep, wij, write, cycle], blocks)| CycleRecord {
        phase,
        due,
        start,
        sleep,
        wij,
        write,
        cycle,
        blocks,
    })
}

fn traces() -> impl Strategy<Value = DispatchTrace> {
    // Steps of up to 5 s in time, some of them zero, from anywhere within a year.
    let steps = vec((0u64..5_000_000_000, 0u32..1000, 0u64..1 << 40), 0..12);
    (0u64..31_536_000_000_000_000, steps).prop_map(|(start, steps)| {
        let (mut trace, mut at) = (DispatchTrace::default(), Time::from_nanos(start));
        for (step, ops, bytes) in steps {
            at += Span::from_nanos(step);
            trace.add(at, ops, bytes);
        }
        trace
    })
}

fn limits() -> impl Strategy<Value = LimitsInForce> {
    let number = || option::of(any::<u64>());
    (text(), number(), number(), number(), number()).prop_map(
        |(policy, ceiling_iops, ceiling_bytes, floor_iops, floor_bytes)| LimitsInForce {
            policy,
            ceiling_iops,
            ceiling_bytes,
            floor_iops,
            floor_bytes,
        },
    )
}

fn objects() -> impl Strategy<Value = ObjectRecord> {
    let used = || option::of(any::<u64>().prop_map(Bytes));
    (text(), any::<bool>(), used(), used(), traces(), vec(limits(), 0..4)).prop_map(
        |(path, is_group, used_start, used_end, trace, limits)| ObjectRecord {
            path,
            is_group,
            used_start,
            used_end,
            trace,
            limits,
        },
    )
}

fn verdicts() -> impl Strategy<Value = Verdict> {
    let outcome = prop::sample::select(vec![Outcome::Pass, Outcome::CannotSay, Outcome::Fail]);
    let measured = option::of((-1e9..1e9, -1e9..1e9, text()));
    (text(), outcome, text(), measured).prop_map(|(question, outcome, because, measured)| Verdict {
        question,
        outcome,
        because,
        measured: measured.map(|(value, bound, unit)| Measured { value, bound, unit }),
    })
}
