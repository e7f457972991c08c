//! Every page, as those read it who cannot see it, who read it on a telephone, and who read it in
//! the dark: axe-core finds nothing wrong with it, and no chart is cut or shrunk.

#[path = "../../../report/examples/sample/gallery.rs"]
mod gallery;
#[path = "../../../report/examples/sample/noisy_neighbour.rs"]
mod noisy_neighbour;

use crate::requires::{client, find, requires, skip};
use crate::running::succeed;
use crate::scratch::Scratch;
use block::Span;
use ramp::{Cycle, RampInvocation, RampRow, RunOutcome, experiment_page};
use report::{Page, run_page};
use serde_json::Value;
use stats::{Histogram, Tape, TapeSlice};
use std::path::{Path, PathBuf};

/// Where `cargo xtask test` puts axe-core and what drives the browser.
fn modules() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/node");
    let there = ["axe-core/axe.min.js", "playwright-core/package.json"];
    there.iter().all(|file| folder.join("node_modules").join(file).is_file()).then_some(folder)
}

/// What the browser says of pages, a line for each view: two widths, in light and dark. `None`
/// where it cannot be asked.
fn looked_at(scratch: &Scratch, pages: &[(&str, String)]) -> Option<Vec<Value>> {
    let Some(modules) = modules() else {
        skip("axe-core and playwright-core are not in target/node; cargo xtask test puts them there");
        return None;
    };
    let script = scratch.join("axe.mjs");
    std::fs::write(&script, include_str!("axe.mjs")).unwrap();
    let mut command = client("node");
    command.arg(&script).arg(modules).arg(find("chromium").expect("asked for"));
    for (name, page) in pages {
        let path = scratch.join(&format!("{name}.html"));
        std::fs::write(&path, page).unwrap();
        command.arg(path);
    }
    let lines = succeed(&mut command);
    Some(lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect())
}

/// Looks at the pages and finds nothing wrong.
fn all_is_well(pages: &[(&str, Page)]) {
    let scratch = Scratch::new();
    let written: Vec<(&str, String)> = pages.iter().map(|(name, page)| (*name, page.render())).collect();
    let Some(views) = looked_at(&scratch, &written) else { return };
    assert_eq!(views.len(), pages.len() * 4);
    for view in views {
        assert!(view["found"].as_array().is_some_and(Vec::is_empty), "{view:#}");
        assert!(view["charts"]["bad"].as_array().is_some_and(Vec::is_empty), "{view:#}");
        assert!(view["charts"]["shown"].as_u64() >= Some(1) && view["overflow"].as_i64() <= Some(0), "{view:#}");
    }
}

#[test]
fn the_page_of_a_run_reads_everywhere() {
    requires!("chromium", "node");
    all_is_well(&[("run", run_page(&[&noisy_neighbour::recording()]))]);
}

#[test]
fn the_page_of_several_runs_reads_everywhere() {
    requires!("chromium", "node");
    let recording = noisy_neighbour::recording();
    all_is_well(&[("runs", run_page(&[&recording, &recording]))]);
}

#[test]
fn every_kind_of_section_reads_everywhere() {
    requires!("chromium", "node");
    all_is_well(&[("sections", gallery::page())]);
}

#[test]
fn the_pages_of_ramps_read_everywhere() {
    requires!("chromium", "node");
    all_is_well(&[("ramp", ramp_page()), ("experiment", experiment()), ("advice", advice())]);
}

/// The browser and axe-core do see what is wrong: grey on grey, a picture without words, a chart
/// wider than the page.
#[test]
fn a_page_that_cannot_be_read_is_found_out() {
    requires!("chromium", "node");
    let page = "<!DOCTYPE html><html><title>x</title><p style='color:#888;background:#777'>words</p>\
                <svg class=chart id=cut viewBox='0 0 2000 9' width=2000 height=9></svg><img src='data:,'></html>";
    let scratch = Scratch::new();
    let Some(views) = looked_at(&scratch, &[("bad", page.into())]) else { return };
    for view in views {
        let found = view["found"].to_string();
        assert!(["color-contrast", "image-alt", "html-has-lang"].iter().all(|rule| found.contains(rule)), "{found}");
        assert!(view["charts"]["bad"][0] == "cut" && view["overflow"].as_i64() > Some(0), "{view:#}");
    }
}

/// A ramp of ten runs of 22 cycles.
fn ramp_page() -> Page {
    let words = [
        "--miniops",
        "75000",
        "--maxiops",
        "150000",
        "--numruns",
        "10",
        "--runtime",
        "30",
        "--comment",
        "a ramp",
        "--wijfile",
        "wij",
    ];
    let words = words.map(String::from);
    let settings = RampInvocation::parse(&words, "epic-rhel1").expect("a ramp").settings.expect("which is run");
    let mut response = Histogram::new();
    (1..2000).for_each(|n| response.record(Span::from_micros(n * n)));
    let run = |number: u64| {
        let cycle = |at: u64| Cycle {
            wij: Span::from_secs(8 + at % 3),
            cycle: Span::from_secs(20 + 3 * number + at % 4),
            ..Cycle::default()
        };
        let cycles: Vec<Cycle> = (0..22).map(cycle).collect();
        let row = RampRow {
            run: number,
            read_iops: 56_000.0 + 5600.0 * number as f64,
            write_iops: 18_000.0 + 1800.0 * number as f64,
            target: 75_000 + 7500 * number,
            longest_cycle: Span::from_secs(23 + 3 * number),
            longest_wij: Span::from_secs(10),
            cycle_p90: Span::from_secs(22 + 3 * number),
            effective_write_ms: Some(0.1),
            cycles: 22,
            verdict: if number < 8 { "pass" } else { "fail" }.into(),
            ..RampRow::default()
        };
        let mut tape = Tape::default();
        let slice = |at, ops| TapeSlice { end: Span::from_secs(at + 1), ops, ..TapeSlice::default() };
        tape[Tape::READ].slices = (0..300).map(|at| slice(at, 56_000)).collect();
        tape[Tape::WRITE].slices = (0..300).map(|at| slice(at, 30_000 * (at / 20 % 4) / 3)).collect();
        tape[Tape::READ].response = response.clone();
        (row, RunOutcome { cycles, tape, ..RunOutcome::default() })
    };
    let (rows, runs): (Vec<RampRow>, Vec<RunOutcome>) = (0..10).map(run).unzip();
    ramp::page(&settings, &rows, &runs)
}

/// Two protected databases beside a neighbour, with floors and without.
fn experiment() -> Page {
    let host = |name: &str, protected: bool, slope: u64| {
        let row = |run: u64| RampRow {
            run,
            target: if protected { 75_000 } else { 75_000 + 7500 * run },
            read_iops: 56_000.0,
            longest_cycle: Span::from_secs(30 + slope * run),
            cycles: 22,
            effective_write_ms: Some(0.1),
            ..RampRow::default()
        };
        let rows: Vec<RampRow> = (0..10).map(row).collect();
        let cycles = rows.iter().map(|row| vec![Some(row.longest_cycle)]).collect();
        ramp::HostRows { name: name.into(), protected, rows, cycles }
    };
    let arm = |name: &str, slopes: [u64; 3]| ramp::Arm {
        name: name.into(),
        hosts: vec![host("rhel1", true, slopes[0]), host("rhel2", true, slopes[1]), host("rhel3", false, slopes[2])],
        busy: vec![Vec::new(); 10],
    };
    let load = |target, protected| ramp::HostLoad { target, protected };
    let loads = [load(75_000, true), load(75_000, true), load(150_000, false)];
    let constants = ramp::Constants::default();
    let window = ramp::Window::of(&loads, &constants, Span::from_secs(36));
    experiment_page(&ramp::Experiment {
        title: "Protected production".into(),
        about: "two databases beside a third".into(),
        constants,
        windows: vec![window; 10],
        factor: 1.0,
        cut_short: false,
        arms: [arm("with floors", [0, 1, 4]), arm("without floors", [2, 3, 2])],
        notes: vec!["not comparable with published figures: runs of 24 s instead of 30 minutes".into()],
    })
}

fn advice() -> Page {
    let (used, cycle_limit) = (block::Bytes(5 * ramp::TB), Span::from_secs(45));
    let need = ramp::PolicyNeed { iops: 75_000, used, cycle_limit, volumes: 16 };
    let advice = ramp::Advice::on(need).expect("a need");
    let commands = advice.safe.commands("AqosEpicProd", "epic", Some("epic_rhel1_*"));
    ramp::advice_page(&advice, "From a recording of an hour.", &["its end is missing".into()], &commands)
}
