//! `seawall demo`, small and short: what it leaves and what it says.

use crate::running::{run, seawall};
use crate::scratch::Scratch;

/// The seven phases of the bundled plan.
const PHASES: [&str; 7] = ["even", "bully", "ceiling", "lower", "raised", "own limits", "shared limit"];

/// A demo of 16 MiB a volume and two seconds a phase plays every phase, leaves a database, a CSV, a page and a picture,
/// and removes its pool. Whether every criterion holds in so short a time depends on the machine; both answers are one.
#[test]
fn a_short_demo_plays_every_phase_and_leaves_its_results() {
    let scratch = Scratch::new();
    let ended =
        run(seawall(scratch.path()).args(["demo", "--size", "16MiB", "--phase-seconds", "2", "--out", "results"]));
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
    for phase in PHASES {
        assert!(ended.out.lines().any(|line| line.starts_with(&format!("{phase}  "))), "{phase}\n{}", ended.out);
    }
    let listing = scratch.listing();
    for ending in [".html", ".svg", ".csv", "seawall-results.sqlite"] {
        assert!(listing.iter().any(|path| path.ends_with(ending)), "{ending}: {listing:?}");
    }
    // `results` and the four files in it: the pool is gone.
    assert_eq!(listing.len(), 5, "{listing:?}");
}
