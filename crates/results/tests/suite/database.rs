//! Any run is loaded as it was saved, and what cannot be loaded is an error of one line.

use crate::seen::{objects, partitions};
use block::{Bytes, Span, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use results::{Detail, Error, Filter, Results};
use rusqlite::Connection;
use stats::run::*;
use stats::*;

#[test]
fn runs_are_listed_in_the_order_they_were_saved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut first = Run::default();
    first.identity.title = "first".into();
    first.identity.started_unix_ms = 1_700_000_000_000;
    let outcomes = [Outcome::Pass, Outcome::Pass, Outcome::CannotSay, Outcome::Fail];
    let verdict = |outcome| Verdict { question: "q".into(), outcome, because: "b".into(), measured: None };
    first.verdicts = outcomes.map(verdict).into();
    let second = Run::default();

    let ids = {
        let mut results = Results::open(&path).unwrap();
        [results.save(&first).unwrap(), results.save(&second).unwrap()]
    };
    let results = Results::open_existing(&path).unwrap();
    let list = results.list(&Filter::default()).unwrap();
    assert_eq!(list.iter().map(|run| run.id).collect::<Vec<_>>(), ids);
    assert_eq!((list[0].title.as_str(), list[0].started_unix_ms), ("first", 1_700_000_000_000));
    assert_eq!((list[0].passed, list[0].cannot_say, list[0].failed), (2, 1, 1));
    assert_eq!(results.load(ids[0]).unwrap(), first);
    assert_eq!(results.load(ids[1]).unwrap(), second);
    assert_eq!(["last", "last~0", "last~1"].map(|name| results.number_of(name).unwrap()), [ids[1], ids[1], ids[0]]);
    for name in ["last~-1", "last~", "last~2", "last~x", "last~99999999999999999999"] {
        assert!(matches!(results.number_of(name), Err(Error::NotNamed { found: 0, .. })), "{name}");
    }
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    assert!(matches!(Results::open_existing(&path), Err(Error::NoFile { .. })));
    assert!(!path.exists());
    // An empty file is initialised only by opening it for writing.
    std::fs::write(&path, "").unwrap();
    assert!(matches!(Results::open_existing(&path), Err(Error::Empty { .. })));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    let results = Results::open(&path).unwrap();
    let error = results.load(7).unwrap_err().to_string();
    assert!(error.contains("no run 7") && !error.contains('\n'), "{error}");
    assert!(matches!(results.number_of("last"), Err(Error::NoRunYet { .. })));
    assert!(matches!(Results::open(dir.path()), Err(Error::Folder { .. })));
}

/// A run of one actor and one point with these times of one kind.
fn one_cell(kind: Kind, times: impl IntoIterator<Item = Span>) -> Run {
    let mut run = Run { actors: vec![RunActor::default()], ..Run::default() };
    run.points.push(Point::default());
    run.begin_cells();
    let mut histogram = Histogram::new();
    times.into_iter().for_each(|time| histogram.record(time));
    run.cells[0].latencies.push((kind, histogram));
    run
}

#[test]
fn a_run_that_was_tampered_with_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let mut results = Results::open(&path).unwrap();
    let run = results.save(&one_cell(Kind::Response, [Span::from_millis(3)])).unwrap();
    // A count that does not match the buckets.
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE latency SET count = 2 WHERE kind = 'response'", []).unwrap();
    let error = results.load(run).unwrap_err();
    assert!(matches!(error, Error::Damaged { what: "a histogram", .. }), "{error}");
}

#[test]
fn the_percentiles_can_be_queried_with_sql() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    let run = one_cell(Kind::Device, (1..=100).map(Span::from_nanos));
    Results::open(&path).unwrap().save(&run).unwrap();
    // Values below 128 ns have a bucket each, so the percentiles of 1 to 100 ns are exact.
    let found = Connection::open(&path).unwrap().query_row(
        "SELECT p50_ns, p99_ns, max_ns FROM latency WHERE kind = 'device'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    );
    assert_eq!(found, Ok((50, 99, 100)));
}

/// A run that is saved after 30, 90 and 150 s: minutes of several workloads and classes are
/// interleaved then, and in the end the file is the same as if the run had been saved once.
#[test]
fn a_run_that_was_written_as_it_went_on_is_whole() {
    let after = |seconds: u64| {
        let slice = |second: u64, ops| Slice {
            start: Span::from_secs(second),
            length: Span::SECOND,
            ops,
            bytes: Some(ops * 4096),
            ..Slice::default()
        };
        let series = |(actor, class): (u32, &Class)| {
            let ops = |second| if *class == Class::WRITE { 7 } else { 100 + second };
            let slices = (0..seconds).map(|second| slice(second, ops(second))).collect();
            Series { actor, class: class.clone(), slices, minutes: Vec::new() }
        };
        let classes = [Class::READ, Class::WRITE];
        Run {
            actors: vec![RunActor::default(); 2],
            series: (0..2).flat_map(|actor| classes.iter().map(move |class| (actor, class))).map(series).collect(),
            ..Run::default()
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    let number = results.save(&after(30)).unwrap();
    [90, 150].into_iter().for_each(|seconds| results.replace(number, &after(seconds)).unwrap());
    let loaded = results.load(number).unwrap();
    assert_eq!(loaded, after(150));
    assert_eq!(loaded.series(1, &Class::READ).unwrap().slices[149].ops, 249);
}

/// Minutes with histograms survive, including those saved before they were over, and SQL can merge
/// them: 60 reads of 1 ms in the first minute and 60 of 5 ms in the second, so the median of both
/// is 1 ms and the 99th percentile 5.
#[test]
fn minutes_have_histograms_that_add_up() {
    let after = |seconds: u64| {
        let mut run = Run { actors: vec![RunActor::default()], ..Run::default() };
        run.points.push(Point::default());
        run.begin_cells();
        for start in 0..seconds {
            let mut tape = Tape::default();
            let (end, took) = (Time::from_nanos(1_000_000_000), Span::from_millis(if start < 60 { 1 } else { 5 }));
            let (due, class) = (end - took, Tape::READ);
            tape.ended(&Ended { class, due, made: due, handed: due, end, gate: Span::ZERO, bytes: 4096 });
            let (start, length) = (Span::from_secs(start), Span::SECOND);
            run.add_second(&tape, Second { start, length, settled: true, ..Second::default() }, None);
        }
        run
    };
    let dir = tempfile::tempdir().unwrap();
    let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
    let number = results.save(&after(30)).unwrap();
    [90, 120].into_iter().for_each(|seconds| results.replace(number, &after(seconds)).unwrap());
    assert_eq!(results.load(number).unwrap(), after(120));
    let query = "SELECT percentile_ns(merge(buckets), 50) / 1e6, percentile_ns(merge(buckets), 99) / 1e6, sum(ops)
        FROM minutes WHERE run = 1 AND class = 'read'";
    let found = results.query(query, || false).unwrap().rows.remove(0);
    use results::SqlValue::{Integer, Real};
    let [Real(p50), Real(p99), Integer(120)] = found[..] else { panic!("{found:?}") };
    assert!((p50 - 1.0).abs() < 0.032 && (p99 / 5.0 - 1.0).abs() < 0.032, "{p50} {p99}");
    // By minutes it is the same, in two rows for each class.
    let drawn = results.load_as(number, Detail::Within(100)).unwrap();
    let reads = drawn.series(0, &Class::READ).unwrap();
    assert_eq!(
        reads.slices.iter().map(|slice| (slice.ops, slice.length)).collect::<Vec<_>>(),
        [(60, Span::from_secs(60)); 2]
    );
    let p99 = reads.slices[1].response.unwrap().p99().unwrap().as_millis_f64();
    assert!((p99 / 5.0 - 1.0).abs() < 0.032, "{p99}");
    assert_eq!(drawn.cells, after(120).cells);
    // A page needs percentiles only of the whole.
    let page = results.load_as(number, Detail::Drawn(100)).unwrap();
    let spread = |class: &Class| page.series(0, class).unwrap().slices[1].response.unwrap().spread.is_some();
    assert_eq!([Class::ALL, Class::READ].map(|class| spread(&class)), [true, false]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn loading_gives_what_was_saved(run in runs()) {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("results.sqlite")).unwrap();
        // With another run before it, a query that forgets the run's key would mix up rows.
        results.save(&Run { notes: vec!["before".into()], ..run.clone() }).unwrap();
        let number = results.save(&run).unwrap();
        prop_assert_eq!(results.load(number).unwrap(), run);
    }
}

/// Arbitrary runs of two actors and two points.
fn runs() -> impl Strategy<Value = Run> {
    let heading = (identities(), machines(), option::of(scales()), labels());
    let parties = (vec(places(), 0..3), vec(actors(), 2), vec(points(), 2));
    let figures = (cells(), series(), gates(), vec(cycles(), 0..3));
    let told = (
        vec(settings(), 0..3),
        vec(events(), 0..3),
        vec(objects(), 0..4),
        vec(partitions(), 0..3),
        vec(verdicts(), 0..4),
        vec(text(), 0..4),
    );
    (heading, parties, figures, told).prop_map(|(heading, parties, figures, told)| {
        let (identity, machine, scale, labels) = heading;
        let (mut places, mut actors, points) = parties;
        let (cells, series, gates, cycles) = figures;
        let (settings, events, objects, partitions, verdicts, notes) = told;
        places.dedup();
        let known = places.len() as u32;
        actors.iter_mut().for_each(|actor: &mut RunActor| actor.place = actor.place.filter(|place| *place < known));
        let host = HostRecord::default();
        Run {
            identity,
            machine,
            labels,
            scale,
            places,
            actors,
            points,
            settings,
            cells,
            series,
            gates,
            host,
            events,
            cycles,
            objects,
            partitions,
            verdicts,
            notes,
        }
    })
}

const CLASSES: [Class; 3] = [Class::ALL, Class::READ, Class::FLUSH];

/// For each actor its classes, each with or without some values of `of`.
fn by_class<T: Clone + std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<(u32, Class, T)>> {
    vec(option::of(of), 6).prop_map(|all| {
        let keys = (0..2).flat_map(|actor| CLASSES.map(|class| (actor, class)));
        keys.zip(all).filter_map(|((actor, class), of)| Some((actor, class, of?))).collect()
    })
}

fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let number = || option::of(any::<u64>());
    let counted = (any::<u64>(), number(), number(), number());
    let scheduled = option::of((any::<u64>(), spans(), number(), number()));
    let one = (any::<bool>(), spans(), counted, scheduled, latencies());
    by_class(one).prop_map(|cells| {
        let cell = |(actor, class, (second, measured, counted, scheduled, latencies))| {
            let (ops, bytes, failed, short) = counted;
            let cell =
                Cell { ops, bytes, failed, short, latencies, ..Cell::new(u32::from(second), actor, class, measured) };
            match scheduled {
                Some((late, late_max, held, never_sent)) => {
                    Cell { late: Some(late), late_max: Some(late_max), held, never_sent, ..cell }
                }
                None => cell,
            }
        };
        cells.into_iter().map(cell).collect()
    })
}

fn latencies() -> impl Strategy<Value = Vec<(Kind, Histogram)>> {
    vec(option::of(histograms()), Kind::ALL.len()).prop_map(|all| {
        let found = Kind::ALL.into_iter().zip(all);
        found.filter_map(|(kind, times)| Some((kind, times?))).filter(|(_, times)| times.count() > 0).collect()
    })
}

fn times() -> impl Strategy<Value = Option<Times>> {
    let spread = [spans(), spans(), spans()].prop_map(|[p50, p99, p999]| Spread { p50, p99, p999 });
    let times = (1..=u64::MAX, spans(), option::of(spread), option::of(spans()))
        .prop_map(|(count, mean, spread, max)| Times { count, mean, spread, max });
    option::of(times)
}

fn series() -> impl Strategy<Value = Vec<Series>> {
    let number = || option::of(any::<u32>().prop_map(u64::from));
    let slice = (spans(), spans(), any::<u32>(), number(), number(), times(), times(), option::of(any::<u32>()))
        .prop_map(|(start, length, ops, bytes, failed, response, service, outstanding)| Slice {
            start,
            length,
            ops: ops.into(),
            bytes,
            failed,
            response,
            service,
            outstanding,
        });
    by_class(vec(slice, 1..4)).prop_map(|all| {
        all.into_iter().map(|(actor, class, slices)| Series { actor, class, slices, minutes: Vec::new() }).collect()
    })
}

fn gates() -> impl Strategy<Value = Vec<GateSeries>> {
    let waits = [spans(), spans(), spans(), spans()].prop_map(|[ceiling, floors, turn, device]| Waits {
        ceiling,
        floors,
        turn,
        device,
    });
    let row = (spans(), spans(), waits, held_by(), any::<Option<u32>>(), floors()).prop_map(
        |(start, length, waits, held_by, held_at, floor)| GateRow {
            start,
            length,
            waits,
            held_by,
            held_at,
            floor,
            ..GateRow::default()
        },
    );
    option::of(vec(row, 1..4)).prop_map(|rows| rows.into_iter().map(|rows| GateSeries { actor: 1, rows }).collect())
}

fn places() -> impl Strategy<Value = RunPlace> {
    (text(), text(), option::of(any::<u64>())).prop_map(|(kind, name, size)| RunPlace { kind, name, size })
}

fn actors() -> impl Strategy<Value = RunActor> {
    (text(), text(), option::of(any::<u32>()), option::of(0u32..3)).prop_map(|(name, host, group, place)| RunActor {
        name,
        host,
        group,
        place,
    })
}

fn settings() -> impl Strategy<Value = Setting> {
    let value = prop_oneof![(-1e9..1e9).prop_map(Value::Number), text().prop_map(Value::Word)];
    (option::of(0u32..2), option::of(0u32..2), text(), value).prop_map(|(point, actor, key, value)| Setting {
        point,
        actor,
        key,
        value,
    })
}

fn events() -> impl Strategy<Value = Event> {
    (option::of(0u32..2), option::of(0u32..2), spans(), text(), text(), option::of(-1e9..1e9))
        .prop_map(|(point, actor, at, kind, name, number)| Event { point, actor, at, kind, name, number })
}

/// Labels in the order of their keys, each key once.
fn labels() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::btree_map(text(), text(), 0..3).prop_map(|labels| labels.into_iter().collect())
}

/// Arbitrary text, including quotes, line ends and zero characters.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,12}", "[\\x00-\\x7f'\"]{0,12}"]
}

fn spans() -> impl Strategy<Value = Span> {
    any::<u64>().prop_map(Span::from_nanos)
}

fn identities() -> impl Strategy<Value = Identity> {
    let words = [text(), text(), text(), text(), text()];
    let state = prop::sample::select(vec![State::Running, State::Ended, State::CutShort]);
    (words, any::<u64>(), any::<u64>(), any::<bool>(), state).prop_map(
        |([tool, title, command, text, version], seed, started_unix_ms, simulated, state)| Identity {
            tool,
            title,
            command,
            text,
            version,
            seed,
            started_unix_ms,
            simulated,
            state,
        },
    )
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

fn points() -> impl Strategy<Value = Point> {
    let words = (text(), text(), text(), vec(text(), 0..3), vec(text(), 0..3));
    (words, spans(), spans(), option::of(spans())).prop_map(
        |((name, about, arm, commands, commands_published), start, end, stalled)| Point {
            name,
            about,
            arm,
            commands,
            commands_published,
            start,
            end,
            stalled,
        },
    )
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

fn floors() -> impl Strategy<Value = FloorOutcome> {
    use FloorOutcome::*;
    prop_oneof![
        prop::sample::select(vec![NotSet, Met, CeilingAbove, LinkAbove, AwayFromServer, Adjusting, NotHelped]),
        any::<u64>().prop_map(NeedsOutstanding),
        any::<u64>().prop_map(TakesAtBest),
        any::<u32>().prop_map(Overcommitted),
    ]
}

fn histograms() -> impl Strategy<Value = Histogram> {
    vec(0u64..1 << 50, 0..20).prop_map(|values| {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ns| histogram.record(Span::from_nanos(ns)));
        histogram
    })
}

fn cycles() -> impl Strategy<Value = (u32, CycleRecord)> {
    let six = [spans(), spans(), spans(), spans(), spans(), spans()];
    (0u32..2, any::<u32>(), six, any::<u64>()).prop_map(
        |(actor, phase, [due, start, sleep, wij, write, cycle], blocks)| {
            (actor, CycleRecord { phase, due, start, sleep, wij, write, cycle, blocks })
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
