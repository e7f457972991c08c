//! `seawall arrays`, and simulations of what it lists.

use crate::running::{run, seawall};
use crate::scratch::Scratch;

#[test]
fn the_catalogue_is_listed_shown_and_drawn() {
    let scratch = Scratch::new();
    let list = run(seawall(scratch.path()).args(["arrays", "list"]));
    assert!(list.code == Some(0) && list.out.contains("usp-v-fc-raid5  "), "{list:?}");
    assert!(list.out.lines().all(|line| line.chars().count() <= 80), "{}", list.out);
    let shown = run(seawall(scratch.path()).args(["arrays", "show", "usp-v-fc-raid5"]));
    assert!(shown.out.contains("400 MB/s  assumed: one path of 4 Gb/s FC"), "{}", shown.out);
    assert!(shown.out.lines().all(|line| line.chars().count() <= 80), "{}", shown.out);
    let drawn = run(seawall(scratch.path()).args(["arrays", "diagram", "aff-a700", "-o", "a.svg"]));
    let svg = std::fs::read_to_string(scratch.join("a.svg")).expect("a drawing");
    assert!(drawn.code == Some(0) && svg.contains("flash  × 18"), "{svg}");
    // One's own begins from what is shown, and is the same array.
    let text = run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvme", "--toml"])).out;
    std::fs::write(scratch.join("mine.toml"), text).expect("written");
    let mine = run(seawall(scratch.path()).args(["arrays", "show", "mine.toml"]));
    assert_eq!(mine.out, run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvme"])).out);
    let unknown = run(seawall(scratch.path()).args(["arrays", "show", "laptop-nvm"]));
    assert!(unknown.code == Some(2) && unknown.err.contains("did you mean laptop-nvme?"), "{unknown:?}");
    assert_eq!(unknown.err.lines().count(), 1, "{}", unknown.err);
}

/// Random reads of 8 KiB on RAID 5 of eight disks and on RAID 10 of the same do alike. Small writes, once the log is full, cost
/// four operations in one and two in the other, and what was read to be written again waits for the platter to come round.
#[test]
fn classic_tools_run_over_arrays() {
    let scratch = Scratch::new();
    let iops = |array: &str, rw: &str| -> f64 {
        let line = format!(
            "simulate fio --device {array} --name=a --size=2t --rw={rw} --bs=8k --ioengine=libaio --iodepth=64 --direct=1 --norandommap=1 --runtime=300 --time_based --output-format=json"
        );
        let ended = run(seawall(scratch.path()).args(line.split(' ')));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: serde_json::Value = serde_json::from_str(&ended.out).expect("fio's JSON");
        let side = if rw == "randread" { "read" } else { "write" };
        json["jobs"][0][side]["iops"].as_f64().expect("a rate")
    };
    let (five, ten) = ("usp-v-fc-raid5", "usp-v-fc-raid10");
    let reads = iops(five, "randread") / iops(ten, "randread");
    assert!((0.85..=1.15).contains(&reads), "{reads}");
    let writes = iops(ten, "randwrite") / iops(five, "randwrite");
    assert!((1.8..=3.2).contains(&writes), "{writes}");
}

/// A plan over an array instead of its own device, twice the same, and a wrong name in one line.
#[test]
fn a_plan_runs_over_an_array() {
    let scratch = Scratch::new();
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans/floor.toml");
    let tables = ["one", "two"].map(|out| {
        let ended = run(seawall(scratch.path()).args([
            "simulate",
            plan,
            "--array",
            "laptop-nvme",
            "--phase-seconds",
            "2",
            "--out",
            out,
        ]));
        assert!(ended.out.contains("array: link, controller, write-log, flash"), "{ended:?}");
        crate::server::read_text(&crate::results::file(&scratch.join(out), ".csv"))
    });
    assert_eq!(tables[0], tables[1]);
    let wrong = run(seawall(scratch.path()).args(["simulate", plan, "--array", "nothing"]));
    assert!(wrong.code == Some(2) && wrong.err.contains("--array: must be one of"), "{wrong:?}");
}
