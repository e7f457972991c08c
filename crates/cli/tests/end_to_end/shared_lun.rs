//! Two workloads on one LUN.

use crate::plan;
use crate::results::{file, recording};
use crate::running::{RESULTS, run, seawall};
use crate::scratch::Scratch;
use crate::server::read_text;
use stats::HeldBy;

/// Under a ceiling, the one that gets its rate is held by its own pace, and what the server
/// measured of both is nobody's own.
#[test]
fn figures_of_a_shared_lun_are_nobodys_own() {
    let scratch = Scratch::new();
    let other = "[[workload]]\nname = \"little\"\nlun = \"/vol/vol1/lun1\"\nrate = 10\n\n[[phase]]";
    let text = plan::PLAN.replacen("[[phase]]", other, 1);
    let mut command = seawall(scratch.path());
    command.arg("simulate").arg(plan::write(&scratch, &text)).args(["--out", "out"]).env(RESULTS, "out.sqlite");
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let row = |name: &str| ended.out.lines().rfind(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    for name in ["server1", "little"] {
        assert!(row(name).ends_with("       –       –"), "{}", ended.out);
    }
    let recording = recording(&scratch.join("out"));
    let last = |workload: usize| recording.workloads[workload].intervals.last().unwrap();
    assert_eq!([last(0).held_by, last(1).held_by], [HeldBy::CeilingIops, HeldBy::Pace]);
    let csv = read_text(&file(&scratch.join("out"), ".csv"));
    let (head, line) = (csv.lines().next().unwrap(), csv.lines().last().unwrap());
    let column = |name: &str| head.split(',').position(|column| column == name).unwrap();
    for name in ["service_mean_ms", "service_p99_ms", "wait_ceiling_ms", "wait_turn_ms", "device_ms"] {
        assert_eq!(line.split(',').nth(column(name)), Some(""), "{name}: {line}");
    }
}
