//! Simulated power failures: random histories on a disk that drops, tears and reorders writes,
//! against a model.
//!
//! ```text
//!   history (seeded) ──► Core ──► Disk ── crash ──► recover ──► every sector of every tree is one that may be there
//!          └──────────► model ◄──────────────────────────────┘  all counts agree, the check is clean, and on it goes
//! ```
//! `SEAWALL_CRASH_SEEDS` is the number of seeds to run, `SEAWALL_CRASH_FIRST` the first one. A
//! failing seed is printed with the command that repeats it.

mod catalogue;
mod disk;
mod history;
mod model;
mod totals;

use history::History;

/// Seeds of the test command.
const SEEDS: u64 = 250;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn whatever_is_lost_what_was_acknowledged_is_there() {
    let first = number("SEAWALL_CRASH_FIRST").unwrap_or(0);
    let count = number("SEAWALL_CRASH_SEEDS").unwrap_or(SEEDS);
    let mut totals = totals::Totals::default();
    for seed in first..first + count {
        let run = std::panic::catch_unwind(|| History::new(seed).run());
        match run {
            Ok(part) => totals.add(&part),
            Err(_) => panic!(
                "seed {seed} failed; repeat it with\n  \
                 SEAWALL_CRASH_FIRST={seed} SEAWALL_CRASH_SEEDS=1 cargo test -p map --test crash"
            ),
        }
    }
    println!("{count} seeds from {first}: {totals:?}");
    if count >= SEEDS {
        totals.assert_that_all_was_tried();
    }
}
