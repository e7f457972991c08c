//! Page and picture are complete and safe, whatever a run is named.

use crate::noisy_neighbour;
use block::Span;
use insta::assert_snapshot;
use report::{picture, run_page};
use stats::*;

/// Text that a hostile plan would put wherever it can.
const HOSTILE: &str = "</script></style></title><script>alert(1)</script>\"'&\u{1b}";

fn html(recording: &Recording) -> String {
    run_page(&[recording]).render()
}

#[test]
fn everything_the_reader_needs_is_there_with_the_verdict_first() {
    let html = html(&noisy_neighbour::recording());
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    // In the order of reading.
    let parts = [
        "<h1>A noisy neighbour, measured and walled off</h1>",
        "1 of 4 cannot be said, 3 held",
        "The bully pushes server2 and server3 below 70 % of their even share",
        "io_uring is forbidden here",
        "id=\"chart-1-w\"",
        "vol1 ≤ 5,000",
        "vol1 + vol2",
        "qos policy-group modify policy1 -max-throughput 500IOPS,100MB/s",
        "Response time of server1 · vol1 over time",
        "Response time of server3 · vol3 over time",
        "Response time by percentile: 7: shared limit",
        "Throughput in MB/s of 3 workloads over time",
        "class=\"l\">vol1 and vol2 together</th>",
        "As published",
        "qos policy-group modify policy1 -max-throughput 1000IOPS,200MB/s",
        "AMD EPYC 7763, 2 cores",
        "seawall run plans/noisy-neighbour.toml",
        "The plan, as run",
    ];
    for pair in parts.windows(2) {
        assert!(at(pair[0]) < at(pair[1]), "{} should come before {}", pair[0], pair[1]);
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    let html = html(&noisy_neighbour::recording());
    let bare = html.replace("http://www.w3.org/2000/svg", "");
    for loading in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<iframe", "<img"] {
        assert!(!bare.contains(loading), "{loading}");
    }
}

#[test]
fn no_text_of_a_run_becomes_markup() {
    let html = html(&hostile());
    // Only the page's own two script elements, its style and its title.
    assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (2, 2));
    assert_eq!((html.matches("</style>").count(), html.matches("<style").count()), (1, 1));
    assert!(!html.contains("<script>alert") && !html.contains('\u{1b}'.to_string().as_str()));
    assert!(html.contains("&lt;script&gt;alert(1)"), "shown as text");
    assert_balanced(&picture::render(&hostile()));
}

#[test]
fn tags_are_balanced() {
    assert_balanced(&picture::render(&noisy_neighbour::recording()));
    let html = html(&noisy_neighbour::recording());
    // Style and scripts are not markup.
    let main = &html[html.find("<body>").unwrap()..html.find("<script").unwrap()];
    assert_balanced(&format!("{main}</body>"));
}

#[test]
fn an_empty_run_has_a_page_and_a_picture() {
    let html = html(&Recording::default());
    assert!(html.contains("No criterion was judged in this run") && html.contains("A run without a title"));
    assert!(!html.contains("NaN") && !html.contains("inf"));
    assert_balanced(&picture::render(&Recording::default()));
}

#[test]
fn a_failed_and_cut_run_says_so_before_anything_else() {
    let mut recording = noisy_neighbour::recording();
    recording.verdicts[0].outcome = Outcome::Fail;
    recording.origin.cut_short = true;
    recording.origin.simulated = true;
    let html = html(&recording);
    let main = html.find("<h2").unwrap();
    assert!(html[..main].contains("Cut short") && html[..main].contains("Simulated"));
    assert!(html.contains("class=\"verdict fail\"") && html.contains("1 of 4 did not hold, 1 cannot be said, 2 held"));
}

/// Transactions have their own unit, and no throughput if their bytes are not known.
#[test]
fn transactions_are_no_iops_and_have_no_throughput() {
    let mut recording = two_phases();
    recording.origin.transactions = true;
    for workload in &mut recording.workloads {
        workload.intervals.iter_mut().for_each(|interval| interval.counts.read_bytes = 0);
    }
    let page = html(&recording).replace('\n', "");
    assert!(page.contains("TPS over time") && page.contains("Transactions per second"), "{page}");
    assert!(!page.contains("IOPS over time") && !page.contains("Throughput"), "{page}");
    assert!(page.contains("<td>180</td><td>–</td>"), "{page}");
}

/// Floors are lines in the picture, and strips show every cause and every missed floor.
#[test]
fn floors_and_causes_are_drawn() {
    let mut recording = noisy_neighbour::recording();
    assert!(!html(&recording).contains("class=\"floor\"") && !html(&recording).contains("floor missed"));
    recording.objects[1].limits[0].floor_iops = Some(2000);
    recording.workloads[1].intervals[2].floor = FloorOutcome::Overcommitted(640);
    let html = html(&recording);
    // Wide and narrow; the narrow drawing also has it in its key.
    assert_eq!(html.matches("class=\"floor\"").count(), 3);
    assert!(html.contains("vol2 ≥ 2,000"), "the line says what it is");
    assert!(html.contains("floor missed: more than the storage can do, all floors held at 64 %"));
    assert!(html.contains("class=\"missed\"") && html.contains("cause by-ceiling") && html.contains("cause by-shared"));
    assert!(html.contains("ceiling of vol1 (IOPS)"), "which ceiling it was");
}

#[test]
fn the_picture_of_two_phases() {
    assert_snapshot!(picture::render(&two_phases()));
}

/// The page of a run that goes on says so, and until when its figures are: here 4 s after its
/// start. Labels are told; an imported run without a command has no seed.
#[test]
fn a_run_that_goes_on_says_until_when_it_is_told() {
    let mut recording = two_phases();
    let origin = &mut recording.origin;
    (origin.cut_short, origin.goes_on, origin.started_unix_ms) = (true, true, 1_795_292_350_000);
    origin.labels = vec![("raid".into(), "5".into()), ("tier".into(), "2".into())];
    let page = html(&recording);
    assert!(page.contains("The run goes on: figures are up to 2026-11-21 20:19:14 UTC"), "{page}");
    assert!(!page.contains("Cut short") && page.contains("raid=5, tier=2") && !page.contains("Seed"));
    recording.origin.goes_on = false;
    recording.origin.command = "seawall run a.toml".into();
    let page = html(&recording);
    assert!(page.contains("Cut short: the run ended early") && page.contains("Seed"));
}

/// Phases have numbers where there are several, unless their names have numbers of their own.
#[test]
fn phases_are_numbered_once() {
    let mut recording = two_phases();
    let named = |recording: &Recording, name: &str| html(recording).contains(name);
    assert!(named(&recording, ">1: free<") && named(&recording, ">2: held<"));
    for (phase, name) in recording.phases.iter_mut().zip(["run 0", "run 1"]) {
        phase.name = name.into();
    }
    assert!(named(&recording, ">run 0<") && !named(&recording, "1: run 0"));
    recording.phases.truncate(1);
    recording.phases[0].name = "200 IOPS".into();
    assert!(named(&recording, ">200 IOPS<") && !named(&recording, "1: 200 IOPS"));
}

/// A device's seconds from 1 s on with 100 and 300 reads, in phases from 0 to 2 and from 2 to 4 s:
/// the first second counts for the first phase and the second one for the second. Where the second
/// phase begins at 2.5 s it has half of them, at the same rate.
#[test]
fn devices_are_told_by_the_time_within_a_phase() {
    use stats::run::{DeviceRow, DeviceSeries, Moved};
    let row = |second, count| DeviceRow {
        start: Span::from_secs(second),
        length: Span::SECOND,
        reads: Moved { count, ..Moved::default() },
        ..DeviceRow::default()
    };
    let mut recording = two_phases();
    recording.host.devices.push(DeviceSeries { name: "vda".into(), rows: vec![row(1, 100), row(2, 300)] });
    let rates = |recording: &Recording| {
        let page = html(recording);
        let table = page.split("read await").nth(1).unwrap().split("</table>").next().unwrap();
        // The fourth cell of a row is the rate of reads: after name, busy and queue.
        let rate = |row: &str| row.split('<').nth(6).unwrap().split('>').nth(1).unwrap().to_owned();
        table.split(">vda").skip(1).map(rate).collect::<Vec<_>>()
    };
    assert_eq!(rates(&recording), ["100", "300"]);
    recording.phases[0].end = Span::from_millis(2500);
    recording.phases[1].start = Span::from_millis(2500);
    assert_eq!(rates(&recording), ["167", "300"], "250 reads in 1.5 s");
    // A single phase that begins after the first second has all of the run.
    recording.phases.remove(0);
    assert_eq!(rates(&recording), ["200"]);
}

/// Service times stand in for response times that nobody kept, and say so; figures without seconds
/// have no chart over time.
#[test]
fn what_is_not_known_is_no_empty_chart() {
    let mut recording = two_phases();
    for workload in &mut recording.workloads {
        workload.intervals.clear();
        workload.tallies[0].service.record(Span::from_millis(3));
    }
    let page = html(&recording);
    assert!(page.contains("times from hand-over to end") && page.contains(">3.00<"), "{page}");
    assert!(!page.contains("IOPS over time") && !page.contains("Throughput over time"));
}

/// Two seconds without and two with a ceiling of 100 IOPS; the second workload pauses for one
/// second.
fn two_phases() -> Recording {
    let second = |start, iops| Interval {
        start: Span::from_secs(start),
        length: Span::SECOND,
        counts: Counts { reads: iops, read_bytes: iops * 4096, ..Counts::default() },
        ..Interval::default()
    };
    let tally = |iops: u64| Tally {
        length: Span::from_secs(2),
        counts: Counts { reads: iops * 2, ..Counts::default() },
        ..Tally::default()
    };
    let workload = |number: u64, rates: [u64; 4]| WorkloadRecord {
        name: format!("server{number}"),
        object: format!("svm01:/vol/vol{number}/lun1"),
        intervals: (0..).zip(rates).map(|(start, iops)| second(start, iops)).collect(),
        tallies: vec![tally(rates[0]), tally(rates[2])],
        ..WorkloadRecord::default()
    };
    let phase = |name: &str, start| Phase {
        name: name.into(),
        start: Span::from_secs(start),
        end: Span::from_secs(start + 2),
        ..Phase::default()
    };
    let ceiling = LimitsInForce { policy: "policy1".into(), ceiling_iops: Some(100), ..LimitsInForce::default() };
    Recording {
        phases: vec![phase("free", 0), phase("held", 2)],
        workloads: vec![workload(1, [180, 190, 100, 100]), workload(2, [60, 0, 140, 140])],
        objects: vec![ObjectRecord {
            path: "svm01:/vol/vol1".into(),
            limits: vec![LimitsInForce::default(), ceiling],
            ..ObjectRecord::default()
        }],
        ..Recording::default()
    }
}

fn hostile() -> Recording {
    let mut recording = noisy_neighbour::recording();
    let text = || HOSTILE.to_string();
    let (origin, machine) = (&mut recording.origin, &mut recording.machine);
    for field in [&mut origin.title, &mut origin.plan, &mut origin.command, &mut origin.version] {
        *field = text();
    }
    for field in [&mut machine.host, &mut machine.kernel, &mut machine.cpu, &mut machine.storage, &mut machine.backend]
    {
        *field = text();
    }
    for phase in &mut recording.phases {
        (phase.name, phase.about) = (text(), text());
        (phase.commands, phase.commands_published) = (vec![text()], vec![text()]);
    }
    for workload in &mut recording.workloads {
        (workload.name, workload.host) = (text(), text());
        workload.object = format!("svm01:/vol/{HOSTILE}/lun1");
    }
    for object in &mut recording.objects {
        object.path = if object.is_group { text() } else { "svm01:".into() };
        object.limits.iter_mut().for_each(|limits| limits.policy = text());
    }
    for verdict in &mut recording.verdicts {
        (verdict.question, verdict.because) = (text(), text());
    }
    recording.notes = vec![text()];
    recording
}

/// Every element is closed in order, and attributes are quoted.
fn assert_balanced(markup: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in markup.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').unwrap_or_else(|| panic!("<{piece} does not end"));
        assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}> has an open quote");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> ends something else");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?} do not end");
}
