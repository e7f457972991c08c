//! A client with a promise (a floor) beside a neighbour, on the real server and this machine's
//! disk, alternately with and without the promise.

use super::super::fio::Load;
use super::super::median;
use super::completions::{Completions, Running};
use super::pool::Pool;
use anyhow::Result;
use std::path::Path;

/// A client, and additional arguments for fio.
pub struct Client {
    pub name: &'static str,
    pub load: Load,
    pub more: &'static [&'static str],
}

/// Half reads, half writes of 4 KiB, at depth 4.
pub const VICTIM: Load = Load { pattern: "randrw", block: "4k", depth: 4, once: false };

pub const BULLY: Client = Client {
    name: "beside depth 128, half writes",
    load: Load { pattern: "randrw", block: "4k", depth: 128, once: false },
    more: &[],
};

/// Most cost of a promise that does not help its owner, in percent of the total without it.
pub const COST_MOST: f64 = 10.0;

/// What the victim and its neighbour did in one run, from the second second on, when promises have
/// to hold.
pub struct Beside {
    pub victim: Completions,
    /// Completed requests of each, in each second in which both have some.
    pub seconds: Vec<(u64, u64)>,
    /// The victim's median latency in each second until both have ended, in microseconds.
    pub medians: Vec<Option<f64>>,
}

impl Beside {
    /// What both did per second.
    pub fn total(&self) -> f64 {
        let sum: u64 = self.seconds.iter().map(|second| second.0 + second.1).sum();
        sum as f64 / self.seconds.len().max(1) as f64
    }
}

/// A server with a volume for each of them.
pub struct Stage<'a> {
    pub pool: Pool,
    folder: &'a Path,
    runs: u32,
    pub seconds: u64,
}

impl<'a> Stage<'a> {
    /// Serves a pool of that name, and prints its command and the head of a table.
    ///
    /// # Errors
    /// A program failed.
    pub fn set([seawall, folder, data]: [&'a Path; 3], name: &str, (runs, seconds): (u32, u64)) -> Result<Stage<'a>> {
        println!("{runs} runs of {seconds} s each, with and without it in turns, past the page cache");
        let pool = Pool::start(seawall, folder.join(name), "cache = \"direct\"\n", &["victim", "bully"], data)?;
        println!("  {}", pool.line);
        println!("\n  {:<46} {:>9} {:>9} {:>9} {:>9}", "", "IOPS", "p50 µs", "p99 µs", "total");
        Ok(Stage { pool, folder, runs, seconds })
    }

    /// Measures a client alone, for one line of the table.
    ///
    /// # Errors
    /// fio failed.
    pub fn alone(&self, victim: &Client) -> Result<Completions> {
        let alone = self.start(victim, "victim")?.finish()?;
        let (iops, [p50, p99]) = (alone.mean(self.seconds), [50.0, 99.0].map(|percent| alone.percentile(percent)));
        println!("  {:<46} {iops:>9.0} {p50:>9.0} {p99:>9.0}", format!("{}, alone", victim.name));
        Ok(alone)
    }

    /// Measures a client beside another, outside of a policy group and in it, for two lines of the
    /// table.
    ///
    /// # Errors
    /// A program failed.
    pub fn turns(&self, victim: &Client, neighbour: &Client, group: &str, promise: &str) -> Result<Turns> {
        let mut turns = Turns { without: Vec::new(), with: Vec::new() };
        for _ in 0..self.runs {
            turns.without.push(self.beside(victim, neighbour, "none")?);
            turns.with.push(self.beside(victim, neighbour, group)?);
        }
        self.print(neighbour.name, &turns.without);
        self.print(&format!("  with {promise}"), &turns.with);
        Ok(turns)
    }

    fn start(&self, client: &Client, volume: &str) -> Result<Running> {
        Running::start(&client.load, &self.pool.uri(volume), self.seconds, self.folder, volume, client.more)
    }

    fn beside(&self, victim: &Client, neighbour: &Client, group: &str) -> Result<Beside> {
        self.pool.order(&[&format!("volume modify -vserver svm01 -volume victim -qos-policy-group {group}")])?;
        let bully = self.start(neighbour, "bully")?;
        let victim = self.start(victim, "victim")?;
        let (bully, victim) = (bully.finish()?, victim.finish()?);
        let seconds = victim.by_second(&bully).into_iter().skip(1).collect();
        let medians = victim.medians(&bully).into_iter().skip(1).collect();
        Ok(Beside { victim, seconds, medians })
    }

    fn print(&self, name: &str, runs: &[Beside]) {
        let of = |figure: &dyn Fn(&Beside) -> f64| median(runs.iter().map(figure));
        println!(
            "  {name:<46} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
            of(&|run| run.victim.mean(self.seconds)),
            of(&|run| run.victim.percentile(50.0)),
            of(&|run| run.victim.percentile(99.0)),
            of(&Beside::total),
        );
    }
}

/// Alternating runs.
pub struct Turns {
    pub without: Vec<Beside>,
    pub with: Vec<Beside>,
}

impl Turns {
    /// The cost of the promise, in percent of what both do: the median over neighbouring runs.
    pub fn cost(&self) -> f64 {
        let pairs = self.without.iter().zip(&self.with);
        median(pairs.map(|(without, with)| 1.0 - with.total() / without.total().max(1.0))) * 100.0
    }
}

/// The word for a bound.
pub fn said(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}
