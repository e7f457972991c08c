//! Floors by latency on the real server and this machine's disk: what a client at depth 4 sees of
//! each second's median, beside one at depth 128. The promise is from a request's arrival at the
//! server on; what is counted here is the client's, which has the socket beside it.

use super::super::fio::Load;
use super::super::median;
use super::completions::Running;
use super::floors::{Beside, Client, NEIGHBOURS, beside, line, set_floor};
use super::pool::Pool;
use anyhow::Result;
use std::path::Path;

/// The first is near what the disk has alone, the others are those of the built-in classes that a
/// disk such as this can break.
const LIMITS: [(&str, f64); 3] = [("500us", 500.0), ("1ms", 1000.0), ("2ms", 2000.0)];

const OWNER: Client =
    Client { name: "victim", load: Load { pattern: "randread", block: "4k", depth: 4, once: false }, more: &[] };

/// Runs them in turns and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(seawall: &Path, folder: &Path, data: &Path, runs: u32, seconds: u64) -> Result<()> {
    println!("\nfloors by latency for a client at depth 4 (reads of 4 KiB), past the page cache");
    println!("{runs} runs of {seconds} s each, with and without the floor in turns");
    let folder_of_pool = folder.join("latencies");
    let pool = Pool::start(seawall, folder_of_pool, "cache = \"direct\"\n", &["victim", "bully"], data)?;
    println!("  {}", pool.line);
    println!("\n  {:<46} {:>9} {:>9} {:>9} {:>9}", "", "IOPS", "p50 µs", "p99 µs", "total");
    let alone = Running::start(&OWNER.load, &pool.uri("victim"), seconds, folder, "victim", OWNER.more)?.finish()?;
    println!("  {:<46} {:>9.0} {:>9.0}", "alone", alone.mean(seconds), alone.percentile(50.0));
    let slowest = worst(&alone.medians());
    println!("    the slowest second's p50 alone: {slowest:.0} µs");
    for (limit, most) in LIMITS {
        pool.order(&[&format!(
            "qos policy-group create within-{limit} -vserver svm01 -expected-latency {limit} -is-shared false"
        )])?;
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            set_floor(&pool, "none")?;
            without.push(beside(&pool, &OWNER, &NEIGHBOURS[0], seconds, folder)?);
            set_floor(&pool, &format!("within-{limit}"))?;
            with.push(beside(&pool, &OWNER, &NEIGHBOURS[0], seconds, folder)?);
        }
        println!("{}", line(NEIGHBOURS[0].name, "", &without, seconds));
        println!("{}", line("", &format!(", with half within {limit}"), &with, seconds));
        println!("    {}", verdict(&without, &with, most, slowest));
    }
    Ok(())
}

/// The largest of the medians, in microseconds.
fn worst(medians: &[Option<f64>]) -> f64 {
    medians.iter().map(|median| median.unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
}

/// In how many seconds the median was above the limit.
fn verdict(without: &[Beside], with: &[Beside], most: f64, slowest_alone: f64) -> String {
    let medians: Vec<Option<f64>> = with.iter().flat_map(|run| run.victim.medians()).collect();
    let above = medians.iter().filter(|median| median.is_none_or(|median| median > most)).count();
    let said = match () {
        () if slowest_alone > most => "the device alone does not keep it",
        () if above == 0 => "held",
        () => "MISSED",
    };
    let cost = median(without.iter().zip(with).map(|(one, two)| 1.0 - two.total() / one.total().max(1.0))) * 100.0;
    format!(
        "{said}: above in {above} of {} seconds, worst p50 {:.0} µs; {cost:.1} % of all less",
        medians.len(),
        worst(&medians)
    )
}
