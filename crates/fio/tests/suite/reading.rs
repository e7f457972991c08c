//! Reading fio's JSON: what was written is read unchanged, and a damaged document is refused with
//! its position or is a consistent run.

use crate::outcome::{outcomes, parsed};
use fio::render::{Moment, Report};
use fio::{Invocation, read_json};
use proptest::prelude::*;
use stats::run::{Class, Kind, Run, Value};

const LINE: &str = "--name=mix --rw=randrw --bs=4k,8k --ioengine=io_uring --iodepth=4 --numjobs=2 --size=1g --name=log \
                    --rw=write --bs=16k --size=64m --ioengine=sync";

fn document(invocation: &Invocation, bins: bool) -> String {
    let outcomes = outcomes(invocation);
    let moment = Moment { unix_ms: 1_795_303_069_994, ahead_s: 0 };
    let report = Report {
        invocation,
        outcomes: &outcomes,
        moment,
        host: "h",
        pid: 7,
        notes: &[],
        interim: &[],
        interrupted: false,
    };
    if bins { report.json_plus() } else { report.json() }
}

/// Each job's counts, lengths and histograms are read back. `json` has no histograms, and then no
/// percentiles are derived.
#[test]
fn what_was_written_is_read() {
    let invocation = parsed(LINE);
    let written = outcomes(&invocation);
    let run = read_json(&document(&invocation, true)).unwrap();
    assert_eq!((run.identity.title.as_str(), run.actors.len()), ("mix, log", 3));
    for (actor, outcome) in (0..).zip(&written) {
        for class in [Class::READ, Class::WRITE] {
            let track = outcome.tape.track(&class).unwrap();
            let Some(cell) = run.cell(0, actor, &class) else {
                assert_eq!(track.ops, 0);
                continue;
            };
            assert_eq!((cell.ops, cell.bytes, cell.measured), (track.ops, Some(track.bytes), outcome.measured));
            let (read, kept) = (cell.latency(Kind::Service).unwrap(), &track.service);
            assert_eq!((read.count(), read.min(), read.max()), (kept.count(), kept.min(), kept.max()));
            // Both have buckets of at most 1/64.
            let ratio = read.quantile(0.99).as_nanos() as f64 / kept.quantile(0.99).as_nanos() as f64;
            assert!((0.98..1.02).contains(&ratio), "{ratio}");
        }
        let parts = [Class::READ, Class::WRITE].iter().filter_map(|class| run.cell(0, actor, class));
        assert_eq!(run.cell(0, actor, &Class::ALL).unwrap().ops, parts.map(|part| part.ops).sum::<u64>());
    }
    let set = |key: &str| run.settings.iter().find(|set| set.actor == Some(0) && set.key == key).map(|set| &set.value);
    assert_eq!(set("write_block_bytes"), Some(&Value::Number(8192.0)));
    assert_eq!(
        (set("mix"), set("order")),
        (Some(&Value::Word("readwrite".into())), Some(&Value::Word("random".into())))
    );
    let plain = read_json(&document(&invocation, false)).unwrap();
    assert!(plain.cells.iter().all(|cell| cell.latencies.is_empty()));
    assert!(plain.notes[0].contains("--output-format=json+"), "{:?}", plain.notes);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let good = r#"{"jobs":[{"jobname":"j","read":{"total_ios":2,"io_bytes":8192,"runtime":1000,
        "clat_ns":{"min":5,"max":9,"mean":7.0,"bins":{"5":1,"9":1}}}}]}"#;
    let histogram = read_json(good).unwrap().cells[0].latency(Kind::Service).cloned().unwrap();
    assert_eq!((histogram.count(), histogram.mean().as_nanos()), (2, 7));
    // fio names a bin by its middle, which is above the longest time in it.
    let wide = good.replace("\"min\":5,\"max\":9,\"mean\":7.0", "\"min\":20,\"max\":11707,\"mean\":900.0");
    let wide = read_json(&wide.replace("\"5\":1,\"9\":1", "\"19\":1,\"11776\":1")).unwrap();
    let wide = wide.cells[0].latency(Kind::Service).unwrap();
    assert_eq!((wide.min().as_nanos(), wide.max().as_nanos()), (20, 11_707));
    for (from, to, at) in [
        (good, "", "jobs: must be there"),
        (good, "{\"jobs\":[", "is no JSON of fio's, or was cut short: line 1, column 9 cannot be read"),
        (good, "{\"jobs\":[]}", "jobs: must be a list of one job to 65536"),
        ("\"jobname\":\"j\"", "\"jobname\":7", "jobs[0].jobname: must be a text"),
        ("\"total_ios\":2", "\"total_ios\":-2", "jobs[0].read.total_ios: must be a whole number, not negative"),
        ("\"runtime\":1000", "\"runtime\":99999999999999", "jobs[0].read.runtime: must be milliseconds of less than"),
        ("\"5\":1", "\"x\":1", "jobs[0].read.clat_ns.bins.x: must be a time in whole nanoseconds"),
        ("\"9\":1", "\"9\":18446744073709551615", "jobs[0].read.clat_ns.bins.9: must be counts of at most 2^60"),
        ("\"mean\":7.0", "\"mean\":70", "jobs[0].read.clat_ns.mean: must be between min and max"),
    ] {
        let text = good.replace(from, to);
        let error = read_json(&text).unwrap_err().to_string();
        assert!(error.starts_with(at), "{text}: {error}");
    }
}

/// Invariants of a run: nothing is counted twice, and no time is outside of the measuring.
fn is_whole(run: &Run) {
    assert_eq!(run.points.len(), 1);
    for (number, _) in (0..).zip(&run.actors) {
        let all = run.cell(0, number, &Class::ALL).unwrap();
        let parts = run.cells.iter().filter(|cell| cell.actor == number && cell.class.is_part());
        assert_eq!(all.ops, parts.map(|part| part.ops).sum::<u64>());
        assert!(all.measured <= run.points[0].end);
    }
}

/// Fragments that are inserted in wrong places.
const PIECES: [&str; 14] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "-1",
    "18446744073709551615",
    "1e400",
    "null",
    "\"bins\":{\"0\":9}",
    "\u{0}",
    "é",
];

/// How many documents are tried; `cargo xtask soak import` sets more.
fn documents() -> u32 {
    std::env::var("SEAWALL_DOCUMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(documents()))]

    /// Documents that were cut, changed or put together wrongly are refused with one line, or are
    /// consistent runs.
    #[test]
    fn nearly_right_documents(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, prop::sample::select(&PIECES[..])), 1..4)
    ) {
        let mut chars: Vec<char> = document(&parsed("--name=j --rw=randrw --size=1m --ioengine=null"), true).chars().collect();
        for (at, cut, piece) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        match read_json(&chars.into_iter().collect::<String>()) {
            Ok(run) => is_whole(&run),
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
        }
    }
}

/// With `unified_rw_reporting` all directions have one section, which has the figures of all.
#[test]
fn a_section_of_all_directions_is_read() {
    let invocation = parsed("--name=mix --rw=randrw --bs=4k --size=1g --unified_rw_reporting=1");
    let written = &outcomes(&invocation)[0];
    let ops: u64 = [Class::READ, Class::WRITE].iter().map(|class| written.tape.track(class).unwrap().ops).sum();
    let run = read_json(&document(&invocation, true)).unwrap();
    let all = run.cell(0, 0, &Class::ALL).unwrap();
    assert_eq!(all.ops, ops);
    assert!(all.latency(Kind::Service).is_some());
    assert!(run.notes.is_empty(), "{:?}", run.notes);
}

/// `--status-interval` makes a document for each interval; the last one counts, whole.
#[test]
fn the_last_of_several_documents_is_read() {
    let document = |size: &str| document(&parsed(&format!("--name=j{size} --rw=read --size={size}")), true);
    let (first, last) = (document("1m"), document("2m"));
    let run = read_json(&format!("fio: a line\n{first}\nfio: another\n{last}\n")).unwrap();
    assert_eq!(run.identity.title, "j2m");
    assert_eq!(run.notes, ["the last of 2 reports in the file; those before it were interim"]);
    let cut = read_json(&format!("{first}\n{}", &last[..last.len() / 2])).unwrap();
    assert_eq!((cut.identity.title.as_str(), cut.notes.len()), ("j1m", 0));
}
