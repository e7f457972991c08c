//! Floors by latency on the real server and this machine's disk: the median in each second of a
//! client at depth 4, beside one at depth 128. The promise counts from the arrival of a request at
//! the server; the figures are the client's, which include the socket.

use super::super::fio::Load;
use super::beside::{BULLY, Client, Stage, Turns};
use anyhow::Result;
use std::path::Path;

/// The first is close to the disk's own latency, the others are those of the built-in classes that
/// such a disk can miss.
const LIMITS: [(&str, f64); 3] = [("500us", 500.0), ("1ms", 1000.0), ("2ms", 2000.0)];

const OWNER: Client =
    Client { name: "the victim", load: Load { pattern: "randread", block: "4k", depth: 4, once: false }, more: &[] };

/// Runs them alternately and prints the table.
///
/// # Errors
/// A program failed.
pub fn run(paths: [&Path; 3], turns: (u32, u64)) -> Result<()> {
    println!("\nfloors by latency for a client at depth 4 (reads of 4 KiB)");
    let stage = Stage::set(paths, "latencies", turns)?;
    let alone = stage.alone(&OWNER)?;
    let slowest = worst(&alone.medians(&alone)[1..]);
    println!("    its slowest second's p50: {slowest:.0} µs");
    for (limit, most) in LIMITS {
        let group = format!("within-{limit}");
        stage.pool.order(&[&format!(
            "qos policy-group create {group} -vserver svm01 -expected-latency {limit} -is-shared false"
        )])?;
        let turns = stage.turns(&OWNER, &BULLY, &group, &format!("half within {limit}"))?;
        println!("    {}", verdict(&turns, most, slowest));
    }
    Ok(())
}

/// The largest of the medians, in microseconds.
fn worst(medians: &[Option<f64>]) -> f64 {
    medians.iter().map(|median| median.unwrap_or(f64::INFINITY)).fold(0.0, f64::max)
}

/// The number of seconds whose median was above the limit.
fn verdict(turns: &Turns, most: f64, slowest_alone: f64) -> String {
    let medians: Vec<Option<f64>> = turns.with.iter().flat_map(|run| run.medians.clone()).collect();
    let above = medians.iter().filter(|median| median.is_none_or(|median| median > most)).count();
    let said = match () {
        () if medians.is_empty() => "cannot say",
        () if slowest_alone > most => "the device alone does not keep it",
        () if above == 0 => "held",
        () => "MISSED",
    };
    format!(
        "{said}: above in {above} of {} seconds, worst p50 {:.0} µs; {:.1} % of all less",
        medians.len(),
        worst(&medians),
        turns.cost()
    )
}

#[cfg(test)]
mod tests {
    use super::super::beside::Beside;
    use super::super::completions::Completions;
    use super::*;

    #[test]
    fn a_second_above_the_limit_or_without_an_answer_breaks_it() {
        let run = |medians: &[Option<f64>]| {
            vec![Beside { victim: Completions::default(), seconds: vec![(1, 1)], medians: medians.to_vec() }]
        };
        let said =
            |medians: &[Option<f64>], alone| verdict(&Turns { without: run(&[]), with: run(medians) }, 1000.0, alone);
        assert!(
            said(&[Some(900.0), Some(999.0)], 300.0).starts_with("held: above in 0 of 2 seconds, worst p50 999 µs")
        );
        assert!(said(&[Some(900.0), Some(1001.0)], 300.0).starts_with("MISSED: above in 1 of 2"));
        assert!(said(&[Some(900.0), None], 300.0).starts_with("MISSED: above in 1 of 2"));
        assert!(said(&[Some(1001.0)], 1200.0).starts_with("the device alone does not keep it"));
        assert!(said(&[], 300.0).starts_with("cannot say"));
    }
}
