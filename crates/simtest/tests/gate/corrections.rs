//! Each part of the floors' controller is there for a scene, which reaches its bound with all parts
//! and not without that one. `cargo run --release -p simtest --example corrections` prints the
//! figures, for any seeds.

use qos::{Correction, Corrections};

use crate::trials::TRIALS;

/// Scene, seed, bound, and the parts needed to reach it.
const NEEDED: &[(&str, u64, f64, &[Correction])] = &[
    ("edge", 1, 70_000.0, &[Correction::Edge]),
    ("deep", 1, 99.5, &[Correction::Ample, Correction::Unused]),
    ("known", 1, 88.0, &[Correction::Known]),
    ("back", 1, 99.0, &[Correction::Free, Correction::Spare]),
    ("beside", 1, 96.0, &[Correction::LetGo]),
    ("overcommitted", 1, 78.0, &[Correction::Rest]),
    ("shallow", 1, 4_000.0, &[Correction::Free]),
    ("shallow, all", 1, 79_000.0, &[Correction::Backoff]),
    ("shallow, slow", 1, 98.5, &[Correction::Account, Correction::Forgiven]),
    ("shallow, knee", 1, 225.0, &[Correction::Refine]),
    ("away", 5, 92.0, &[Correction::Account, Correction::Even]),
    ("leisure", 1, 97.0, &[Correction::Changed, Correction::Stalls, Correction::Little]),
    (
        "leisure, queue",
        1,
        250.0,
        &[Correction::Pairs, Correction::Shown, Correction::Less, Correction::Settle, Correction::Guess],
    ),
    ("more than its floor", 2, 26_500.0, &[Correction::Ease]),
    ("sizes", 1, 15_200.0, &[Correction::Requests]),
    ("sizes, bytes", 1, 350.0, &[Correction::Cost, Correction::Others]),
    ("large", 1, 104.0, &[Correction::Large]),
    ("slow", 1, 110.0, &[Correction::Chance]),
    ("less than its floor", 1, 90.0, &[Correction::Lower]),
    ("had again", 1, 1_667.0, &[Correction::First]),
    ("slices", 1, 5_700.0, &[Correction::Mean]),
    ("stops", 1, 95.0, &[Correction::Urgency]),
];

#[test]
fn every_correction_is_needed_by_a_scene() {
    let mut wrong = Vec::new();
    for &(name, seed, bound, needed) in NEEDED {
        let trial = TRIALS.iter().find(|trial| trial.name == name).expect("a scene of that name");
        let all = (trial.play)(seed, Corrections::ALL);
        println!("{name}: {} {all:.1}, at least {bound}", trial.figure);
        if all < bound {
            wrong.push(format!("{name}: {all:.1}, at least {bound}"));
        }
        for &correction in needed {
            let without = (trial.play)(seed, Corrections::ALL.without(correction));
            println!("    without {correction:?} {without:.1}");
            if without >= bound {
                wrong.push(format!("{name}: {without:.1} without {correction:?}, which is not needed for {bound}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_correction_has_a_scene() {
    let shown = |part: &Correction| NEEDED.iter().any(|(.., needed)| needed.contains(part));
    let missing: Vec<_> = Correction::EACH.iter().filter(|part| !shown(part)).collect();
    assert!(missing.is_empty(), "no scene shows {missing:?} to be needed");
}
