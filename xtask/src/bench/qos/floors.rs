//! A floor on the real server and this machine's disk: a client at depth 4 beside one at depth 128,
//! and beside one that flushes after every write, each with the floor and without it.
//!
//! A second counts if the device completed at least the sum of the floors in it. If more than 5 %
//! of the seconds do not count, there is no result.

use super::super::fio::Load;
use super::super::median;
use super::beside::{BULLY, Beside, COST_MOST, Client, Stage, Turns, VICTIM, said};
use anyhow::Result;
use std::path::Path;

/// The victim's floor, in IOPS.
const FLOOR: u64 = 5_000;
/// A floor that the owner would get without any.
const NEEDLESS: u64 = 1_000;
/// The part of the floor that is required in every second.
const HELD: f64 = 0.99;
/// Most that the owner may get above its floor at others' expense, in percent.
const ABOVE_MOST: f64 = 5.0;
/// Most seconds that may not count, as a part of all.
const LEFT_OUT_MOST: f64 = 0.05;

const OWNER: Client = Client { name: "the victim", load: VICTIM, more: &[] };

const NEIGHBOURS: [Client; 2] = [
    BULLY,
    Client {
        name: "beside depth 128, a flush after every write",
        load: Load { pattern: "randwrite", block: "4k", depth: 128, once: false },
        more: &["--fsync=1"],
    },
];

/// Runs them alternately and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(paths: [&Path; 3], turns: (u32, u64)) -> Result<()> {
    println!("\na floor of {FLOOR} IOPS for a client at depth 4 (half reads, half writes of 4 KiB)");
    let stage = Stage::set(paths, "floors", turns)?;
    for (group, floor) in [("floor", FLOOR), ("needless", NEEDLESS)] {
        stage.pool.order(&[&format!(
            "qos policy-group create {group} -vserver svm01 -min-throughput {floor}IOPS -is-shared false"
        )])?;
    }
    stage.alone(&OWNER)?;
    for neighbour in &NEIGHBOURS {
        let turns = stage.turns(&OWNER, neighbour, "floor", "the floor")?;
        println!("    {}", without(&turns.without));
        println!("    {}", verdict(&turns.with));
        if let Some(line) = when_short(&turns) {
            println!("    {line}");
        }
        println!("    {}", sacrifice(&turns, stage.seconds));
    }
    let needless = stage.turns(&OWNER, &BULLY, "needless", &format!("a floor of {NEEDLESS}, which it has anyhow"))?;
    let cost = needless.cost();
    println!("    costs {cost:.1} % of all (at most {COST_MOST:.0}): {}", said(cost <= COST_MOST));
    Ok(())
}

/// What the owner gets above its floor, and above its rate without one, at others' expense.
fn sacrifice(turns: &Turns, seconds: u64) -> String {
    let own = |runs: &[Beside]| median(runs.iter().map(|run| run.victim.mean(seconds)));
    let needed = own(&turns.without).max(FLOOR as f64);
    let above = (own(&turns.with) / needed - 1.0).max(0.0) * 100.0;
    format!("{above:.1} % above floor and what it has without (at most {ABOVE_MOST:.0}): {}", said(above <= ABOVE_MOST))
}

/// How often the owner is below its floor without it: what the floor is needed for.
fn without(runs: &[Beside]) -> String {
    let had: Vec<u64> = runs.iter().flat_map(|run| run.seconds.iter().map(|second| second.0)).collect();
    let below = had.iter().filter(|had| **had < FLOOR).count();
    format!("without it below {FLOOR} in {below} of {} seconds, worst {}", had.len(), had.iter().min().unwrap_or(&0))
}

/// Whether the device completed enough for the floor in this second, for owner and neighbour
/// together.
fn is_counted(second: &(u64, u64)) -> bool {
    second.0 + second.1 >= FLOOR
}

/// Whether the owner missed its floor in it.
fn is_short(second: &(u64, u64)) -> bool {
    is_counted(second) && (second.0 as f64) < HELD * FLOOR as f64
}

/// The total in seconds in which the floor was missed, if there are any: if it is low, others were
/// held back in vain.
fn when_short(turns: &Turns) -> Option<String> {
    let seconds = turns.with.iter().flat_map(|run| run.seconds.iter().copied()).filter(is_short);
    let totals: Vec<f64> = seconds.map(|(own, others)| (own + others) as f64).collect();
    if totals.is_empty() {
        return None;
    }
    let with = totals.iter().sum::<f64>() / totals.len() as f64;
    let without = median(turns.without.iter().map(Beside::total));
    let cost = (1.0 - with / without.max(1.0)) * 100.0;
    Some(format!("in the seconds in which it was short all did {with:.0}, {cost:.1} % less than without it"))
}

/// Whether the floor held in every second that counts.
fn verdict(runs: &[Beside]) -> String {
    let all: Vec<(u64, u64)> = runs.iter().flat_map(|run| run.seconds.iter().copied()).collect();
    let counted: Vec<u64> = all.iter().copied().filter(is_counted).map(|s| s.0).collect();
    let left_out: Vec<u64> = all.iter().filter(|s| !is_counted(s)).map(|s| s.0 + s.1).collect();
    let short: Vec<String> = (runs.iter().zip(1..))
        .flat_map(|(run, number)| {
            // The first second of a run is not included.
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
    use super::super::completions::Completions;
    use super::*;

    #[test]
    fn seconds_in_which_the_device_did_less_than_the_floors_are_left_out() {
        let run = |seconds: &[(u64, u64)]| {
            [Beside { victim: Completions::default(), seconds: seconds.to_vec(), medians: Vec::new() }]
        };
        let good = vec![(5_000, 50_000); 40];
        assert!(verdict(&run(&good)).starts_with("floor held"));
        assert!(verdict(&run(&[good.clone(), vec![(4_949, 50_000)]].concat())).starts_with("floor missed"));
        assert!(verdict(&run(&[good.clone(), vec![(1_000, 1_000)]].concat())).starts_with("floor held"));
        assert!(verdict(&run(&[good, vec![(1_000, 1_000); 5]].concat())).starts_with("floor cannot say"));
        assert!(verdict(&[]).starts_with("floor cannot say"));
    }

    /// In a second in which the floor is missed, 36 000 against 40 000 without it are a tenth less.
    /// The cost of the held second does not count.
    #[test]
    fn the_cost_while_short_is_of_those_seconds_alone() {
        let run = |seconds: &[(u64, u64)]| {
            vec![Beside { victim: Completions::default(), seconds: seconds.to_vec(), medians: Vec::new() }]
        };
        let without = run(&[(1_000, 39_000)]);
        let turns = Turns { without, with: run(&[(5_000, 5_000), (4_000, 32_000)]) };
        assert!(when_short(&turns).unwrap().contains("all did 36000, 10.0 % less"), "{:?}", when_short(&turns));
        let held = Turns { without: run(&[(1_000, 39_000)]), with: run(&[(5_000, 5_000)]) };
        assert_eq!(when_short(&held), None);
    }
}
