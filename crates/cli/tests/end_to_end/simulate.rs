//! `seawall simulate`: virtual time.

use crate::plan;
use crate::results::{file, recording};
use crate::running::{run, seawall};
use crate::scratch::Scratch;
use crate::server::read_text;
use stats::Outcome;
use std::path::Path;
use std::process::Stdio;

/// The repository's plans.
const PLANS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");

/// The noisy neighbour in virtual time, twice: the same figures byte for byte, and every criterion held.
#[test]
fn the_same_plan_gives_the_same_figures_and_holds_every_criterion() {
    let scratch = Scratch::new();
    let plan = format!("{PLANS}/noisy-neighbour.toml");
    let figures = ["one", "two"].map(|out| {
        let ended = run(seawall(scratch.path()).args(["simulate", &plan, "--out", out]));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.out.contains(" criteria held\n"), "{}", ended.out);
        read_text(&file(&scratch.join(out), ".csv"))
    });
    assert_eq!(figures[0], figures[1]);
    let recording = recording(&scratch.join("one"));
    assert!(recording.origin.simulated && !recording.origin.cut_short);
    assert!(recording.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Pass), "{:?}", recording.verdicts);
    // Eight seconds a phase, three workloads, and the header.
    assert_eq!(figures[0].lines().count(), recording.phases.len() * 8 * 3 + 1);
}

/// Another seed gives other figures, so the test above compares something.
#[test]
fn another_seed_gives_other_figures() {
    let scratch = Scratch::new();
    let figures = ["seed = 7", "seed = 8"].map(|seed| {
        let out = scratch.join(&seed.replace(' ', ""));
        let plan = plan::write(&scratch, &plan::PLAN.replace("seed = 7", seed));
        let ended = run(seawall(scratch.path()).arg("simulate").arg(plan).arg("--out").arg(&out));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        read_text(&file(&out, ".csv"))
    });
    assert_ne!(figures[0], figures[1]);
}

/// A criterion that cannot hold (the victims have all they had, while the bully is at it) gives exit code 1 and says
/// which.
#[test]
fn a_criterion_that_does_not_hold_gives_exit_code_one() {
    let scratch = Scratch::new();
    let plan = read_text(&Path::new(PLANS).join("noisy-neighbour.toml"));
    let wish = "[[criterion]]\nkind = \"restored\"\nworkloads = [\"server2\"]\nphase = \"bully\"\nbaseline = \"even\"\npart = 0.95\n";
    let text = plan.replacen("\n[[criterion]]", &format!("\n{wish}\n[[criterion]]"), 1);
    let plan = plan::write(&scratch, &text);
    let ended = run(seawall(scratch.path()).arg("simulate").arg(plan).args(["--phase-seconds", "3"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let recording = recording(scratch.path());
    let failed = recording.verdicts.iter().find(|verdict| verdict.outcome == Outcome::Fail).expect("one failed");
    assert!(failed.question.contains("bully") && ended.out.contains("did not hold"), "{failed:?}");
}

/// Each kind of device plays the same plan; what its figures must be for one host with 16 requests outstanding follows
/// from the kind's own: a disk does some hundred operations a second, flash and servers many thousand, a cloud volume what
/// its limit says. Halved capacity halves what 8 servers do.
#[test]
fn every_kind_of_device_can_be_simulated() {
    let scratch = Scratch::new();
    let servers = plan::PLAN.split_once("[device]").unwrap().1;
    let device = |lines: &str| plan::PLAN.replace(servers, &format!("\n{lines}\n"));
    let kinds = [
        // 8.3 ms a turn and a short seek at most, of 16 requests the nearest; and never faster than half a millisecond.
        ("kind = \"disk\"", 100.0, 2000.0),
        // 16 at a time of 75 µs (reads) to 375 µs (half a page programmed): 43 000 to 213 000, less what channels share.
        ("kind = \"flash\"", 20_000.0, 213_000.0),
        // The first 16 pass at once; then the limit holds.
        ("kind = \"cloud-volume\"\niops = 700", 650.0, 750.0),
        // 16 / (100 µs + 16 x 11.8 µs) = 55 400 with all 16 in every turn, less what comes during one and what it is away.
        ("kind = \"host\"", 35_000.0, 56_000.0),
        ("kind = \"parallel-servers\"\nservers = 8\nservice = \"500us\"", 15_900.0, 16_100.0),
        (
            "kind = \"parallel-servers\"\nservers = 8\nservice = \"500us\"\nchanges = [{ at = \"0s\", percent = 50 }]",
            7_900.0,
            8_100.0,
        ),
    ];
    for (index, (lines, least, most)) in kinds.into_iter().enumerate() {
        let out = scratch.join(&index.to_string());
        let plan = plan::write(&scratch, &device(lines));
        let ended = run(seawall(scratch.path()).arg("simulate").arg(plan).arg("--out").arg(&out));
        assert_eq!(ended.code, Some(0), "{lines}: {ended:?}");
        let iops = recording(&out).workloads[0].intervals[1].iops();
        assert!((least..=most).contains(&iops), "{lines}: {iops}");
    }
    let wrong = plan::write(&scratch, &device("kind = \"disk\"\nseek_shortest = \"20ms\""));
    let ended = run(seawall(scratch.path()).arg("simulate").arg(wrong));
    assert_eq!((ended.code, ended.err.lines().count()), (Some(2), 1), "{ended:?}");
    assert!(ended.err.contains("[device]: disk: seek_shortest must not be more than seek_longest"), "{}", ended.err);
}

/// A client that keeps one request outstanding in a device of 500 µs gets 2000 operations a second at most, so a floor of
/// 4000 is missed in every second. By Little's law it needs two requests outstanding at the device's best, and five at the
/// 1.25 ms that they may take beside the neighbour. Table, CSV and page say so.
#[test]
fn a_floor_that_its_owner_is_too_shallow_for_is_explained_everywhere() {
    let scratch = Scratch::new();
    let neighbour = "[[volume]]\nname = \"vol2\"\nsize = \"16MiB\"\n\n[[workload]]\nname = \"neighbour\"\n\
                     lun = \"/vol/vol2/lun1\"\ndepth = 64\n\n[[phase]]";
    let text = plan::PLAN
        .replacen("[[phase]]", neighbour, 1)
        .replace("connections = 2\ndepth = 8", "depth = 1")
        .replace("-max-throughput 500IOPS", "-min-throughput 4000IOPS");
    let ended = run(seawall(scratch.path()).arg("simulate").arg(plan::write(&scratch, &text)));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let needs = |number: &str| number.parse::<u32>().is_ok_and(|number| (2..=5).contains(&number));
    let told = ended.out.split_once("    floor missed in 3 of 3 seconds: needs ").expect(&ended.out).1;
    let (number, rest) = told.split_once(' ').unwrap();
    assert!(needs(number) && rest.starts_with("outstanding requests\n"), "{}", ended.out);
    assert_eq!(ended.out.matches("floor missed").count(), 1, "the neighbour has none: {}", ended.out);
    let figures = read_text(&file(scratch.path(), ".csv"));
    let rows = |host: &'static str| {
        figures.lines().filter(move |line| line.starts_with(['2', '3', '4', '5']) && line.contains(host))
    };
    let explained = |line: &str| line.rsplit_once(",needs_outstanding,").is_some_and(|(_, number)| needs(number));
    assert!(rows("server1").skip(1).all(explained), "{figures}");
    assert!(rows("neighbour").all(|line| line.ends_with(",not_set,")), "{figures}");
    assert!(read_text(&file(scratch.path(), ".html")).contains("class=\"floor\""));
}

/// Every plan of the repository with phases plays to its end in virtual time: an answer, not a failure. Plans of hosts,
/// which have runs, play in `hosts.rs`.
#[test]
fn every_bundled_plan_plays() {
    let scratch = Scratch::new();
    let mut played = 0;
    for entry in std::fs::read_dir(Path::new(PLANS)).unwrap().flatten() {
        if !read_text(&entry.path()).contains("[[phase]]") {
            continue;
        }
        let ended = run(seawall(scratch.path()).args(["simulate", "--phase-seconds", "2"]).arg(entry.path()));
        assert!(matches!(ended.code, Some(0 | 1)), "{}: {ended:?}", entry.path().display());
        played += 1;
    }
    assert!(played >= 3, "{played}");
}

/// A reader who leaves before the end, as in `seawall … | head`, is no failure: the results are there all the same.
#[test]
fn a_reader_who_leaves_is_no_failure() {
    let scratch = Scratch::new();
    let mut command = seawall(scratch.path());
    command.arg("simulate").arg(plan::write(&scratch, plan::PLAN)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
    assert!(!recording(scratch.path()).origin.cut_short);
}
