//! `cargo xtask bench array`: the speed of the simulator of arrays, and the policies of its caches
//! compared with libcachesim's.
//!
//! The requirements: 10 million events per second on one core with a gate and a cache, 3 million
//! completed requests per second on one station, 1 million on the A700's stages with gate and tape,
//! a table of three hosts and ten runs within a second, and at most 1 GB for a day of a hundred
//! volumes.

use super::{example, libcachesim, load_average};
use crate::root;
use anyhow::{Context as _, Result};

/// The options of this bench.
#[derive(clap::Args)]
pub struct Array {
    /// Only figures of this name, such as mm1, a700_cache_gate, phases, memory or policies
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
}

/// The required figures: name, whether it is a minimum, value and unit.
const ASKED: [(&str, bool, f64, &str); 5] = [
    ("a700_cache_gate_events", true, 10e6, "events a second with gate and cache"),
    ("station_requests", true, 3e6, "finished requests a second on one station"),
    ("a700_gate_tape_requests", true, 1e6, "finished requests a second on the A700 with gate and tape"),
    ("mm1_events", true, 10e6, "events a second of a plain M/M/1"),
    ("phases", false, 1000.0, "ms for three hosts and ten runs at the level of phases, with and without policies"),
];

impl Array {
    /// Measures and prints the figures.
    ///
    /// # Errors
    /// It cannot be built, or fails.
    pub fn run(&self) -> Result<()> {
        println!("load average at the start: {}", load_average()?);
        let wanted = |name: &str| self.only.as_deref().is_none_or(|only| only == name);
        if !["memory", "policies"].map(Some).contains(&self.only.as_deref()) {
            self.speed()?;
        }
        if wanted("policies") {
            policies()?;
        }
        if wanted("memory") {
            memory()?;
        }
        println!("load average at the end: {}", load_average()?);
        Ok(())
    }

    fn speed(&self) -> Result<()> {
        let only: Vec<&str> = self.only.as_deref().into_iter().collect();
        let text = example("simtest", "array", &only)?;
        print!("{text}");
        for (name, least, bound, what) in ASKED {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            let Some(figure) = line.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok()) else { continue };
            let (held, rule) = if least { (figure >= bound, "at least") } else { (figure <= bound, "at most") };
            println!("{}: {figure:.0}, {rule} {bound:.0} {what}", if held { "held" } else { "MISSED" });
        }
        Ok(())
    }
}

/// Most memory for a day of a hundred volumes, in MB.
const MEMORY_MB: f64 = 1000.0;

fn memory() -> Result<()> {
    let text = example("engine", "day", &["24", "100"])?;
    print!("{text}");
    let mb = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
    let mb = mb.context("the example day: prints no memory")?;
    let held = if mb <= MEMORY_MB { "held" } else { "MISSED" };
    println!("{held}: {mb:.0}, at most {MEMORY_MB:.0} MB for 24 hours of 100 volumes");
    Ok(())
}

/// Cache size of the example `policies`, in pages.
const POLICIES_PAGES: u64 = 2000;

/// Requests per second and misses of our policies and libcachesim's, on the same trace.
fn policies() -> Result<()> {
    let trace = root().join("target/bench-array-trace.txt");
    let word = trace.to_string_lossy().into_owned();
    let ours = example("cache", "policies", &[&word])?;
    let theirs = libcachesim::play(&trace, 3, &[POLICIES_PAGES]);
    let _ = std::fs::remove_file(&trace);
    let theirs = theirs?;
    let row = |line: &str| {
        let mut words = line.split(' ');
        Some((words.next()?.to_string(), [words.next()?.parse().ok()?, words.next()?.parse().ok()?]))
    };
    let mut ours: Vec<(String, [f64; 2])> = ours.lines().filter_map(row).collect();
    ours.sort_by(|a, b| a.0.cmp(&b.0));
    println!("policy    misses, ours and libcachesim's    million requests/s, ours and libcachesim's");
    for (name, [misses, speed]) in ours {
        let theirs = theirs.iter().find(|row| row.policy == name);
        let theirs = theirs.with_context(|| format!("libcachesim: no row {name}"))?;
        println!("{name:<9} {misses:>12.5} {:>12.5} {:>20.1} {:>12.1}", theirs.misses, speed / 1e6, theirs.speed / 1e6);
    }
    Ok(())
}
