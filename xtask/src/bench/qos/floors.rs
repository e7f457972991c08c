//! A floor on the real server and this machine's disk: a client at depth 4 beside one at depth 128,
//! and beside one that flushes after every write; each with the floor and without it.
//!
//! A second counts if the device itself completed at least the sum of the floors in it; with more
//! than 5 % of the seconds left out, nothing can be said.

use super::super::fio::Load;
use super::super::median;
use super::completions::{Completions, Running};
use super::pool::Pool;
use anyhow::Result;
use std::path::Path;

/// The victim's floor, in IOPS.
const FLOOR: u64 = 5_000;
/// The part of it that must be there in every second.
const HELD: f64 = 0.99;
/// It may be exceeded from others' sacrifice by so many percent.
const ABOVE_MOST: f64 = 5.0;
/// Of all seconds at most so many may be left out.
const LEFT_OUT_MOST: f64 = 0.05;

pub(super) const VICTIM: Load = Load { pattern: "randrw", block: "4k", depth: 4, once: false };

/// A client, and what fio is told beside its load.
pub(super) struct Client {
    pub(super) name: &'static str,
    pub(super) load: Load,
    pub(super) more: &'static [&'static str],
}

const OWNER: Client = Client { name: "victim", load: VICTIM, more: &[] };

pub(super) const NEIGHBOURS: [Client; 2] = [
    Client {
        name: "beside depth 128, half writes",
        load: Load { pattern: "randrw", block: "4k", depth: 128, once: false },
        more: &[],
    },
    Client {
        name: "beside depth 128, a flush after every write",
        load: Load { pattern: "randwrite", block: "4k", depth: 128, once: false },
        more: &["--fsync=1"],
    },
];

/// What the victim and its neighbour did in one run.
pub(super) struct Beside {
    pub(super) victim: Completions,
    /// Of each second from the second one on: the victim's, and the neighbour's.
    pub(super) seconds: Vec<(u64, u64)>,
}

impl Beside {
    /// What both did a second.
    pub(super) fn total(&self) -> f64 {
        let sum: u64 = self.seconds.iter().map(|second| second.0 + second.1).sum();
        sum as f64 / self.seconds.len().max(1) as f64
    }
}

/// Runs them in turns and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(seawall: &Path, folder: &Path, data: &Path, runs: u32, seconds: u64) -> Result<()> {
    println!(
        "\na floor of {FLOOR} IOPS for a client at depth 4 (half reads, half writes of 4 KiB), past the page cache"
    );
    println!("{runs} runs of {seconds} s each, with and without the floor in turns");
    let pool = Pool::start(seawall, folder.join("floors"), "cache = \"direct\"\n", &["victim", "bully"], data)?;
    let policy = format!("qos policy-group create floor -vserver svm01 -min-throughput {FLOOR}IOPS -is-shared false");
    pool.order(&[&policy])?;
    println!("  {}, {policy}", pool.line);
    println!("\n  {:<46} {:>9} {:>9} {:>9} {:>9}", "", "IOPS", "p50 µs", "p99 µs", "total");
    let alone = Running::start(&VICTIM, &pool.uri("victim"), seconds, folder, "victim", &[])?.finish()?;
    println!(
        "  {:<46} {:>9.0} {:>9.0} {:>9.0}",
        "the victim alone",
        alone.mean(seconds),
        alone.percentile(50.0),
        alone.percentile(99.0)
    );
    for neighbour in &NEIGHBOURS {
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            set_floor(&pool, "none")?;
            without.push(beside(&pool, &OWNER, neighbour, seconds, folder)?);
            set_floor(&pool, "floor")?;
            with.push(beside(&pool, &OWNER, neighbour, seconds, folder)?);
        }
        println!("{}", line(neighbour.name, "", &without, seconds));
        println!("{}", line(neighbour.name, ", with the floor", &with, seconds));
        println!("    {}", verdict(&with));
        println!("    {}", sacrifice(&without, &with, seconds));
    }
    Ok(())
}

pub(super) fn set_floor(pool: &Pool, group: &str) -> Result<()> {
    pool.order(&[&format!("volume modify -vserver svm01 -volume victim -qos-policy-group {group}")])
}

pub(super) fn beside(pool: &Pool, owner: &Client, neighbour: &Client, seconds: u64, folder: &Path) -> Result<Beside> {
    let bully = Running::start(&neighbour.load, &pool.uri("bully"), seconds, folder, "bully", neighbour.more)?;
    let victim = Running::start(&owner.load, &pool.uri("victim"), seconds, folder, "victim", owner.more)?;
    let (bully, victim) = (bully.finish()?, victim.finish()?);
    // Floors hold from the second second on.
    let seconds = victim.by_second(&bully).into_iter().skip(1).collect();
    Ok(Beside { victim, seconds })
}

pub(super) fn line(name: &str, with: &str, runs: &[Beside], seconds: u64) -> String {
    let of = |figure: &dyn Fn(&Beside) -> f64| median(runs.iter().map(figure));
    format!(
        "  {:<46} {:>9.0} {:>9.0} {:>9.0} {:>9.0}",
        if with.is_empty() { name.into() } else { format!("  {}", with.trim_start_matches(", ")) },
        of(&|run| run.victim.mean(seconds)),
        of(&|run| run.victim.percentile(50.0)),
        of(&|run| run.victim.percentile(99.0)),
        of(&Beside::total),
    )
}

/// What the owner has above its floor, and above what it has without one, from what others give up.
fn sacrifice(without: &[Beside], with: &[Beside], seconds: u64) -> String {
    let own = |runs: &[Beside]| median(runs.iter().map(|run| run.victim.mean(seconds)));
    let needed = own(without).max(FLOOR as f64);
    let above = (own(with) / needed - 1.0).max(0.0) * 100.0;
    let said = if above <= ABOVE_MOST { "met" } else { "MISSED" };
    format!("{above:.1} % above floor and what it has without (at most {ABOVE_MOST:.0}): {said}")
}

/// Whether the floor held in every second that counts.
fn verdict(runs: &[Beside]) -> String {
    let all: Vec<(u64, u64)> = runs.iter().flat_map(|run| run.seconds.iter().copied()).collect();
    let is_counted = |s: &(u64, u64)| s.0 + s.1 >= FLOOR;
    let counted: Vec<u64> = all.iter().filter(|s| is_counted(s)).map(|s| s.0).collect();
    let left_out: Vec<u64> = all.iter().filter(|s| !is_counted(s)).map(|s| s.0 + s.1).collect();
    let is_short = |s: &(u64, u64)| is_counted(s) && (s.0 as f64) < HELD * FLOOR as f64;
    let short: Vec<String> = (runs.iter().zip(1..))
        .flat_map(|(run, number)| {
            // The first second of a run is not among them.
            let seconds = run.seconds.iter().zip(2..).filter(|(s, _)| is_short(s));
            seconds.map(move |(s, at)| format!("\n      run {number}, second {at}: {} of {} in all", s.0, s.0 + s.1))
        })
        .collect();
    let worst = counted.iter().min().copied().unwrap_or(0);
    let said = match () {
        () if left_out.len() as f64 > LEFT_OUT_MOST * all.len() as f64 || counted.is_empty() => "cannot say",
        () if short.is_empty() => "held",
        () => "missed",
    };
    format!(
        "floor {said}: worst second {worst} ({:.1} %), short in {} of {} seconds; left out {} in which the device did {left_out:?}{}",
        worst as f64 * 100.0 / FLOOR as f64,
        short.len(),
        counted.len(),
        left_out.len(),
        short.concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_in_which_the_device_did_less_than_the_floors_are_left_out() {
        let run = |seconds: &[(u64, u64)]| [Beside { victim: Completions::default(), seconds: seconds.to_vec() }];
        let good = vec![(5_000, 50_000); 40];
        assert!(verdict(&run(&good)).starts_with("floor held"));
        assert!(verdict(&run(&[good.clone(), vec![(4_949, 50_000)]].concat())).starts_with("floor missed"));
        assert!(verdict(&run(&[good.clone(), vec![(1_000, 1_000)]].concat())).starts_with("floor held"));
        assert!(verdict(&run(&[good, vec![(1_000, 1_000); 5]].concat())).starts_with("floor cannot say"));
        assert!(verdict(&[]).starts_with("floor cannot say"));
    }
}
