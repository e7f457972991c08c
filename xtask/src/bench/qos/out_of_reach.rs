//! Floors that cannot be met by holding others back, because their owner sends too few requests at
//! a time, or pauses between them. They may cost little, and only for a short time.

use super::super::median;
use super::beside::{BULLY, Beside, COST_MOST, Client, Stage, Turns, VICTIM, said};
use anyhow::Result;
use std::path::Path;

/// Most consecutive seconds in which the total may be less than half.
const HALF_MOST: usize = 2;
/// The floor is this many times what its owner does alone.
const TIMES: f64 = 4.0;

const OWNERS: [Client; 2] = [
    Client { name: "four at a time", load: VICTIM, more: &[] },
    Client { name: "four, 1 ms apart", load: VICTIM, more: &["--thinktime=1000", "--thinktime_blocks=4"] },
];

/// Runs them alternately and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(paths: [&Path; 3], turns: (u32, u64)) -> Result<()> {
    println!("\na floor of {TIMES} times what its owner does alone (half reads, half writes of 4 KiB)");
    let stage = Stage::set(paths, "out-of-reach", turns)?;
    for (number, owner) in OWNERS.iter().enumerate() {
        let alone = stage.alone(owner)?;
        let floor = (alone.mean(stage.seconds) * TIMES / 1000.0).ceil() as u64 * 1000;
        let group = format!("floor{number}");
        stage.pool.order(&[&format!(
            "qos policy-group create {group} -vserver svm01 -min-throughput {floor}IOPS -is-shared false"
        )])?;
        let turns = stage.turns(owner, &BULLY, &group, &format!("a floor of {floor}"))?;
        println!("    {}", verdict(&turns));
    }
    Ok(())
}

/// The cost of the floor, in total and in its worst period.
fn verdict(turns: &Turns) -> String {
    let cost = turns.cost();
    let half = median(turns.without.iter().map(Beside::total)) / 2.0;
    let longest = turns.with.iter().map(|run| longest_below(run, half)).max().unwrap_or(0);
    format!(
        "costs {cost:.1} % of all (at most {COST_MOST:.0}): {}; below half for {longest} s in a row (at most {HALF_MOST}): {}",
        said(cost <= COST_MOST),
        said(longest <= HALF_MOST),
    )
}

/// Most consecutive seconds in which the total was less than `half`.
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
        let run = |seconds: &[(u64, u64)]| {
            vec![Beside { victim: Completions::default(), seconds: seconds.to_vec(), medians: Vec::new() }]
        };
        let said = |with: &[(u64, u64)]| verdict(&Turns { without: run(&[(1_000, 99_000); 40]), with: run(with) });
        assert_eq!(
            said(&[(2_000, 90_000); 40]),
            "costs 8.0 % of all (at most 10): met; below half for 0 s in a row (at most 2): met"
        );
        let slow = [vec![(2_000, 90_000); 20], vec![(2_000, 10_000); 3], vec![(2_000, 98_000); 57]].concat();
        assert!(said(&slow).contains("met; below half for 3 s in a row (at most 2): MISSED"), "{}", said(&slow));
        assert!(said(&[(2_000, 80_000); 40]).starts_with("costs 18.0 % of all (at most 10): MISSED"));
    }
}
