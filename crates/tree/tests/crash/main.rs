//! Simulated power failures: random changes of a volume's files on a disk that drops, tears and
//! reorders unflushed writes, against a model.
//!
//! ```text
//!   history (seeded) ──► FileTree ──► Disk ── crash ──► recover ──► names: those after one of the records, and no
//!          └──────────► model ◄──────────────────────────────┘      earlier one than was answered; every sector of
//!                                                                   every file is one that may be there
//! ```
//! `SEAWALL_CRASH_SEEDS` is the number of seeds to run, `SEAWALL_CRASH_FIRST` the first one. A
//! failing seed is printed with the command that repeats it.

mod disk;
mod history;
mod model;

use history::{History, Totals};

/// Seeds of the test command.
const SEEDS: u64 = 150;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn whatever_is_lost_what_was_answered_is_there() {
    let first = number("SEAWALL_CRASH_FIRST").unwrap_or(0);
    let count = number("SEAWALL_CRASH_SEEDS").unwrap_or(SEEDS);
    let mut totals = Totals::default();
    for seed in first..first + count {
        match std::panic::catch_unwind(|| History::new(seed).run()) {
            Ok(part) => totals.add(part),
            Err(_) => panic!(
                "seed {seed} failed; repeat it with\n  \
                 SEAWALL_CRASH_FIRST={seed} SEAWALL_CRASH_SEEDS=1 cargo test -p tree --test crash"
            ),
        }
    }
    println!("{count} seeds from {first}: {totals:?}");
    if count >= SEEDS {
        totals.assert_that_all_was_tried();
    }
}
