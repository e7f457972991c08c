//! Floors that pushing the others back does not reach: of a client that asks for too little at a
//! time, or thinks between requests. They may cost little, and only for a short time.

use super::super::median;
use super::completions::Running;
use super::floors::{Beside, Client, NEIGHBOURS, VICTIM, beside, line, set_floor};
use super::pool::Pool;
use anyhow::Result;
use std::path::Path;

/// A floor may cost so many percent of what all do together without it.
const COST_MOST: f64 = 10.0;
/// All together do less than half for so many whole seconds in a row at most.
const HALF_MOST: usize = 2;
/// The floor is so many times what its owner does alone.
const TIMES: f64 = 4.0;

const OWNERS: [Client; 2] = [
    Client { name: "four at a time", load: VICTIM, more: &[] },
    Client { name: "four, 1 ms apart", load: VICTIM, more: &["--thinktime=1000", "--thinktime_blocks=4"] },
];

/// Runs them in turns and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(seawall: &Path, folder: &Path, data: &Path, runs: u32, seconds: u64) -> Result<()> {
    println!(
        "\na floor of {TIMES} times what its owner does alone (half reads, half writes of 4 KiB), past the page cache"
    );
    println!("{runs} runs of {seconds} s each, with and without the floor in turns");
    let folder_of_pool = folder.join("out-of-reach");
    let pool = Pool::start(seawall, folder_of_pool, "cache = \"direct\"\n", &["victim", "bully"], data)?;
    println!("  {}", pool.line);
    println!("\n  {:<46} {:>9} {:>9} {:>9} {:>9}", "", "IOPS", "p50 µs", "p99 µs", "total");
    let neighbour = &NEIGHBOURS[0];
    for (number, owner) in OWNERS.iter().enumerate() {
        let alone =
            Running::start(&owner.load, &pool.uri("victim"), seconds, folder, "victim", owner.more)?.finish()?;
        let floor = (alone.mean(seconds) * TIMES / 1000.0).ceil() as u64 * 1000;
        let group = format!("floor{number}");
        pool.order(&[&format!(
            "qos policy-group create {group} -vserver svm01 -min-throughput {floor}IOPS -is-shared false"
        )])?;
        println!("  {:<46} {:>9.0}", format!("{}, alone", owner.name), alone.mean(seconds));
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            set_floor(&pool, "none")?;
            without.push(beside(&pool, owner, neighbour, seconds, folder)?);
            set_floor(&pool, &group)?;
            with.push(beside(&pool, owner, neighbour, seconds, folder)?);
        }
        println!("{}", line(neighbour.name, "", &without, seconds));
        println!("{}", line("", &format!(", with a floor of {floor}"), &with, seconds));
        println!("    {}", verdict(&without, &with));
    }
    Ok(())
}

/// What the floor cost, in all and for how long much.
fn verdict(without: &[Beside], with: &[Beside]) -> String {
    let cost = median(without.iter().zip(with).map(|(one, two)| 1.0 - two.total() / one.total().max(1.0))) * 100.0;
    let half = median(without.iter().map(Beside::total)) / 2.0;
    let longest = with.iter().map(|run| longest_below(run, half)).max().unwrap_or(0);
    let said = |is_met| if is_met { "met" } else { "MISSED" };
    format!(
        "costs {cost:.1} % of all (at most {COST_MOST:.0}): {}; below half for {longest} s in a row (at most {HALF_MOST}): {}",
        said(cost <= COST_MOST),
        said(longest <= HALF_MOST),
    )
}

/// The most whole seconds in a row in which all together did less than that.
fn longest_below(run: &Beside, half: f64) -> usize {
    let is_below: Vec<bool> = run.seconds.iter().map(|second| ((second.0 + second.1) as f64) < half).collect();
    is_below.split(|is_below| !is_below).map(<[bool]>::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::completions::Completions;
    use super::*;

    #[test]
    fn a_floor_that_costs_much_or_for_long_misses_its_bound() {
        let run = |seconds: &[(u64, u64)]| [Beside { victim: Completions::default(), seconds: seconds.to_vec() }];
        let (without, cheap) = (run(&[(1_000, 99_000); 40]), run(&[(2_000, 90_000); 40]));
        assert_eq!(
            verdict(&without, &cheap),
            "costs 8.0 % of all (at most 10): met; below half for 0 s in a row (at most 2): met"
        );
        let slow = run(&[vec![(2_000, 90_000); 20], vec![(2_000, 10_000); 3], vec![(2_000, 98_000); 57]].concat());
        let said = verdict(&without, &slow);
        assert!(said.contains("met; below half for 3 s in a row (at most 2): MISSED"), "{said}");
        assert!(
            verdict(&without, &run(&[(2_000, 80_000); 40])).starts_with("costs 18.0 % of all (at most 10): MISSED")
        );
    }
}
