//! Which seeds a test plays: its own, or those given in the environment.
//! `SIMTEST_SEEDS=1000..2000 cargo test -p simtest` looks for more.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Tries a property with every seed, each to its end, and fails with those for which it does not
/// hold.
pub fn for_seeds(ours: Range<u64>, property: impl Fn(u64)) {
    let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| property(*seed))).is_err();
    let failed: Vec<u64> = chosen(ours).filter(fails).collect();
    assert!(failed.is_empty(), "does not hold for seeds {failed:?}");
}

/// These seeds, or those of the environment.
pub fn chosen(ours: Range<u64>) -> Range<u64> {
    const HOW: &str = "SIMTEST_SEEDS is a range such as 1000..2000";
    std::env::var("SIMTEST_SEEDS").map_or(ours, |text| {
        let (from, until) = text.split_once("..").expect(HOW);
        from.parse().expect(HOW)..until.parse().expect(HOW)
    })
}
