//! `cargo xtask bench results`: the size of the file of a hundred workloads after a day, and the
//! time for views of it and for its page.
//!
//! Argument: the file to write; an existing one is only measured again. Each figure is processor
//! time, with elapsed time beside it. The bounds are on processor time, which other work on the
//! machine hardly changes.

#[path = "../tests/support/busy.rs"]
mod busy;
#[path = "../tests/support/clocks.rs"]
mod clocks;

use clocks::{Clocks, Took};

use results::{Detail, Error, Results};
use std::path::{Path, PathBuf};

const WORKLOADS: u32 = 100;
const SECONDS: u64 = 24 * 3600;
/// The detail with which `seawall report` loads a run.
const SLICES_DRAWN: u64 = 1_000_000;
/// Bounds for the file, a view and the page.
const BYTES_MOST: u64 = 600_000_000;
const VIEW_MS_MOST: f64 = 200.0;
const PAGE_MS_MOST: f64 = 5_000.0;
const PAGE_BYTES_MOST: usize = 6_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name the file to write")?;
    if !path.exists() {
        write(&path)?;
    }
    let mut missed = Vec::new();
    let mut bound = |held: bool, what: String| {
        if !held {
            missed.push(what);
        }
    };
    let bytes = std::fs::metadata(&path)?.len();
    println!("{:>7} MB  a day of {WORKLOADS} workloads", bytes / 1_000_000);
    bound(bytes <= BYTES_MOST, format!("the file may have {} MB", BYTES_MOST / 1_000_000));
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
        let clocks = Clocks::start();
        let found = results.query(query, || false)?;
        let took = clocks.stop();
        println!("{took}  {} rows  {query}", found.rows.len());
        bound(took.processor_ms <= VIEW_MS_MOST, format!("a view may take {VIEW_MS_MOST} ms: {query}"));
    }
    let page = page(&results)?;
    bound(page.0 <= PAGE_MS_MOST, format!("a page may take {PAGE_MS_MOST} ms"));
    bound(page.1 <= PAGE_BYTES_MOST, format!("a page may have {} MB", PAGE_BYTES_MOST / 1_000_000));
    if missed.is_empty() { Ok(()) } else { Err(missed.join("; ").into()) }
}

/// Builds the page of the day like `seawall report`; returns its processor time in milliseconds and
/// its bytes.
fn page(results: &Results) -> Result<(f64, usize), Error> {
    let whole = Clocks::start();
    let part = Clocks::start();
    let run = results.load_as(1, Detail::Drawn(SLICES_DRAWN))?;
    let slices = run.series.iter().map(|series| series.slices.len()).sum::<usize>();
    println!("{}  read for a page, as {slices} slices", part.stop());
    let part = Clocks::start();
    let recording = run.recording();
    println!("{}  as a recording", part.stop());
    let part = Clocks::start();
    let page = report::run_page(&[&recording]);
    println!("{}  as sections", part.stop());
    let part = Clocks::start();
    let text = page.render();
    println!("{}  drawn", part.stop());
    let took = whole.stop();
    println!("{took}  its page in all, of {:.2} MB", text.len() as f64 / 1e6);
    Ok((took.processor_ms, text.len()))
}

/// Writes one workload after the other, so that those already written need no memory.
fn write(path: &Path) -> Result<(), Error> {
    let mut results = Results::open(path)?;
    let number = results.save(&busy::begun(WORKLOADS, SECONDS))?;
    let mut writing = Took::default();
    for actor in 0..WORKLOADS {
        let mut run = busy::begun(WORKLOADS, SECONDS);
        busy::add(&mut run, actor, SECONDS);
        let clocks = Clocks::start();
        results.replace(number, &run)?;
        writing.add(clocks.stop());
    }
    println!("{writing}  to write it");
    Ok(())
}
