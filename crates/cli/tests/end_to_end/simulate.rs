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

/// Every plan of the repository that names a device plays to its end in virtual time: an answer, not a failure.
#[test]
fn every_bundled_plan_plays() {
    let scratch = Scratch::new();
    let mut played = 0;
    for entry in std::fs::read_dir(Path::new(PLANS)).unwrap().flatten() {
        let ended = run(seawall(scratch.path()).args(["simulate", "--phase-seconds", "2"]).arg(entry.path()));
        assert!(matches!(ended.code, Some(0 | 1)), "{}: {ended:?}", entry.path().display());
        played += 1;
    }
    assert!(played > 0);
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
