//! The markup of every kind of section, and several runs side by side.

use crate::gallery;
use crate::noisy_neighbour;
use insta::assert_snapshot;
use report::section::*;
use report::{Page, run_page};
use stats::Recording;

/// A page with one small section, without its head and style.
fn written(section: impl Into<Section>) -> String {
    let mut page = Page::new("x", "0");
    page.add(section);
    let html = page.render();
    let (_, main) = html.split_once("<main>").expect("a page has a main part");
    main.split_once("</main>").expect("which ends").0.to_owned()
}

/// Two slices of a second: 100 requests of 2 ms; then as many, and one of 100 ms.
#[test]
fn a_heat_map_is_this_drawing() {
    let slice = |second: u64, slow: u64| {
        let mut histogram = stats::Histogram::new();
        histogram.record_many(block::Span::from_millis(2), 100);
        histogram.record_many(block::Span::from_millis(100), slow);
        HeatSlice::of(block::Span::from_secs(second), block::Span::SECOND, &histogram)
    };
    let maps = vec![Heat { name: "db".into(), slices: vec![slice(0, 0), slice(1, 1)] }];
    assert_snapshot!(written(HeatMap { heading: "Heat".into(), lead: "lead".into(), maps }));
}

/// In a table of figures, columns of text are left-aligned, including their headings; unknown
/// values count as figures.
#[test]
fn words_begin_at_the_left_and_figures_end_at_the_right() {
    let row = |name: &str, cells: [&str; 3]| TableRow {
        name: name.into(),
        cells: cells.map(TableCell::from).into(),
        ..TableRow::default()
    };
    let rows = vec![row("1", ["Clariion FC", "5", "N/A"]), row("2", ["N/A", "pass-thru", "7"])];
    let columns = ["Test", "Storage", "Level", "IOPS"].map(String::from).into();
    let table = Table { columns, groups: vec![Group { rows, ..Group::default() }], ..Table::default() };
    let text = written(Tables { heading: "x".into(), tables: vec![table], ..Tables::default() }).replace('\n', "");
    let row = "<td class=\"l\">Clariion FC</td><td class=\"l\">5</td><td>N/A</td>";
    assert!(text.contains(row) && text.contains("<th scope=\"col\">IOPS</th>"), "{text}");
}

/// Targets are reached or missed; criteria hold or do not.
#[test]
fn targets_are_reached_or_missed() {
    let answers = [stats::Outcome::Pass, stats::Outcome::Fail].map(|outcome| Answer {
        outcome,
        question: "q".into(),
        because: "b".into(),
    });
    let verdict = |targets| written(RunVerdict { answers: answers.to_vec(), targets, ..RunVerdict::default() });
    assert!(verdict(true).contains("✓ reached") && verdict(true).contains("✗ missed"));
    assert!(verdict(false).contains("✓ held") && verdict(false).contains("✗ did not hold"));
}

#[test]
fn a_matrix_is_this_table() {
    let grid = Grid {
        caption: "IOPS".into(),
        across: "depth".into(),
        columns: vec!["1".into(), "8".into()],
        down: "size".into(),
        rows: vec!["4 KiB".into(), "64 KiB".into()],
        figures: vec![vec![Some(100.0), Some(900.0)], vec![Some(80.0), None]],
    };
    assert_snapshot!(written(Matrix { heading: "Matrix".into(), lead: String::new(), grids: vec![grid] }));
}

/// A remark about a row is in a row of its own, as wide as the table.
#[test]
fn a_remark_has_a_row_of_its_own() {
    let row = TableRow { name: "small".into(), remarks: vec!["no: full".into()], cells: vec!["1".into()] };
    let table = Table {
        columns: vec!["array".into(), "used".into()],
        groups: vec![Group { rows: vec![row], ..Group::default() }],
        ..Table::default()
    };
    let html = written(Tables { heading: "The arrays".into(), tables: vec![table], ..Tables::default() });
    assert!(html.contains("small</th>") && html.contains("colspan=\"2\""), "{html}");
}

/// Short names of one word stay whole on a narrow screen; a long one may be broken at its hyphens.
#[test]
fn a_short_name_is_not_broken_at_its_hyphens() {
    let named = |name: &str| {
        let row = TableRow { name: name.into(), ..TableRow::default() };
        let group = Group { rows: vec![row], ..Group::default() };
        let table = Table { columns: vec!["array".into()], groups: vec![group], ..Table::default() };
        written(Tables { heading: "x".into(), tables: vec![table], ..Tables::default() })
    };
    assert!(named("usp-v-fc-raid10-512").contains("<th scope=\"row\" class=\"l whole\">usp-v-fc-raid10-512</th>"));
    for other in ["production", "a name-with blanks", "a-name-of-more-than-twenty"] {
        assert!(named(other).contains(&format!("<th scope=\"row\" class=\"l\">{other}</th>")), "{other}");
    }
}

#[test]
fn a_knee_is_this_drawing() {
    let run = KneeRun {
        name: String::new(),
        columns: vec![Some(1000.0), Some(1800.0), None],
        line: vec![Some(1.0), Some(1.1), Some(8.0)],
    };
    assert_snapshot!(written(Knee {
        heading: "Knee".into(),
        lead: String::new(),
        across: "depth".into(),
        loads: vec!["1".into(), "2".into(), "16".into()],
        columns: "IOPS".into(),
        line: "ms".into(),
        runs: vec![run],
        knee: Some(1),
    }));
}

#[test]
fn write_cycles_are_this_drawing() {
    let run = |name: &str, whole| CycleRun {
        name: name.into(),
        number: 0,
        cycles: vec![CycleParts { journal: 10.0, whole }, CycleParts { journal: 12.0, whole: whole + 2.0 }],
    };
    assert_snapshot!(written(Cycles {
        heading: "Cycles".into(),
        lead: String::new(),
        limit: Some(45.0),
        charts: vec![CycleChart { name: "db".into(), runs: vec![run("run 0", 30.0), run("run 1", 44.0)] }],
    }));
}

/// Every section of the gallery has its heading, its drawings at both widths, and no NaN.
#[test]
fn every_kind_of_section_is_drawn() {
    let html = gallery::page().render();
    for heading in ["1 of 3 did not hold", "Response times over time", "Throughput over size and depth", "Write cycles"]
    {
        assert!(html.contains(heading), "{heading}");
    }
    assert_eq!(html.matches("<svg").count(), 2 * (2 + 1 + 2 + 3), "heat, knee, cycles and host figures");
    assert_eq!(html.matches("class=\"chart wide\"").count(), html.matches("class=\"chart narrow\"").count());
    assert!(!html.contains("NaN") && !html.contains("inf") && !html.contains("<script"));
}

/// Ids are unique, and references to them are valid.
#[test]
fn ids_are_unlike_each_other() {
    let recording = noisy_neighbour::recording();
    for html in [gallery::page().render(), run_page(&[&recording, &recording]).render()] {
        let values = |key: &str| -> Vec<String> {
            html.split(&format!(" {key}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
        };
        let mut ids = values("id");
        ids.sort();
        let all = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), all);
        for reference in values("aria-labelledby").iter().chain(&values("aria-describedby")) {
            assert!(ids.contains(reference), "{reference}");
        }
    }
}

/// Two runs have everything that one has, with their names, on the same axes.
#[test]
fn several_runs_stand_beside_each_other() {
    let one = noisy_neighbour::recording();
    let mut other = one.clone();
    other.origin.title = "With half the depth".into();
    for interval in other.workloads.iter_mut().flat_map(|workload| &mut workload.intervals) {
        interval.counts.reads /= 2;
        interval.counts.writes /= 2;
    }
    let html = run_page(&[&one, &other]).render();
    assert!(html.contains("<h1>A noisy neighbour, measured and walled off beside With half the depth</h1>"));
    assert!(html.contains("With half the depth: 1 of 4 cannot be said, 3 held"));
    assert!(html.contains(">With half the depth</caption>"));
    let axis = |html: &str, from: usize| {
        let at = from + html[from..].find("IOPS of 3 workloads over time").expect("the picture");
        let ticks: Vec<String> = html[at..]
            .split("class=\"tick y\"")
            .skip(1)
            .take(6)
            .map(|rest| rest.split('<').next().unwrap().into())
            .collect();
        (ticks, at + 1)
    };
    let (first, next) = axis(&html, 0);
    // The narrow drawing of the first run comes before.
    let (_, next) = axis(&html, next);
    assert_eq!(axis(&html, next).0, first, "one scale for both");
}

/// Every chart over time has the name of each phase: above the frame, or below it with its number.
#[test]
fn every_phase_has_its_name_on_every_chart() {
    let recording = noisy_neighbour::recording();
    let html = run_page(&[&recording]).render();
    let charts: Vec<&str> = html.split("<svg").skip(1).filter(|svg| svg.contains("class=\"band")).collect();
    // IOPS, throughput and three workloads, each wide and narrow.
    assert_eq!(charts.len(), 10);
    for (number, phase) in recording.phases.iter().enumerate() {
        let name = format!(">{}: {}</text>", number + 1, phase.name);
        assert!(charts.iter().all(|svg| svg.split("</svg>").next().unwrap().contains(&name)), "{name}");
    }
}

/// A day of ten workloads has enough points to see, and few enough to send.
#[test]
fn a_long_run_has_a_page_of_limited_size() {
    let mut recording = Recording::default();
    let second = |second: u64| stats::Interval {
        start: block::Span::from_secs(second),
        length: block::Span::SECOND,
        counts: stats::Counts { reads: 900 + second % 97, read_bytes: 4096 * 900, ..stats::Counts::default() },
        ..stats::Interval::default()
    };
    for number in 0..10 {
        recording.workloads.push(stats::WorkloadRecord {
            name: format!("w{number}"),
            intervals: (0..86_400).map(second).collect(),
            ..stats::WorkloadRecord::default()
        });
    }
    let html = run_page(&[&recording]).render();
    assert!(html.contains("means of 87 seconds"), "{}", html.len());
    assert!(html.len() < 6_000_000, "{}", html.len());
}
