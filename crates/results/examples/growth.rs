//! `cargo xtask bench results`: how large the file of a hundred workloads gets in an hour, and how long views of it take.
//!
//! Takes the file to write, which is not there yet.

#[path = "../tests/support/busy.rs"]
mod busy;

use results::Results;
use std::path::PathBuf;

const WORKLOADS: u32 = 100;
const SECONDS: u64 = 3600;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the file to write")?;
    let run = busy::run(WORKLOADS, SECONDS);
    let clock = started();
    let number = Results::open(&path)?.save(&run)?;
    println!("{:>7.1} ms  to write it", clock.elapsed().as_secs_f64() * 1e3);
    let megabytes = std::fs::metadata(&path)?.len() / 1_000_000;
    println!("{megabytes} MB an hour of {WORKLOADS} workloads, {} MB a day", megabytes * 24);
    let results = Results::open(&path)?;
    for query in [
        "SELECT * FROM runs",
        "SELECT class, sum(ops), avg(mean_us) FROM minutes GROUP BY class",
        "SELECT * FROM minutes WHERE actor_name = 'w7'",
        "SELECT * FROM seconds WHERE run = 1 AND actor_name = 'w7' AND class = 'all'",
        "SELECT held_by, count(*) FROM gate_seconds WHERE run = 1 AND actor_name = 'w7' GROUP BY held_by",
    ] {
        let clock = started();
        let found = results.query(query, || false)?;
        println!("{:>7.1} ms  {} rows  {query}", clock.elapsed().as_secs_f64() * 1e3, found.rows.len());
    }
    if results.load(number)? != run {
        return Err("what was read is not what was written".into());
    }
    Ok(())
}

/// Only for what is printed.
#[expect(clippy::disallowed_methods, reason = "a measurement is what this is")]
fn started() -> std::time::Instant {
    std::time::Instant::now()
}
