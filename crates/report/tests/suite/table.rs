//! The table at the end of a run, compared with a text beside this file. `INSTA_UPDATE=always cargo
//! test -p report` updates it; the difference is reviewed like code.

use crate::noisy_neighbour;
use block::Span;
use insta::assert_snapshot;
use report::{Paint, table};
use stats::*;

#[test]
fn the_noisy_neighbour() {
    assert_snapshot!(table::render(&noisy_neighbour::recording(), Paint::Plain));
}

#[test]
fn no_line_is_wider_than_80_columns() {
    for recording in [noisy_neighbour::recording(), awkward(), with_floors()] {
        let table = table::render(&recording, Paint::Plain);
        let widest = table.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(widest.chars().count() <= 80, "{widest}");
        assert!(table.lines().all(|line| line.trim_end() == line || line.trim().is_empty()), "{table}");
    }
}

/// A name goes on in another line where it is wider than the table.
#[test]
fn a_long_name_is_whole() {
    let mut recording = awkward();
    let name: Vec<String> = (0..12).map(|number| format!("part-number-{number}")).collect();
    recording.workloads[0].name = name.join(" ");
    let table = table::render(&recording, Paint::Plain);
    assert!(name.iter().all(|part| table.contains(part.as_str())), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    let recording = noisy_neighbour::recording();
    let painted = table::render(&recording, Paint::Ansi);
    assert!(painted.contains("\x1b["));
    let mut bare = String::new();
    for (i, part) in painted.split("\x1b[").enumerate() {
        bare.push_str(if i == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, table::render(&recording, Paint::Plain));
}

#[test]
fn an_awkward_run() {
    assert_snapshot!(table::render(&awkward(), Paint::Plain));
}

#[test]
fn an_empty_run() {
    assert_snapshot!(table::render(&Recording::default(), Paint::Plain));
}

/// A missed floor is reported below its workload, with its most frequent reason.
#[test]
fn a_missed_floor_is_said_with_its_reason() {
    let table = table::render(&with_floors(), Paint::Plain);
    // Eight seconds without the first; two of the other seven were short.
    assert!(
        table.contains("    floor missed in 2 of 7 seconds: needs 40 requests at the server at all times\n"),
        "{table}"
    );
    assert_eq!(table.matches("floor missed").count(), 1, "the other floor was met");
    assert!(table.contains("  gold: vol2 and vol3 each at least 2,000 IOPS\n"), "{table}");
}

/// The noisy neighbour with floors on two volumes in its first phase; one is missed three times,
/// once of them in the first second.
fn with_floors() -> Recording {
    let mut recording = noisy_neighbour::recording();
    for object in [1, 2] {
        let limits = &mut recording.objects[object].limits[0];
        (limits.policy, limits.floor_iops) = ("gold".into(), Some(2000));
        recording.workloads[object].intervals[..8].iter_mut().for_each(|second| second.floor = FloorOutcome::Met);
    }
    for second in [0, 3, 5] {
        recording.workloads[1].intervals[second].floor = FloorOutcome::NeedsOutstanding(40);
    }
    recording
}

/// Long names, faults, late requests and some never sent, no figures of the server, a name with
/// control characters, a phase with a long name that was cut short in its first second, and a phase
/// that was not reached.
fn awkward() -> Recording {
    let mut tally = Tally {
        length: Span::SECOND,
        late: Some(3),
        late_max: Some(Span::from_millis(1200)),
        never_sent: Some(195_809),
        ..Tally::default()
    };
    tally.counts = Counts { reads: 1_234_567, read_bytes: 1_234_567 << 17, faults: 1, ..Counts::default() };
    tally.response.record(Span::from_secs(30));
    let phase = |name: &str, about: &str| Phase { name: name.into(), about: about.into(), ..Phase::default() };
    let verdict = |question: &str, outcome| Verdict {
        question: question.into(),
        outcome,
        because: "because_a_word_may_be_longer_than_the_line_is_wide_and_must_be_cut_somewhere_all_the_same".into(),
        measured: None,
    };
    let mut recording = Recording {
        phases: vec![
            phase("a phase with \x1b[2J a name", "and with a long explanation of what it shows, in more than one line"),
            phase(
                &"a very long name ".repeat(6),
                "whose explanation stands below it and is as wide as the table is, no wider",
            ),
            phase("never reached", ""),
        ],
        workloads: vec![WorkloadRecord {
            name: "a-workload-with-a-long-name".into(),
            object: "/dev/mapper/a-device".into(),
            tallies: vec![tally, Tally::default()],
            ..WorkloadRecord::default()
        }],
        verdicts: vec![verdict("Is it fast?", Outcome::Fail), verdict("Is it steady?", Outcome::CannotSay)],
        ..Recording::default()
    };
    recording.origin.title = "Awkward".into();
    recording.origin.cut_short = true;
    recording.origin.simulated = true;
    recording.scale = Some(Scale { factor: 2.0, published_iops: 100.0, measured_iops: None });
    recording
}
