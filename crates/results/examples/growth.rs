//! `cargo xtask bench results`: how large the file of a hundred workloads gets in a day, and how long views of it take.
//!
//! Takes the file to write; one that is there already is asked once more.

#[path = "../tests/support/busy.rs"]
mod busy;

use results::{Detail, Error, Results};
use std::path::{Path, PathBuf};

const WORKLOADS: u32 = 100;
const SECONDS: u64 = 24 * 3600;
/// As `seawall report` reads a run.
const SLICES_DRAWN: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the file to write")?;
    if !path.exists() {
        write(&path)?;
    }
    println!("{:>7} MB  a day of {WORKLOADS} workloads", std::fs::metadata(&path)?.len() / 1_000_000);
    let results = Results::open(&path)?;
    for query in [
        "SELECT * FROM runs",
        "SELECT * FROM results",
        "SELECT class, sum(ops), avg(mean_us) FROM minutes WHERE run = 1 GROUP BY class",
        "SELECT * FROM minutes WHERE run = 1 AND actor_name = 'w7'",
        "SELECT percentile_ns(merge(buckets), 99) FROM minutes WHERE run = 1 AND actor_name = 'w7' AND class = 'all'",
        "SELECT * FROM seconds WHERE run = 1 AND actor_name = 'w7' AND class = 'all' AND second BETWEEN 36000 AND 36600",
        "SELECT held_by, count(*) FROM gate_seconds WHERE run = 1 AND actor_name = 'w7' GROUP BY held_by",
    ] {
        let clock = started();
        let found = results.query(query, || false)?;
        println!("{:>7.1} ms  {} rows  {query}", clock.elapsed().as_secs_f64() * 1e3, found.rows.len());
    }
    let clock = started();
    let run = results.load_as(1, Detail::Drawn(SLICES_DRAWN))?;
    let slices = run.series.iter().map(|series| series.slices.len()).sum::<usize>();
    println!("{:>7.1} ms  read for a page, as {slices} slices", clock.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// One workload after the other: of what is written already nothing has to be in memory.
fn write(path: &Path) -> Result<(), Error> {
    let mut results = Results::open(path)?;
    let number = results.save(&busy::begun(WORKLOADS, SECONDS))?;
    let mut writing = 0.0;
    for actor in 0..WORKLOADS {
        let mut run = busy::begun(WORKLOADS, SECONDS);
        busy::add(&mut run, actor, SECONDS);
        let clock = started();
        results.replace(number, &run)?;
        writing += clock.elapsed().as_secs_f64();
    }
    println!("{writing:>7.1} s   to write it");
    Ok(())
}

/// Only for what is printed.
#[expect(clippy::disallowed_methods, reason = "a measurement is what this is")]
fn started() -> std::time::Instant {
    std::time::Instant::now()
}
