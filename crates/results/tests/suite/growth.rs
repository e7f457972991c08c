//! The size of a file: 100 workloads for 24 hours, second by second, reads and writes, take at most
//! 600 MB.

use crate::busy;
use results::Results;

/// Four workloads over half an hour, scaled up: 4 × 30 minutes are a 1200th of 100 × 24 hours. The
/// size of an empty file is subtracted.
#[test]
fn a_day_of_a_hundred_workloads_fits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.sqlite");
    drop(Results::open(&path).unwrap());
    let empty = std::fs::metadata(&path).unwrap().len();
    let mut run = busy::begun(4, 1800);
    (0..4).for_each(|actor| busy::add(&mut run, actor, 1800));
    Results::open(&path).unwrap().save(&run).unwrap();
    let day = (std::fs::metadata(&path).unwrap().len() - empty) * 1200;
    assert!((100_000_000..600_000_000).contains(&day), "{} MB a day", day / 1_000_000);
}
