//! Live views, compared with texts beside this file.

use crate::live_view;
use crate::noisy_neighbour;
use block::Span;
use insta::assert_snapshot;
use report::Paint;
use report::live::{LiveState, LiveWorkload, frame, lines, painted_frame};
use stats::{FloorOutcome, Interval};

#[test]
fn a_frame_of_80_columns() {
    assert_snapshot!(frame(80, &after(28)).join("\n"));
}

#[test]
fn a_frame_of_120_columns() {
    assert_snapshot!(frame(120, &after(50)).join("\n"));
}

#[test]
fn a_frame_of_50_columns() {
    assert_snapshot!(frame(50, &after(28)).join("\n"));
}

#[test]
fn plain_lines() {
    assert_snapshot!(lines(&after(12)).join("\n"));
}

#[test]
fn before_the_first_second() {
    let state = after(0);
    assert_snapshot!(format!("{}\n\n{}", frame(80, &state).join("\n"), lines(&state).join("\n")));
}

#[test]
fn no_frame_is_wider_than_asked() {
    let mut state = after(28);
    state.workloads[0].name = "a workload with a name that is much too long".into();
    state.workloads[1].recent.back_mut().unwrap().counts.faults = 12;
    state.workloads[2].recent.back_mut().unwrap().floor = FloorOutcome::NeedsOutstanding(1234);
    state.workloads[2].held = "ceiling a-volume-with-a-long-name".into();
    state.advice = vec!["the floors ask for 90000 IOPS together, and the most that was seen is 95000".repeat(2)];
    for width in 0..140 {
        for line in frame(width, &state) {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
    }
    assert!(frame(80, &state).iter().any(|line| line.contains("12 operations failed")));
    for lines in [frame(80, &state), lines(&state)] {
        assert!(
            lines.iter().any(|line| line.ends_with("floor missed: needs 1234 requests at the server at all times")),
            "{lines:?}"
        );
    }
    assert!(frame(80, &state).concat().contains("the floors ask for 90000 IOPS"));
}

/// Lines for logs have no width: names and causes are whole, and columns stay aligned.
#[test]
fn plain_lines_are_not_cut() {
    let mut state = after(28);
    state.workloads[0].name = "a workload with a name that is much too long for a line of 80".into();
    state.workloads[2].held = "ceiling of the policy group a-group-with-a-name-of-its-own (IOPS)".into();
    let lines = lines(&state);
    assert!(lines[0].contains(&format!("{} vol1", state.workloads[0].name)), "{lines:?}");
    assert!(lines[2].ends_with(&format!("  {}", state.workloads[2].held)), "{lines:?}");
    let columns: Vec<_> = lines.iter().map(|line| line.find(" IOPS ")).collect();
    assert!(columns[0].is_some() && columns.iter().all(|at| *at == columns[0]), "{lines:?}");
}

#[test]
fn plain_forms_have_no_escape_sequences_whatever_the_names() {
    let mut state = after(28);
    for text in [&mut state.title, &mut state.name, &mut state.about, &mut state.in_force[0]] {
        text.push_str("\u{1b}[2J\n");
    }
    state.workloads[0].name = "\u{1b}[31mred\n".into();
    let plain = frame(80, &state).concat() + &lines(&state).concat();
    assert!(!plain.contains(char::is_control), "{plain:?}");
    assert_eq!(lines(&state).len(), 3);
    assert!(painted_frame(80, &state, Paint::Ansi).concat().contains("\u{1b}[1m"));
}

#[test]
fn the_bar_is_full_at_the_end_and_not_before() {
    let mut state = after(55);
    let bar = |state: &LiveState| frame(80, state).into_iter().find(|line| line.ends_with('%')).unwrap();
    assert!(bar(&state).ends_with("  98 %"), "55 of 56 s are 98.2 %");
    (state.elapsed, state.total) = (Span::from_secs(56), Span::from_secs(56));
    assert_eq!(bar(&state), "━".repeat(74) + " 100 %");
}

/// Filling has a title, a line and a bar of bytes. A load without latencies has no columns for
/// them, and one without an end has no bar.
#[test]
fn what_is_not_known_has_no_place() {
    let filling = LiveState {
        title: "filling /mnt/data".into(),
        about: "12.00 GiB of 48.00 GiB, 812 MB/s, 0:45 left".into(),
        elapsed: Span::from_secs(15),
        done: Some(0.25),
        ..LiveState::default()
    };
    let mut reads = LiveWorkload::new("read", "");
    let counts = stats::Counts { reads: 105_000, read_bytes: 430_080_000, ..Default::default() };
    reads.push(Interval { length: Span::SECOND, counts, ..Interval::default() });
    let load = LiveState {
        title: "2 jobs".into(),
        in_force: vec!["2 of 2 running, 64 in flight".into()],
        elapsed: Span::from_secs(3661),
        workloads: vec![reads],
        ..LiveState::default()
    };
    let mut fast = load.clone();
    fast.workloads[0].recent[0].counts.reads = 12_345_678;
    let line = frame(80, &fast).pop().unwrap();
    assert!(line.starts_with("read        12,345,678  430.1") && line.chars().count() == 80, "{line}");
    assert_snapshot!(format!("{}\n\n{}", frame(80, &filling).join("\n"), frame(80, &load).join("\n")));
}

#[test]
fn only_the_last_seconds_are_kept() {
    let mut workload = LiveWorkload::new("server1", "vol1");
    for second in 0..100 {
        workload.push(Interval { start: Span::from_secs(second), ..Interval::default() });
    }
    assert_eq!(workload.recent.len(), report::live::RECENT);
    assert_eq!(workload.recent.back().unwrap().start, Span::from_secs(99));
}

/// The noisy neighbour after this many seconds.
fn after(seconds: usize) -> LiveState {
    live_view::after(&noisy_neighbour::recording(), seconds)
}
