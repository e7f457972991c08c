//! `seawall demo`, small and short: what it leaves and what it says.

use crate::results::{file, phases, recording};
use crate::running::{RESULTS, run, seawall};
use crate::scratch::Scratch;
use crate::server::read_text;
use stats::Outcome;
use workload::Plan;

/// The plan that the program brings along.
fn bundled() -> Plan {
    Plan::read(include_str!("../../../../plans/noisy-neighbour.toml"), "noisy-neighbour.toml").expect("a plan")
}

/// A demo of 16 MiB a volume and two seconds a phase plays every phase and leaves the run in a
/// database, a row for each second and workload in a CSV, a page that loads nothing from elsewhere,
/// and a picture; its pool is gone. Whether every criterion holds in so short a time depends on the
/// machine, so all three answers are right.
#[test]
fn a_short_demo_leaves_its_results_and_nothing_else() {
    let scratch = Scratch::new();
    let arguments = ["demo", "--size", "16MiB", "--phase-seconds", "2", "--out", "results"];
    let ended = run(seawall(scratch.path()).args(arguments).env(RESULTS, "results/results.sqlite"));
    assert!(ended.has_verdict(), "{ended:?}");
    // One line says that nothing can be said, if that is so.
    assert_eq!(ended.err.lines().count(), usize::from(ended.code == Some(2)), "{}", ended.err);
    let results = scratch.join("results");
    // `results` and the four files in it.
    assert_eq!(scratch.listing().len(), 5, "{:?}", scratch.listing());

    let (plan, recording) = (bundled(), recording(&results));
    assert!(plan.phases.iter().map(|phase| phase.name.as_str()).eq(phases(&recording)), "{:?}", phases(&recording));
    assert!(!recording.origin.cut_short && !recording.origin.simulated);
    assert_eq!(recording.verdicts.len(), plan.criteria.len());
    let measured = recording.scale.expect("the demo scales its plan").measured_iops.expect("it measures first");
    assert!(measured > 0.0);
    for phase in &recording.phases {
        // A phase lasts two seconds; it may end a little late, but not early.
        assert!(phase.end.as_secs_f64() - phase.start.as_secs_f64() > 1.9, "{phase:?}");
    }
    table_has_every_phase_and_workload(&ended.out, &plan);

    let csv = read_text(&file(&results, ".csv"));
    let seconds: usize = recording.workloads.iter().map(|workload| workload.intervals.len()).sum();
    // Two seconds a phase, three workloads.
    assert!(seconds >= plan.phases.len() * 2 * 3, "{seconds}");
    assert_eq!(csv.lines().count(), 1 + seconds);
    page_is_whole(&read_text(&file(&results, ".html")));
    assert!(read_text(&file(&results, ".svg")).starts_with("<svg"));
}

fn table_has_every_phase_and_workload(out: &str, plan: &Plan) {
    // The table comes after the live lines.
    let table = out.rsplit_once("response time in ms").expect("a table").1;
    for phase in &plan.phases {
        let heading = format!("\n{}  ", phase.name);
        let (_, block) = table.split_once(&heading).unwrap_or_else(|| panic!("{heading}\n{table}"));
        let block = block.split("\n\n").next().unwrap_or(block);
        for load in &plan.workloads {
            assert!(block.contains(&format!("\n  {}  ", load.name)), "{} in {}\n{table}", load.name, phase.name);
        }
    }
}

/// Nothing in the page leads elsewhere: `http` stands only in the name of SVG's vocabulary, which
/// nobody fetches.
fn page_is_whole(page: &str) {
    for (at, _) in page.match_indices("http") {
        let before = &page[at.saturating_sub(7)..at];
        assert_eq!(before, "xmlns=\"", "{}", &page[at.saturating_sub(60)..(at + 60).min(page.len())]);
    }
    for loader in ["src=\"//", "href=\"//", "@import", "fetch(", "XMLHttpRequest", "<link "] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert!(page.contains("<svg") && page.trim_end().ends_with("</html>"), "the page has its pictures and its end");
}

/// Thirty clones that a phase makes are connected to and loaded, and volumes of 100 GB that grow to
/// 10 TB take no more space than their loads use. Whether every criterion holds in so short a time
/// on this machine is not asked; what every machine can do is: 150 IOPS at most where the limit
/// says so, and a clone without a limit.
#[test]
fn plans_of_clones_and_of_classes_run_on_real_storage() {
    for (name, phases) in [("dev-clones", 4), ("tiers", 8)] {
        let scratch = Scratch::new();
        let plan = format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let arguments = ["run", &plan, "--size", "16MiB", "--phase-seconds", "2", "--out", "results", "--quiet"];
        let ended = run(seawall(scratch.path()).args(arguments).env(RESULTS, "results/results.sqlite"));
        assert!(ended.has_verdict(), "{ended:?}");
        let recording = recording(&scratch.join("results"));
        assert_eq!(recording.phases.len(), phases, "{ended:?}");
        assert!(!recording.origin.cut_short && !recording.origin.simulated);
        let iops = |workload: usize, phase: usize| recording.workloads[workload].tallies[phase].iops();
        let ceiling = &recording.verdicts[0];
        assert!(ceiling.question.starts_with("no ceiling exceeded"), "{ceiling:?}");
        assert_eq!(ceiling.outcome, Outcome::Pass, "{ceiling:?}");
        if name == "tiers" {
            // 64 that went in the phase before may end in this one of 2 s.
            let most = 1.01 * 150.0 + 64.0 / 2.0;
            assert!(iops(0, 3) <= most && iops(0, 3) > 0.0, "{}", iops(0, 3));
            assert!(iops(0, 4) > 2.0 * most, "it grew: {}", iops(0, 4));
        } else {
            assert!(iops(1, 0) == 0.0 && iops(1, 1) > 0.0, "the clones come with the second phase");
        }
    }
}

/// With `--scale 1` nothing is measured and the published limits run as they are; `--keep` leaves
/// the pool, whose LUNs hold 16 MiB each, in the folder that `--dir` names.
#[test]
fn the_published_figures_run_as_they_are_and_the_pool_can_be_kept() {
    let scratch = Scratch::new();
    let arguments = ["demo", "--size", "16MiB", "--phase-seconds", "2", "--scale", "1", "--dir", "kept", "--keep"];
    let ended = run(seawall(scratch.path()).args(arguments).arg("--no-io-uring").env(RESULTS, "results.sqlite"));
    assert!(ended.has_verdict(), "{ended:?}");
    let recording = recording(scratch.path());
    let scale = recording.scale.expect("the plan has published figures");
    assert_eq!((scale.factor, scale.measured_iops), (1.0, None));
    assert!(recording.machine.backend.starts_with("threads"), "{}", recording.machine.backend);
    assert!(ended.out.contains("I/O: threads"), "{}", ended.out);
    let lower = recording.phases.iter().find(|phase| phase.name == "lower").expect("the phase");
    assert_eq!(lower.commands, lower.commands_published);
    assert!(ended.out.contains("policy1: vol1 at most 1,000 IOPS or 200 MB/s"), "{}", ended.out);
    let report = store::check_maps(&scratch.join("kept"), &store::Named::default()).expect("the pool");
    // Three LUNs of 16 MiB, filled, and a tree for the files of each of their volumes, empty.
    assert_eq!((report.damages, report.trees, report.used), (vec![], 6, 48 << 20));
    assert!(!scratch.join("kept/nbd.sock").exists() && !scratch.join("kept/control.sock").exists());
}
