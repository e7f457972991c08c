//! `cargo run --release -p simtest --example corrections -- FIRST SEEDS [NAME…]` plays scenes of
//! `tests/gate/trials.rs`, each with the whole controller of the floors, and with each part of it
//! turned off where that makes half a percent of difference. Several seeds count by their mean.
//! Names are those of scenes and of parts (`Account`); without any, all are played.

#[path = "../tests/gate/trials.rs"]
mod trials;

use qos::{Correction, Corrections};
use trials::TRIALS;

fn main() {
    let mut words = std::env::args().skip(1);
    let mut number = || words.next().expect("FIRST SEEDS [NAME…]").parse::<u64>().expect("a number");
    let (first, seeds) = (number(), number());
    let (parts, scenes): (Vec<String>, Vec<String>) =
        words.partition(|name| Correction::EACH.iter().any(|part| format!("{part:?}") == *name));
    let mean = |play: fn(u64, Corrections) -> f64, corrections| {
        (first..first + seeds).map(|seed| play(seed, corrections)).sum::<f64>() / seeds as f64
    };
    for trial in TRIALS.iter().filter(|trial| scenes.is_empty() || scenes.iter().any(|name| name == trial.name)) {
        let all = mean(trial.play, Corrections::ALL);
        println!("{}: {} {all:.1}", trial.name, trial.figure);
        let wanted = |part: &&Correction| parts.is_empty() || parts.contains(&format!("{part:?}"));
        for &correction in Correction::EACH.iter().filter(wanted) {
            let without = mean(trial.play, Corrections::ALL.without(correction));
            if (without / all - 1.0).abs() > 0.005 {
                println!("    without {correction:?} {without:.1}");
            }
        }
    }
}
